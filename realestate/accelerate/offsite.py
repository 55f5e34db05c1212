"""Whether an address is the portal's: asked twice of every request, and nearly always of one and the same host."""

import re

from scrapy import Request, Spider
from scrapy.downloadermiddlewares import offsite

#: "https://", after which a host begins; a shorter scheme only makes what is remembered longer.
_SCHEME = 8
_MOST = 1_000


class OffsiteMiddleware(offsite.OffsiteMiddleware):
    """Scrapy's, with its answers remembered by the address up to its path."""

    _known: dict[str, bool]

    def should_follow(self, request: Request, spider: Spider) -> bool:
        self._update_host_regex(spider)
        url = request.url
        end = url.find("/", _SCHEME)
        origin = url[:end] if end >= 0 else url
        answer = self._known.get(origin)
        if answer is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            answer = self._known[origin] = super().should_follow(request, spider)
        return answer

    def get_host_regex(self, spider: Spider) -> re.Pattern[str]:
        self._known = {}  # other domains, other answers
        return super().get_host_regex(spider)

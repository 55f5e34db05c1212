"""Whether a URL belongs to the portal. It is checked twice for each request, nearly always for the same host."""

import re

from scrapy import Request, Spider
from scrapy.downloadermiddlewares import offsite

#: The length of "https://". With a shorter scheme the remembered origin is only longer.
_SCHEME_LENGTH = 8
_ORIGINS_MAX = 1_000


class OffsiteMiddleware(offsite.OffsiteMiddleware):
    """Scrapy's middleware. It remembers the result for each origin."""

    _known: dict[str, bool]

    def should_follow(self, request: Request, spider: Spider) -> bool:
        self._update_host_regex(spider)
        url = request.url
        end = url.find("/", _SCHEME_LENGTH)
        origin = url[:end] if end >= 0 else url
        is_own = self._known.get(origin)
        if is_own is None:
            if len(self._known) >= _ORIGINS_MAX:
                self._known.clear()
            is_own = self._known[origin] = super().should_follow(request, spider)
        return is_own

    def get_host_regex(self, spider: Spider) -> re.Pattern[str]:
        self._known = {}  # the domains have changed
        return super().get_host_regex(spider)

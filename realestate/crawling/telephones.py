"""Telephone numbers that a portal shows only after a second request. It is sent only with CONTACTS on.

The response contains a person's data and nothing else. It is never logged, never stored as a raw page, and never part
of a dead letter: an error names only its type.
"""

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import Response, TextResponse

from realestate.crawling.page_outcomes import BrokenPage
from realestate.items import Telephones
from realestate.parsing.embedded import at
from realestate.parsing.text import line
from realestate.queue.page_budget import PageTooSlow

if TYPE_CHECKING:
    from realestate.crawling.portal_spider import PortalSpider

#: In the meta of a request whose response must not be stored as it is.
PRIVATE = "private"
#: No advert has more. A longer list is not the list of an advert's telephones.
MOST_NUMBERS = 20


def numbers_in(value: Any) -> list[str]:
    """The numbers of a list, bare or as `{"number": …}`. Raises BrokenPage if it is no list."""
    if not isinstance(value, list):
        raise BrokenPage("no list of telephones")
    return [number for each in value if (number := line(at(each, "number") if isinstance(each, dict) else each))]


class TelephoneRequests:
    """Requests the telephones of a listing after the listing itself, and reads the response."""

    def __init__(self, spider: "PortalSpider") -> None:
        self.spider = spider

    @property
    def is_enabled(self) -> bool:
        return bool(self.spider.crawler.settings.getbool("CONTACTS"))

    def request_for(self, response: Response, ref: str, url: str) -> Request | None:
        """The request, or None. Like every request it goes through the queue and keeps the fleet's rate limit."""
        if not self.is_enabled or not isinstance(response, TextResponse):
            return None
        request = self.spider.telephone_request(response)
        if request is None:
            return None
        return request.replace(
            callback=self.spider.read_telephones,
            errback=self.spider.on_failure,
            cb_kwargs={"ref": ref, "url": url},
            meta={**request.meta, "stage": "extract", PRIVATE: True},
        )

    def read(self, response: Response, ref: str, url: str) -> Iterator[Telephones]:
        """The numbers, or a dead letter without any content of the response."""
        assert response.request is not None
        try:
            if not isinstance(response, TextResponse) or response.status != 200:
                raise ValueError("no response with telephones")
            found = self.spider.parse_telephones(response)
            numbers = tuple(each for each in found if isinstance(each, str))[:MOST_NUMBERS]
        except PageTooSlow as error:  # it is a dead letter already
            self.spider.outcomes.record("too_slow", response.request, error, level=logging.WARNING)
            return
        except Exception as error:
            kind = type(error).__name__
            self.spider.outcomes.record("unanswered", response.request, kind, level=logging.WARNING)
            self.spider.outcomes.give_up("parse", f"no telephones: {kind}", response.request)
            return
        self.spider.outcomes.record("ok", response.request)
        if numbers and self.is_enabled:
            yield Telephones(portal=self.spider.name, ref=ref, numbers=numbers)

"""Telephones that a portal tells only when it is asked for them; asked only with CONTACTS on.

The answer is a person's data and nothing else: it is never logged, kept as a raw page or told in a dead letter, and a
fault of it is told by its kind alone.
"""

from collections.abc import Iterator
from typing import Any

from scrapy import Request
from scrapy.http import Response, TextResponse

from realestate.crawling.counting import CountingSpider
from realestate.crawling.outcomes import BrokenPage
from realestate.items import Telephones
from realestate.parsing.embedded import at
from realestate.parsing.text import line

#: In the meta of a request whose answer nobody may keep as it is.
PRIVATE = "private"
#: No advert has more; what tells more is no list of an advert's telephones.
MOST_NUMBERS = 20


def numbers_in(told: Any) -> list[str]:
    """Those of a list, bare or as `{"number": …}`; no list is no answer."""
    if not isinstance(told, list):
        raise BrokenPage("no list of telephones")
    return [number for each in told if (number := line(at(each, "number") if isinstance(each, dict) else each))]


class AskingSpider(CountingSpider):
    """A spider that can ask for a listing's telephones, after the listing itself."""

    def ask_telephones(self, response: TextResponse) -> Request | None:
        """The request for the telephones of the listing that this page shows; None where there is nothing to ask."""
        return None

    def parse_telephones(self, response: TextResponse) -> list[str]:
        """The numbers of an answer, as they are written there."""
        raise NotImplementedError

    def telephone_request(self, response: Response, ref: str, url: str) -> Request | None:
        """Goes through the queue, as every request: it keeps the pace of the fleet."""
        if not self.crawler.settings.getbool("CONTACTS") or not isinstance(response, TextResponse):
            return None
        request = self.ask_telephones(response)
        if request is None:
            return None
        return request.replace(
            callback=self.read_telephones,
            errback=self.on_failure,
            cb_kwargs={"ref": ref, "url": url},
            meta={**request.meta, "stage": "extract", PRIVATE: True},
        )

    def read_telephones(self, response: Response, ref: str, url: str) -> Iterator[Any]:
        try:
            if not isinstance(response, TextResponse) or response.status != 200:
                raise ValueError("no answer")
            numbers = self.parse_telephones(response)
            told = tuple(each for each in numbers if isinstance(each, str))[:MOST_NUMBERS]
        except Exception as error:
            self.count("extract", "unanswered")
            self.logger.warning("telephones/unanswered: %s: %s", url, type(error).__name__)
            self.give_up("parse", f"no telephones: {type(error).__name__}", response.request)
            return
        self.count("extract", "ok")
        if told and self.crawler.settings.getbool("CONTACTS"):
            yield Telephones(portal=self.name, ref=ref, numbers=told)

"""A worker with a listing that never ends: `python -m tests.end_to_end.slow_worker HOW REF COMMAND [NAME=number…]`.

The product's own code runs; only the parser of emlak is wrapped, so that it is stuck in the listing REF. COMMAND is
`work` for `realestate work`, or `crawl` for `scrapy crawl`. Further arguments change settings.
"""

import ctypes
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from scrapy import cmdline
from selectolax.lexbor import LexborHTMLParser

from realestate import settings
from realestate.items import Listing
from realestate.jobs import work
from realestate.pipelines import privacy
from realestate.spiders.emlak import EmlakSpider

PORTAL = "emlak"


def in_re() -> None:
    """`re` lets Python run signal handlers during a match."""
    re.match(r"(a+)+$", "a" * 60 + "b")


def in_python() -> None:
    while True:
        pass


def in_python_that_catches_everything() -> None:
    while True:
        with suppress(Exception):
            in_python()


def in_c() -> None:
    """The parser compares each attribute with all others, and never lets Python run."""
    LexborHTMLParser(b"<div " + b" ".join(b"a%d" % number for number in range(1_000_000)) + b">")


def asleep() -> None:
    """Uses no CPU time, and holds the interpreter lock."""
    ctypes.PyDLL(None).sleep(600)


STUCK: dict[str, Callable[[], None]] = {
    "re": in_re,
    "python": in_python,
    "catches everything": in_python_that_catches_everything,
    "c": in_c,
    "asleep": asleep,
}


def stick_in_parser(stuck: Callable[[], None], ref: str) -> None:
    parse_listing = EmlakSpider.parse_listing

    def wrapper(self: EmlakSpider, response: Any, **hints: Any) -> Iterator[Any]:
        if self.ref_of(response.url) == ref:
            stuck()
        return parse_listing(self, response, **hints)

    EmlakSpider.parse_listing = wrapper  # type: ignore[method-assign, assignment]


def stick_in_pipeline(stuck: Callable[[], None], ref: str) -> None:
    stripped = privacy.PrivacyPipeline._stripped

    def wrapper(self: privacy.PrivacyPipeline, listing: Listing) -> Listing:
        if listing.ref == ref:
            stuck()
        return stripped(self, listing)

    privacy.PrivacyPipeline._stripped = wrapper  # type: ignore[method-assign]


if __name__ == "__main__":
    how, ref, command, *changes = sys.argv[1:]
    for change in changes:
        name, _, number = change.partition("=")
        setattr(settings, name, float(number))
    where, _, what = how.rpartition(": ")
    (stick_in_pipeline if where == "pipeline" else stick_in_parser)(STUCK[what], ref)
    if command == "crawl":
        cmdline.execute(["scrapy", "crawl", PORTAL])
    sys.exit(0 if work.work([PORTAL], settings.REDIS_URL or "", settings.STORE_URL or "") else 1)

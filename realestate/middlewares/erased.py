"""Does not fetch the pages of listings that were erased on demand."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider, IgnoreRequest

from realestate.queue import outage
from realestate.queue import signals as queue_signals
from realestate.storage import Store, StoreError
from realestate.storage.handle import store_of

logger = logging.getLogger(__name__)

#: A worker that has just started waits this long for the first list of erased listings. The store refuses them anyway.
_FIRST_LIST_SECONDS = 10.0


class Erased(IgnoreRequest):
    """The listing was erased on demand."""

    outcome = "erased"


class ErasedMiddleware:
    """Reads the list of erased listings from the store every ERASED_SECONDS, and ignores requests for them."""

    def __init__(self, crawler: Crawler, seconds: float) -> None:
        self.crawler = crawler
        self.seconds = seconds
        self._refs: frozenset[str] = frozenset()
        self._is_loaded = asyncio.Event()
        self._refreshing: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls(crawler, crawler.settings.getfloat("ERASED_SECONDS"))
        crawler.signals.connect(middleware.serving, signal=queue_signals.serving)
        crawler.signals.connect(middleware.closed, signal=signals.spider_closed)
        return middleware

    def serving(self) -> None:
        self._refreshing = asyncio.create_task(self._refresh())

    def closed(self) -> None:
        if self._refreshing is not None:
            self._refreshing.cancel()

    async def process_request(self, request: Request) -> None:
        if self._is_loaded.is_set() and not self._refs:
            return  # the usual case
        ref_of: Callable[[str], str | None] | None = getattr(self.crawler.spider, "ref_of", None)
        if self._refreshing is None or ref_of is None or (ref := ref_of(request.url)) is None:
            return
        if not self._is_loaded.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_loaded.wait(), _FIRST_LIST_SECONDS)
        if ref in self._refs:
            raise Erased("the listing was erased")

    async def _refresh(self) -> None:
        """Runs until it is cancelled. While the store is not available, the last list is used."""
        assert self.crawler.spider is not None
        portal = self.crawler.spider.name
        query = partial(_erased_refs, portal)
        while True:
            try:
                self._refs = await store_of(self.crawler).ask(query)
            except CloseSpider:
                self._is_loaded.set()
                return  # the store has failed, and the spider is being closed
            except StoreError as error:
                outage.STORE.failed(f"reading which listings of {portal} were erased", error)
            except Exception:  # this task must go on
                logger.exception("erased/failed: portal=%s: the list of erased listings was not read", portal)
            self._is_loaded.set()
            await asyncio.sleep(self.seconds)


def _erased_refs(portal: str, store: Store) -> frozenset[str]:
    return store.erased(portal)

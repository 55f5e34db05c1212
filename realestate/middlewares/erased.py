"""Leaves alone what was erased: a page that nobody may keep is not asked for."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest

from realestate.queue import signals as ours
from realestate.storage import Store, StoreError
from realestate.storage.handle import store_of

logger = logging.getLogger(__name__)

#: A worker that has just begun waits so long to be told what was erased. The store itself refuses it in any case.
_FIRST_SECONDS = 10.0


class Erased(IgnoreRequest):
    """The listing was erased on somebody's demand."""

    outcome = "erased"


class ErasedMiddleware:
    """Asks the store again and again, as it may be told any time."""

    def __init__(self, crawler: Crawler, seconds: float) -> None:
        self.crawler = crawler
        self.seconds = seconds
        self._refs: frozenset[str] = frozenset()
        self._known = asyncio.Event()
        self._keeping_up: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls(crawler, crawler.settings.getfloat("ERASED_SECONDS"))
        crawler.signals.connect(middleware.serving, signal=ours.serving)
        crawler.signals.connect(middleware.closed, signal=signals.spider_closed)
        return middleware

    def serving(self) -> None:
        self._keeping_up = asyncio.create_task(self._keep_up())

    def closed(self) -> None:
        if self._keeping_up is not None:
            self._keeping_up.cancel()

    async def process_request(self, request: Request) -> None:
        if self._known.is_set() and not self._refs:
            return  # as a rule
        ref_of: Callable[[str], str | None] | None = getattr(self.crawler.spider, "ref_of", None)
        if self._keeping_up is None or ref_of is None or (ref := ref_of(request.url)) is None:
            return
        if not self._known.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._known.wait(), _FIRST_SECONDS)
        if ref in self._refs:
            raise Erased("it was erased")

    async def _keep_up(self) -> None:
        """For ever. While the store is away, what was known will do."""
        assert self.crawler.spider is not None
        question = partial(_erased, self.crawler.spider.name)
        while True:
            try:
                self._refs = await store_of(self.crawler).ask(question)
            except StoreError as error:
                logger.warning("erased/away: %s", error)
            self._known.set()
            await asyncio.sleep(self.seconds)


def _erased(portal: str, store: Store) -> frozenset[str]:
    return store.erased(portal)

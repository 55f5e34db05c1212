"""Fixtures of the download handler tests."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvloop
from scrapy.crawler import Crawler

from realestate.middlewares.download_handler import DownloadHandler
from realestate.spiders.immoweb import ImmowebSpider

#: A test that runs longer is broken.
MAX_SECONDS = 30.0


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Awaitable[Any]], Any]:
    """Runs a test on both event loops: a worker uses uvloop where it is installed."""

    def run(work: Awaitable[Any]) -> Any:
        async def limited() -> Any:
            async with asyncio.timeout(MAX_SECONDS):
                return await work

        with asyncio.Runner(loop_factory=uvloop.new_event_loop if request.param == "uvloop" else None) as runner:
            return runner.run(limited())

    return run


@pytest.fixture
def handling(make_crawler: Callable[..., Crawler]) -> Callable[..., Any]:
    """Makes a download handler with changed settings, for a portal at `site`."""

    @asynccontextmanager
    async def handling(
        site: str = "", *, listeners: dict[object, Any] | None = None, **changes: Any
    ) -> AsyncIterator[DownloadHandler]:
        crawler = make_crawler(ImmowebSpider, **changes)
        crawler.spider = ImmowebSpider()
        if site:
            crawler.spider.site = site  # type: ignore[misc]
        for signal, handler_function in (listeners or {}).items():
            crawler.signals.connect(handler_function, signal)
        handler = DownloadHandler.from_crawler(crawler)
        try:
            yield handler
        finally:
            await handler.close()

    return handling

"""What the tests of the download handler share."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvloop
from scrapy.crawler import Crawler

from realestate.middlewares.handler import ExitHandler
from realestate.spiders.immoweb import ImmowebSpider

#: Nothing waits so long unless it is broken.
PATIENCE = 30.0


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Awaitable[Any]], Any]:
    """On either loop: a worker runs on the second where it is to be had."""

    def run(work: Awaitable[Any]) -> Any:
        async def limited() -> Any:
            async with asyncio.timeout(PATIENCE):
                return await work

        with asyncio.Runner(loop_factory=uvloop.new_event_loop if request.param == "uvloop" else None) as runner:
            return runner.run(limited())

    return run


@pytest.fixture
def handling(make_crawler: Callable[..., Crawler]) -> Callable[..., Any]:
    """A handler with some settings changed, for a portal at a site."""

    @asynccontextmanager
    async def handling(
        site: str = "", *, listeners: dict[object, Any] | None = None, **changes: Any
    ) -> AsyncIterator[ExitHandler]:
        crawler = make_crawler(ImmowebSpider, **changes)
        crawler.spider = ImmowebSpider()
        if site:
            crawler.spider.site = site  # type: ignore[misc]
        for signal, hears in (listeners or {}).items():
            crawler.signals.connect(hears, signal)
        handler = ExitHandler.from_crawler(crawler)
        try:
            yield handler
        finally:
            await handler.close()

    return handling

"""Pages of erased listings are not fetched."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler

from realestate.middlewares.erased import Erased, ErasedMiddleware
from realestate.spiders.immoweb import ImmowebSpider
from realestate.storage import StoreAway
from realestate.storage.handle import provide_store
from realestate.storage.postgres import PostgresStore
from tests.handles import DirectHandle

MakeCrawler = Callable[..., Crawler]


class Store(PostgresStore):
    """A store without a database, for the method that is called here."""

    def __init__(self, *refs: str) -> None:
        self.refs = refs
        self.is_unavailable = False

    def erased(self, portal: str) -> frozenset[str]:
        assert portal == "immoweb"
        if self.is_unavailable:
            raise StoreAway("away")
        return frozenset(self.refs)


def page(ref: str) -> Request:
    return Request(f"https://www.immoweb.be/en/classified/{ref}")


async def is_ignored(middleware: ErasedMiddleware, ref: str) -> bool:
    try:
        await middleware.process_request(page(ref))
    except Erased:
        return True
    return False


@pytest.fixture
def serve(make_crawler: MakeCrawler) -> Callable[[Store], Awaitable[ErasedMiddleware]]:
    async def serve(store: Store) -> ErasedMiddleware:
        crawler = make_crawler(ImmowebSpider, ERASED_SECONDS=0.01)
        crawler.spider = ImmowebSpider.from_crawler(crawler)

        provide_store(crawler, DirectHandle(store))
        middleware = ErasedMiddleware.from_crawler(crawler)
        middleware.serving()
        return middleware

    return serve


Serve = Callable[[Store], Awaitable[ErasedMiddleware]]


def test_a_worker_knows_the_erased_listings_and_learns_new_ones(serve: Serve) -> None:
    async def act() -> None:
        store = Store("21000001")
        middleware = await serve(store)
        assert await is_ignored(middleware, "21000001")
        assert not await is_ignored(middleware, "21000002")
        store.refs = ("21000001", "21000002")
        while not await is_ignored(middleware, "21000002"):
            await asyncio.sleep(0.005)
        store.is_unavailable = True
        await asyncio.sleep(0.03)
        assert await is_ignored(middleware, "21000001"), "the last list is used"
        middleware.closed()

    asyncio.run(act())


def test_an_unavailable_store_does_not_delay_requests(serve: Serve) -> None:
    async def act() -> None:
        store = Store("21000001")
        store.is_unavailable = True
        middleware = await serve(store)
        assert not await is_ignored(middleware, "21000001")
        middleware.closed()

    asyncio.run(act())


def test_another_error_of_the_store_does_not_delay_requests(
    serve: Callable[[Any], Awaitable[ErasedMiddleware]],
) -> None:
    async def act() -> None:
        middleware = await serve(object())
        assert not await is_ignored(middleware, "21000001")
        middleware.closed()

    asyncio.run(act())


def test_a_search_page_is_not_a_listing(serve: Serve) -> None:
    async def act() -> None:
        middleware = await serve(Store("21000001"))
        search = Request("https://www.immoweb.be/en/search/house/21000001")
        await middleware.process_request(search)  # does not raise, although its URL contains the ref
        assert await is_ignored(middleware, "21000001")
        middleware.closed()

    asyncio.run(act())


def test_outside_of_a_crawl_requests_do_not_wait(make_crawler: MakeCrawler) -> None:
    crawler = make_crawler(ImmowebSpider)
    crawler.spider = ImmowebSpider.from_crawler(crawler)
    assert not asyncio.run(is_ignored(ErasedMiddleware.from_crawler(crawler), "21000001"))

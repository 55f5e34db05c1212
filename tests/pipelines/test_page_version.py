"""The version of a page (ETag, Last-Modified) is stored after its listing."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from realestate.pipelines.clean import clean
from realestate.pipelines.store import BatchSettings, StorePipeline, page_version
from realestate.spiders.immoweb import ImmowebSpider
from realestate.storage import Quarantined
from realestate.storage.postgres import PostgresStore
from tests.examples import a_listing

URL = "https://www.immoweb.be/en/classified/21000001"


def page(flags: tuple[str, ...] = ("alone",), **headers: Any) -> Response:
    values = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(URL, headers=values, flags=list(flags), request=Request(URL, meta={"job": "j"}))


def test_reads_the_version_from_the_headers() -> None:
    kept = page_version(clean(a_listing()), page(ETag='W/"a"', Last_Modified="Mon, 05 Oct 2026 07:00:00 GMT"))
    assert kept is not None
    assert (kept.url, kept.etag, kept.last_modified) == (URL, 'W/"a"', "Mon, 05 Oct 2026 07:00:00 GMT")


@pytest.mark.parametrize(
    "response", [page(), page(flags=(), ETag='"a"'), page(ETag=b'"\xff\xfe"'), page(ETag=b'"' + b"a" * 10**7 + b'"')]
)
def test_a_page_without_a_usable_version_gives_none(response: Response) -> None:
    assert page_version(clean(a_listing()), response) is None


def test_the_version_is_stored_with_a_listing_but_not_with_a_quarantined_one(
    make_crawler: Callable[..., Crawler], store: PostgresStore, store_url: str
) -> None:
    async def inside() -> None:
        pipeline = StorePipeline(make_crawler(ImmowebSpider), lambda: PostgresStore(store_url), BatchSettings(1, 1, 9))
        for item in (clean(a_listing()), Quarantined.of(a_listing(ref="2"), "bad")):
            pipeline.process_item(item)
            pipeline.item_scraped(item, page(ETag='"a"'))
        await pipeline.close_spider()

    asyncio.run(inside())
    assert set(store.validators("immoweb", ["21000001", "2"], 1)) == {"21000001"}

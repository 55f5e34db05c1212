import asyncio
from collections.abc import AsyncIterator
from typing import Any

from scrapy import Request
from scrapy.http import Response

from realestate.middlewares.jobs import JobMiddleware


def test_children_inherit_the_job_and_items_pass() -> None:
    async def output() -> AsyncIterator[Any]:
        yield Request("https://x.example/2", meta={"stage": "extract"})
        yield "item"

    async def collect() -> list[Any]:
        request = Request("https://x.example/1", meta={"job": "j", "mode": "sweep", "stage": "discover"})
        response = Response(request.url, request=request)
        return [each async for each in JobMiddleware().process_spider_output(response, output())]

    child, item = asyncio.run(collect())
    assert child.meta == {"job": "j", "mode": "sweep", "stage": "extract"}
    assert item == "item"

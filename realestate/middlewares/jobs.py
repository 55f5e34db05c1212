"""A page's children belong to its job."""

from collections.abc import AsyncIterator
from typing import Any

from scrapy import Request
from scrapy.http import Response

#: What every request of a job carries.
INHERITED = ("job", "mode")


class JobMiddleware:
    """Hands a request's job and mode on to the requests its page leads to."""

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        inherited = {name: response.meta[name] for name in INHERITED if name in response.meta}
        async for each in result:
            if isinstance(each, Request):
                each.meta.update(inherited)
            yield each

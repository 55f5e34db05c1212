"""GraphQL over HTTP: a query goes out as JSON, and half an answer is none."""

from typing import Any

import msgspec
from scrapy import Request
from scrapy.http import TextResponse

from realestate.parsing.embedded import at, decoded
from realestate.parsing.text import line
from realestate.spiders.outcomes import BrokenPage

HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}


def request(url: str, query: str, variables: dict[str, Any]) -> Request:
    body = msgspec.json.encode({"query": query, "variables": variables})
    return Request(url, method="POST", body=body, headers=HEADERS)


def answer(response: TextResponse) -> dict[str, Any]:
    """Its `data`. Where there is an error beside it, what is missing there could not be told from what does not exist."""
    told = decoded(response.body)
    data = at(told, "data")
    if not isinstance(data, dict) or at(told, "errors"):
        raise BrokenPage(
            f"no answer of GraphQL: {line(at(told, 'errors.0.message')) or 'neither data nor error'}"[:300]
        )
    return data

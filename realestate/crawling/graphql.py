"""GraphQL over HTTP: a query goes out as JSON, and half an answer is none."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import msgspec
from scrapy import Request
from scrapy.http import TextResponse

from realestate.crawling.outcomes import Blocked, BrokenPage
from realestate.crawling.results import Found, Results
from realestate.parsing import numbers
from realestate.parsing.embedded import at, decoded
from realestate.parsing.text import line

_PERSISTED = re.compile("persisted_?query", re.IGNORECASE)
HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}


def request(url: str, query: str, variables: dict[str, Any]) -> Request:
    body = msgspec.json.encode({"query": query, "variables": variables})
    return Request(url, method="POST", body=body, headers=HEADERS)


def persisted(url: str, operation: str, hash: str, variables: dict[str, Any]) -> Request:
    """By the hash of a query that the server knows. Apollo lets no simple form of another site ask by GET."""
    told = {"variables": variables, "extensions": {"persistedQuery": {"version": 1, "sha256Hash": hash}}}
    asked = {"operationName": operation, **{name: msgspec.json.encode(each).decode() for name, each in told.items()}}
    return Request(f"{url}?{urlencode(asked)}", headers={**HEADERS, "Apollo-Require-Preflight": "true"})


def answer(response: TextResponse) -> dict[str, Any]:
    """Its `data`. With an error beside it, what is missing could not be told from what does not exist."""
    told = decoded(response.body)
    data = at(told, "data")
    if _PERSISTED.search(f"{at(told, 'errors.0.message')} {at(told, 'errors.0.extensions.code')}"):
        raise Blocked("persisted_query", "the site does not know the hash of our query any more")
    if response.status != 200 or not isinstance(data, dict) or at(told, "errors"):
        raise BrokenPage(
            f"no answer of GraphQL: {line(at(told, 'errors.0.message')) or 'neither data nor error'}"[:300]
        )
    return data


def results(connection: Any, read: Callable[[Any], Found | None], *, is_first: bool) -> Results:
    """One page of a search by cursor, as servers of GraphQL have it: `nodes`, or `edges` with a `node` each, and
    `pageInfo`. A search ends only where the server says so."""
    edges = at(connection, "edges")
    nodes = [at(edge, "node") for edge in edges] if isinstance(edges, list) else at(connection, "nodes")
    more, cursor = at(connection, "pageInfo.hasNextPage"), line(at(connection, "pageInfo.endCursor"))
    if not isinstance(nodes, list) or not isinstance(more, bool):
        raise BrokenPage("no results, or no word of the next page")
    total = numbers.whole(at(connection, "totalCount"))
    if (more and not (nodes and cursor)) or (is_first and total and not nodes):
        raise BrokenPage("no results on a page within the total")
    found = [each for node in nodes if (each := read(node))]
    if nodes and not found:
        raise BrokenPage("no result that can be read")
    return Results(found, total, cursor if more else None, is_last=not more, unreadable=len(nodes) - len(found))

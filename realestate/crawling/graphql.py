"""GraphQL over HTTP: requests, the data of a response, and one page of a search by cursor."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import msgspec
from scrapy import Request
from scrapy.http import TextResponse

from realestate.crawling.page_outcomes import Banned, BrokenPage
from realestate.crawling.results import Found, Results
from realestate.parsing import numbers
from realestate.parsing.embedded import at, decoded
from realestate.parsing.text import line

_PERSISTED = re.compile("persisted_?query", re.IGNORECASE)
HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}


def graphql_request(url: str, query: str, variables: dict[str, Any]) -> Request:
    """A POST request with the whole query."""
    body = msgspec.json.encode({"query": query, "variables": variables})
    return Request(url, method="POST", body=body, headers=HEADERS)


def persisted_query_request(url: str, operation: str, hash: str, variables: dict[str, Any]) -> Request:
    """A GET request with the hash of a query that the server knows.

    Apollo refuses a GET without a header that a form of another site could not send."""
    extensions = {"persistedQuery": {"version": 1, "sha256Hash": hash}}
    parameters = {
        "operationName": operation,
        "variables": msgspec.json.encode(variables).decode(),
        "extensions": msgspec.json.encode(extensions).decode(),
    }
    return Request(f"{url}?{urlencode(parameters)}", headers={**HEADERS, "Apollo-Require-Preflight": "true"})


def graphql_data(response: TextResponse) -> dict[str, Any]:
    """The `data` of a response. Raises BrokenPage if there is an error beside it: data may be missing then."""
    document = decoded(response.body)
    message = at(document, "errors.0.message")
    if _PERSISTED.search(f"{message} {at(document, 'errors.0.extensions.code')}"):
        raise Banned("persisted_query", "the site no longer knows the hash of our query")
    data = at(document, "data")
    if response.status != 200 or not isinstance(data, dict) or at(document, "errors"):
        raise BrokenPage(f"no GraphQL data: {line(message) or 'neither data nor error'}"[:300])
    return data


def results_of_connection(connection: Any, read: Callable[[Any], Found | None], *, is_first: bool) -> Results:
    """One page of a search by cursor: `nodes`, or `edges` with a `node` each, and `pageInfo`.

    A search ends only where the server says so."""
    edges = at(connection, "edges")
    nodes = [at(edge, "node") for edge in edges] if isinstance(edges, list) else at(connection, "nodes")
    has_next = at(connection, "pageInfo.hasNextPage")
    cursor = line(at(connection, "pageInfo.endCursor"))
    if not isinstance(nodes, list) or not isinstance(has_next, bool):
        raise BrokenPage("no results, or no pageInfo")
    total = numbers.whole(at(connection, "totalCount"))
    if (has_next and not (nodes and cursor)) or (is_first and total and not nodes):
        raise BrokenPage("no results on a page within the total")
    found = [each for node in nodes if (each := read(node))]
    if nodes and not found:
        raise BrokenPage("none of the results can be read")
    return Results(
        found,
        total,
        after=cursor if has_next else None,
        is_last=not has_next,
        unreadable=len(nodes) - len(found),
    )

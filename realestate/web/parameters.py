"""Parameters that several routes have, and the schemas of their responses."""

from typing import Annotated, Any

from fastapi import Path, Query, Request

from realestate.queue.connection import connect_blocking
from realestate.storage.query import Filter, QueryError, parse_filter
from realestate.web.json_response import Refusal

Where = Annotated[
    str,
    Query(
        description='A filter: `portal=bina rooms>=2 price<150000 city~"bak"`. Only listings on the market, unless it'
        " has a condition on status.",
        examples=["rooms>=2 price<150000"],
    ),
]
BoxText = Annotated[str, Query(description="west,south,east,north in degrees", examples=["49.7,40.3,50.1,40.6"])]
Portal = Annotated[str, Path(description="Name of the portal.", pattern="^[a-z0-9_]{1,64}$")]
PortalFilter = Annotated[str | None, Query(description="Only of this portal.", pattern="^[a-z0-9_]{1,64}$")]
Newest = Annotated[int, Query(ge=1, le=1000, description="At most this many, the newest first.")]


def filter_of(text: str) -> Filter:
    """The filter. Refuses a wrong filter with the message of its error."""
    try:
        return parse_filter(text)
    except QueryError as error:
        raise Refusal(422, str(error)) from error


def redis_of(request: Request) -> Any:
    """A client of Redis, shared by all requests. Refuses if no Redis is configured."""
    state = request.app.state
    if state.services.redis_url is None:
        raise Refusal(503, "no Redis is configured: set REDIS_URL")
    if getattr(state, "redis", None) is None:
        state.redis = connect_blocking(state.services.redis_url)
    return state.redis


def responses(description: str, schema: dict[str, Any], *refused: int) -> dict[int | str, dict[str, Any]]:
    """What a route returns, for the OpenAPI description."""
    found: dict[int | str, dict[str, Any]] = {
        200: {"description": description, "content": {"application/json": {"schema": schema}}}
    }
    return found | {status: _REFUSED[status] for status in (401, 403, 414, 422, 429, 503, *refused)}


def an_object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def a_list(of: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "array", "items": of or {"type": "object"}}


TEXT: dict[str, Any] = {"type": "string"}
TEXT_OR_NULL: dict[str, Any] = {"type": ["string", "null"]}
NUMBER: dict[str, Any] = {"type": "integer"}
FLAG: dict[str, Any] = {"type": "boolean"}
OBJECT: dict[str, Any] = {"type": "object"}

_SENTENCES = {
    401: "No API key, or one that is not valid",
    403: "The key may not do this",
    404: "There is none",
    409: "Not in its present state",
    413: "The body is too large",
    414: "The address is too long",
    422: "The request is wrong; `error` says what, and what is allowed",
    429: "Too many requests of this key",
    503: "The store or Redis does not respond",
}
_REFUSED: dict[int, dict[str, Any]] = {
    status: {"description": sentence, "content": {"application/json": {"schema": an_object(error=TEXT)}}}
    for status, sentence in _SENTENCES.items()
}

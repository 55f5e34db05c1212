"""Responses: JSON of any of our values, and refusals as one sentence."""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from realestate.items import plain


def _plain(value: Any) -> Any:
    return plain(value)


_ENCODER = msgspec.json.Encoder(enc_hook=_plain, decimal_format="number")


def encoded(value: Any) -> bytes:
    """Return the value as JSON: numbers for money, ISO 8601 for times, sorted lists for sets."""
    return _ENCODER.encode(_with_lists(value))


def _with_lists(value: Any) -> Any:
    """Sets are sorted, so that the same data always gives the same bytes."""
    match value:
        case frozenset():
            return sorted(value)
        case dict():
            return {key: _with_lists(each) for key, each in value.items()}
        case list() | tuple() if not hasattr(value, "_fields"):
            return [_with_lists(each) for each in value]
        case _:
            return value


class JsonResponse(Response):
    """A value as JSON."""

    media_type = "application/json"

    def __init__(self, value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(encoded(value), status, dict(headers or {}))


class Refusal(Exception):
    """The request is refused: an HTTP status and a sentence that says why."""

    def __init__(self, status: int, why: str) -> None:
        self.status = status
        self.why = why
        super().__init__(why)


def refusal(error: Refusal) -> Response:
    headers = {401: {"www-authenticate": "Bearer"}, 429: {"retry-after": "10"}}.get(error.status)
    return JsonResponse({"error": error.why}, error.status, headers)

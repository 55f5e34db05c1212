"""Conditional requests: the response to a client that has today's version of a page already."""

from collections.abc import Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime

from realestate.simulator.site import Response

NOT_MODIFIED = 304


def unless_known(response: Response, headers: Mapping[str, str]) -> Response:
    """Return the response, or a 304 if the headers show that the client has it. An ETag counts before a date."""
    sent = response.extra or {}
    if response.status != 200:
        return response
    if (known := headers.get("If-None-Match")) is not None:
        same = sent.get("ETag") in [each.strip().removeprefix("W/") for each in known.split(",")]
    else:
        same = _is_since(sent.get("Last-Modified"), headers.get("If-Modified-Since"))
    return replace(response, body=b"", status=NOT_MODIFIED) if same else response


def _is_since(changed: str | None, known: str | None) -> bool:
    if changed is None or known is None:
        return False
    try:
        return parsedate_to_datetime(changed) <= parsedate_to_datetime(known)
    except (TypeError, ValueError):
        return False

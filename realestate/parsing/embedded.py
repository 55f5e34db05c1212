"""JSON inside pages."""

import json
import re
from typing import Any


def _no_number(constant: str) -> float:
    raise ValueError(f"{constant} is no number in JSON")


#: Python would take NaN and Infinity, which no field can hold.
_DECODER = json.JSONDecoder(parse_constant=_no_number)


def assigned(html: str, name: str) -> Any:
    """The value of `window.X = {…}`; None where there is none, or half of one.

    Read by a decoder from its first brace on: texts inside may hold "};" or braces, so no pattern finds its end.
    """
    found = re.search(re.escape(name) + r"\s*=\s*(?=[\[{])", html)
    if not found:
        return None
    try:
        return _DECODER.raw_decode(html, found.end())[0]
    except ValueError:
        return None


def at(document: Any, path: str) -> Any:
    """The value at "property.location.postalCode"; None as soon as a part is missing or no object."""
    for name in path.split("."):
        if not isinstance(document, dict):
            return None
        document = document.get(name)
    return document

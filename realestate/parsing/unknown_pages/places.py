"""Names of cities as pages write them: with a postal code, a district or a country."""

import re
from typing import Any

from realestate.parsing.text import line

_POSTAL_CODE = re.compile(r"(?:[A-Z]{1,2}-)?\b(\d{2}-\d{3}|\d{4} ?[A-Z]{2}(?![a-z])|\d{4,6})\b")
_DISTRICT = re.compile(r"\s+[-–/]\s+|\s*\(")


def city(text: str | None) -> dict[str, Any]:
    """Return the city of a text; and the postal code or the district beside it. A list of places names no city."""
    whole = line(text)
    if whole is None or len(whole) > 80:
        return {}
    codes = _POSTAL_CODE.findall(whole)
    name = line(_POSTAL_CODE.sub("", whole, count=1)) if codes else whole
    name = (name or "").strip(" ,-/")
    if not name or "," in name or re.search(r"\d", name):
        return {}
    parts = _DISTRICT.split(name, maxsplit=1)
    found: dict[str, Any] = {"city": parts[0].strip()}
    if len(parts) > 1 and parts[1].strip(" )"):
        found["district"] = parts[1].strip(" )")
    if len(codes) == 1:
        found["postal_code"] = codes[0]
    return found

"""Dates as portals write them; always with their time zone."""

import re
from datetime import datetime
from zoneinfo import ZoneInfo

_DAY = re.compile(r"\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b")


def iso(text: str | None) -> datetime | None:
    """ISO 8601 in its spellings: "…Z", "…+0000", "…+04:00"; None without a zone."""
    try:
        moment = datetime.fromisoformat(text) if text else None
    except (TypeError, ValueError):
        return None
    return moment if moment and moment.tzinfo else None


def day(text: str | None, zone: ZoneInfo) -> datetime | None:
    """ "28.08.2026": the beginning of that day where the portal is."""
    found = _DAY.search(text or "")
    if not found:
        return None
    number, month, year = map(int, found.groups())
    try:
        return datetime(year, month, number, tzinfo=zone)
    except ValueError:
        return None

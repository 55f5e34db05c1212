"""Texts and numbers as they are stored in Redis. Somebody else may write there: reading one never raises an error."""

from datetime import UTC, datetime
from math import isfinite

#: Larger numbers are nobody's: they could not be counted exactly.
_LARGEST = 2.0**53


def text(value: bytes) -> str:
    """The text; bytes that are not UTF-8 are shown as `\\xff`."""
    return value.decode("utf-8", "backslashreplace")


def number(value: bytes | str | float | None, default: float = 0.0) -> float:
    """The number; `default` if there is none."""
    try:
        found = float(value if value is not None else default)
    except ValueError:
        return default
    return found if isfinite(found) and abs(found) < _LARGEST else default


def count(value: bytes | str | float | None) -> int:
    """The whole number; 0 if there is none."""
    return int(number(value))


def moment(seconds: float) -> datetime:
    """The time that many seconds after 1970; 1970 itself if there is no such time."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)

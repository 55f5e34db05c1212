"""Numbers as programs write them, in an attribute or in JSON: a dot parts decimals, and nothing parts thousands."""

import re
from decimal import Decimal

_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.ASCII)


def amount(text: str | None) -> Decimal | None:
    """An amount above zero; None for anything else, such as "12,50" or "1e5"."""
    if text is None or not _NUMBER.fullmatch(text):
        return None
    return Decimal(text) or None


def count(text: str | None) -> int | None:
    """A whole number, 0 too; None for anything else."""
    return int(text) if text and _NUMBER.fullmatch(text) and "." not in text else None

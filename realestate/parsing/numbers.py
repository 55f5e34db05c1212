"""Numbers as people write them."""

import re
from decimal import Decimal

#: Blanks portals put between thousands: space, no-break, thin, narrow no-break; and the Swiss apostrophe.
_BLANKS = " \u00a0\u2009\u202f'’"
_NUMBER = re.compile(
    rf"""(?<![\w.,])               # not in the middle of a word or number
    (?P<sign>-)?
    (?P<digits>\d+(?:[{_BLANKS}.,]\d+)*)
    (?![\w]|[.,]\d)              # "1.7K" is a number to nobody""",
    re.VERBOSE,
)
#: "m2" and "m²" follow a number without harm.
_UNIT_GLUED = re.compile(r"(?<=\d)(?=(?:m2|m²|m\^2|kv|sot|ha|ar|sq|€|£|\$|₼|azn|eur|usd)\b|[€£$₼])", re.IGNORECASE)


def first(text: str | None) -> Decimal | None:
    """The first number in a text; None where there is none, or one in short form ("€1.7K")."""
    if not text:
        return None
    found = _NUMBER.search(_UNIT_GLUED.sub(" ", text))
    if not found:
        return None
    value = _value(found["digits"])
    return -value if value is not None and found["sign"] else value


def whole(value: object) -> int | None:
    """A count, from a number or a text; None for what is not one, such as the -1 that means unknown."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return int(value) if value == int(value) and value >= 0 else None
    number = first(str(value))
    return int(number) if number is not None and number == int(number) and number >= 0 else None


def positive(value: object) -> float | None:
    """A measure, from a number or a text; None for zero and below, which portals write for unknown."""
    if isinstance(value, bool) or value is None:
        return None
    number = float(value) if isinstance(value, int | float) else first(str(value))
    return float(number) if number is not None and number > 0 else None


def signed(value: object) -> float | None:
    """A measure that may be below zero; None for the -1 that portals write for unknown."""
    if isinstance(value, bool) or value is None:
        return None
    number = float(value) if isinstance(value, int | float) else first(str(value))
    return float(number) if number is not None and number != -1 else None


def _value(digits: str) -> Decimal | None:
    """Which marks part thousands and which decimals.

    Blanks part thousands. Of two different marks the last is the decimal one. One mark repeated, or one mark
    before exactly three digits, parts thousands ("239.000", "749,000"); else it is the decimal one ("85,5").
    """
    text = re.sub(f"[{_BLANKS}]", "", digits)
    marks = re.findall(r"[.,]", text)
    if not marks:
        return Decimal(text)
    last = marks[-1]
    head, _, tail = text.rpartition(last)
    one_kind = len(set(marks)) == 1
    blanks_part_thousands = len(text) != len(digits)
    if one_kind and not blanks_part_thousands and (len(marks) > 1 or (len(tail) == 3 and head != "0")):
        return Decimal(re.sub("[.,]", "", text))
    if not one_kind and marks.count(last) > 1:
        return None
    return Decimal(re.sub("[.,]", "", head) + "." + tail)

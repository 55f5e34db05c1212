"""Numbers as people write them."""

import re
from decimal import Decimal
from math import isfinite

from realestate.parsing.text import remembered

#: Blanks portals put between thousands: space, no-break, thin, narrow no-break; and the Swiss apostrophe.
_BLANKS = " \u00a0\u2009\u202f'’"
#: Digits as a number has them. Blanks part only groups of three: "3 85" is two numbers. So many at most, lest a page
#: of nothing but groups be read from each of them to its end.
DIGITS = rf"(?:\d{{1,3}}(?:[{_BLANKS}]\d{{3}}){{1,6}}+(?!\d)(?:[.,]\d++)?+|\d++(?:[.,]\d++)*+)"
#: What may follow a number without a blank. Any other letter makes it none: "1.7K" is a number to nobody.
_GLUED = (
    r"m2|m²|m\^2|m<sup>|mq|м2|м²|qm|kvm|kv|sot|ha|ar|sqm|sqft|sq|ft|ft²|acres?|azn|man|eur|euro|usd|gbp|pln|zar|zł|chf"
    r"|pcm|pw|pa|otaqlı|otaq|beds?|zi|st|nd|rd|th"
)
_NUMBER = re.compile(
    rf"(?<![\w.,])(?P<sign>-)?(?P<digits>{DIGITS})(?P<spoilt>(?!(?:{_GLUED})(?![^\W\d_]))\w|[.,]\d)?", re.IGNORECASE
)
_BLANK = re.compile(f"[{_BLANKS}]")
#: More digits than any count, price or measure has: a telephone, or nonsense.
_MOST_DIGITS = 18

#: Otodom and others spell out what they count.
_COUNTS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_WORTH = {name: number for number, name in enumerate(_COUNTS)}


def first(text: str | None) -> Decimal | None:
    """The first number in a text; None where there is none, or one in short form ("€1.7K")."""
    found = _NUMBER.search(text) if text else None
    if not found or found["spoilt"]:
        return None
    number = value(found["digits"])
    return -number if number is not None and found["sign"] else number


def whole(value: object) -> int | None:
    """A count, from a number or a text; None for what is not one, such as the -1 that means unknown."""
    number = _number(value)
    return int(number) if number is not None and number >= 0 and number == int(number) else None


def positive(value: object) -> float | None:
    """A measure, from a number or a text; None for zero and below, which portals write for unknown."""
    number = _number(value)
    return float(number) if number is not None and number > 0 else None


def signed(value: object) -> float | None:
    """A measure that may be below zero; None for the -1 that portals write for unknown."""
    number = _number(value)
    return float(number) if number is not None and number != -1 else None


def worded(value: object) -> int | None:
    """A count in digits or in an English word: "THREE" is 3; "MORE" is None."""
    return _worded(value) if isinstance(value, str) else whole(value)


@remembered
def _worded(text: str) -> int | None:
    return _WORTH.get(text.strip().lower(), whole(text))


def value(digits: str) -> Decimal | None:
    """Which marks part thousands and which decimals; None where they cannot be told.

    Blanks part thousands. Of two different marks the last is the decimal one. One mark repeated, or one mark
    before exactly three digits, parts thousands ("239.000", "749,000"); else it is the decimal one ("85,5").
    """
    if len(digits) > 2 * _MOST_DIGITS:
        return None
    text = _BLANK.sub("", digits)
    if text.isdecimal():
        return Decimal(text) if len(text) <= _MOST_DIGITS else None
    if sum(map(str.isdecimal, text)) > _MOST_DIGITS:
        return None
    marks = [each for each in text if each in ".,"]
    last = marks[-1]
    head, _, tail = text.rpartition(last)
    is_decimal = len(text) != len(digits) or (len(marks) == 1 and (len(tail) != 3 or head == "0"))
    if is_decimal:
        return Decimal(f"{head}.{tail}") if len(marks) == 1 else None
    if len(set(marks)) == 1:
        return _thousands(text.split(last))
    if marks.count(last) > 1 or len(set(marks[:-1])) > 1:
        return None
    thousands = _thousands(head.split(marks[0]))
    return None if thousands is None else Decimal(f"{thousands}.{tail}")


def _thousands(groups: list[str]) -> Decimal | None:
    """Groups of three, or as in India of two before the last: "28.08.2026" is no number."""
    inner = {len(group) for group in groups[1:-1]}
    if len(groups[0]) > 3 or len(groups[-1]) != 3 or inner not in (set(), {3}, {2}):
        return None
    return Decimal("".join(groups))


def _number(value: object) -> Decimal | float | int | None:
    if isinstance(value, str):
        return first(value)
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return None
    if isinstance(value, int):
        return value if abs(value) < 10**_MOST_DIGITS else None
    return value if isfinite(value) else None

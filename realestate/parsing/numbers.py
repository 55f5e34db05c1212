"""Numbers as people write them ("€ 239.000", "85,5"), and as programs write them (`machine_…`)."""

import re
from decimal import Decimal
from math import isfinite

from realestate.parsing.text import cached

#: Separators of thousands: space, no-break space, thin space, narrow no-break space, the Swiss apostrophe.
_BLANKS = " \u00a0\u2009\u202f'’"
#: The digits of a number. Blanks separate only groups of three: "3 85" is two numbers. The number of groups is limited:
#: otherwise a page with nothing but groups would take quadratic time.
DIGITS = rf"(?:\d{{1,3}}(?:[{_BLANKS}]\d{{3}}){{1,6}}+(?!\d)(?:[.,]\d++)?+|\d++(?:[.,]\d++)*+)"
#: Words that may follow a number without a blank. With any other letter it is not a number: "1.7K".
_GLUED = (
    r"m2|m²|m\^2|m<sup>|mq|м2|м²|qm|kvm|kv|sot|ha|ar|sqm|sqft|sq|ft|ft²|acres?|azn|man|eur|euro|usd|gbp|pln|zar|zł|chf"
    r"|pcm|pw|pa|otaqlı|otaq|beds?|zi|st|nd|rd|th"
)
_NUMBER = re.compile(
    rf"(?<![\w.,])(?P<sign>-)?(?P<digits>{DIGITS})(?P<cut>(?!(?:{_GLUED})(?![^\W\d_]))\w|[.,]\d)?", re.IGNORECASE
)
_BLANK = re.compile(f"[{_BLANKS}]")
#: Counts, prices and measures have fewer digits.
_MOST_DIGITS = 18
#: A number as programs write it: a dot before decimals, no separator of thousands.
_MACHINE_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.ASCII)

#: Otodom and others write counts as words.
_COUNTS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER_OF_WORD = {name: number for number, name in enumerate(_COUNTS)}


def first(text: str | None) -> Decimal | None:
    """Return the first number in a text. None if there is none, or if it is in short form ("€1.7K")."""
    found = _NUMBER.search(text) if text else None
    if not found or found["cut"]:
        return None
    number = value(found["digits"])
    return -number if number is not None and found["sign"] else number


def whole(value: object) -> int | None:
    """Return a count (0 or more), from a number or a text. None for anything else, such as -1 for unknown."""
    number = _number(value)
    return int(number) if number is not None and number >= 0 and number == int(number) else None


def positive(value: object) -> float | None:
    """Return a measure above zero, from a number or a text. None otherwise: portals write 0 or -1 for unknown."""
    number = _number(value)
    return float(number) if number is not None and number > 0 else None


def signed(value: object) -> float | None:
    """Return a measure that may be below zero. None for -1, which portals write for unknown."""
    number = _number(value)
    return float(number) if number is not None and number != -1 else None


def worded(value: object) -> int | None:
    """Return a count in digits or as an English word: "THREE" is 3, "MORE" is None."""
    return _worded(value) if isinstance(value, str) else whole(value)


@cached
def _worded(text: str) -> int | None:
    return _NUMBER_OF_WORD.get(text.strip().lower(), whole(text))


def machine_amount(text: str | None) -> Decimal | None:
    """Return an amount above zero that a program wrote, in an attribute or in JSON. None for "12,50" or "1e5"."""
    if text is None or not _MACHINE_NUMBER.fullmatch(text):
        return None
    return Decimal(text) or None


def machine_count(text: str | None) -> int | None:
    """Return a whole number (0 or more) that a program wrote. None for anything else."""
    return int(text) if text and _MACHINE_NUMBER.fullmatch(text) and "." not in text else None


def value(digits: str) -> Decimal | None:
    """Return the value of digits with dots, commas or blanks between them. None if their meaning is unclear.

    Blanks separate thousands. Of two different marks the last one is the decimal point. One mark that is repeated, or
    that stands before exactly three digits, separates thousands ("239.000", "749,000"). Any other single mark is the
    decimal point ("85,5").
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
    """Return the number of groups of three digits, or of two before the last as in India. "28.08.2026" gives None."""
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

"""Floors: the floor of a home, and the number of floors of its building."""

import re
from typing import NamedTuple

from realestate.parsing import numbers
from realestate.parsing.text import cached, plain

_PAIR = re.compile(r"(?<![\w./-])(-?\d{1,3})\s?(?:/|\\|of|z|von|van|sur)\s?(-?\d{1,3})(?![\w/]|[.,]\d)")
_SINGLE = re.compile(r"(?<![\w./-])(?:floor_)?(-?\d{1,3})(?!\d|[.,]\d|/)")
#: Words for a floor, as `text.plain` writes them. They may be part of a pair: "parter/4".
_WORDS = {
    0: "ground floor|ground_floor|ground|parter|rez-de-chauss[ée]e|rdc|gelijkvloers|begane grond|erdgescho(?:ss|ß)|eg"
    "|zəmin",
    -1: "lower ground|basement|cellar|zirzəmi|podval|souterrain|untergeschoss|sous-sol|kelder|suterena|piwnica",
}
_NAMED = [(floor, re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])")) for floor, words in sorted(_WORDS.items())]
_TOTAL = re.compile(r"(?:/|\bof|\bz|\bvon)\s?(\d{1,3})\b")


class Floor(NamedTuple):
    """The floor, 0 for the ground floor, and the number of floors."""

    floor: int | None = None
    total: int | None = None


def parse(value: object, *, total_first: bool = False) -> Floor:
    """Return the floor of a text or a number: "2/9" is the second of nine, "parter" is 0, a cellar is -1.

    `total_first`: the portal writes the number of floors first.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return Floor(value) if abs(value) < 1000 else Floor()
    if not isinstance(value, str):
        return Floor(whole) if (whole := numbers.whole(value)) is not None else Floor()
    return _parse_text(value, total_first)


@cached
def _parse_text(text: str, total_first: bool) -> Floor:
    words = plain(text)
    if pair := _PAIR.search(words):
        first = int(pair[1])
        second = int(pair[2])
        return Floor(second, first) if total_first else Floor(first, second)
    for floor, name in _NAMED:
        if name.search(words):
            total = _TOTAL.search(words)
            return Floor(floor, int(total[1]) if total else None)
    single = _SINGLE.search(words)
    return Floor(int(single[1])) if single else Floor()

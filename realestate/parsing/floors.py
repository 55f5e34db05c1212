"""Which storey of how many."""

import re
from typing import NamedTuple

from realestate.parsing import numbers
from realestate.parsing.text import plain, remembered

_PAIR = re.compile(r"(?<![\w./-])(-?\d{1,3})\s?(?:/|\\|of|z|von|van|sur)\s?(-?\d{1,3})(?![\w/]|[.,]\d)")
_SINGLE = re.compile(r"(?<![\w./-])(?:floor_)?(-?\d{1,3})(?!\d|[.,]\d|/)")
#: In lower case, every i one; a pair may have a word for its first: "parter/4".
_WORDS = {
    0: "ground floor|ground_floor|ground|parter|rez-de-chauss[ée]e|rdc|gelijkvloers|begane grond|erdgescho(?:ss|ß)|eg"
    "|zəmin",
    -1: "lower ground|basement|cellar|zirzəmi|podval|souterrain|untergeschoss|sous-sol|kelder|suterena|piwnica",
}
_NAMED = [(floor, re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])")) for floor, words in sorted(_WORDS.items())]
_TOTAL = re.compile(r"(?:/|\bof|\bz|\bvon)\s?(\d{1,3})\b")


class Floor(NamedTuple):
    floor: int | None = None
    total: int | None = None


def parse(value: object, *, total_first: bool = False) -> Floor:
    """ "2/9" and "2 / 9" are the second of nine; some portals write the total first. "parter" is 0, a cellar -1."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Floor(value) if abs(value) < 1000 else Floor()
    if not isinstance(value, str):
        return Floor(whole) if (whole := numbers.whole(value)) is not None else Floor()
    return _worded(value, total_first)


@remembered
def _worded(text: str, total_first: bool) -> Floor:
    words = plain(text)
    if pair := _PAIR.search(words):
        one, other = int(pair[1]), int(pair[2])
        return Floor(other, one) if total_first else Floor(one, other)
    for floor, name in _NAMED:
        if name.search(words):
            total = _TOTAL.search(words)
            return Floor(floor, int(total[1]) if total else None)
    single = _SINGLE.search(words)
    return Floor(int(single[1])) if single else Floor()

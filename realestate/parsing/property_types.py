"""Property types by the words of a text, for portals that have no word table of their own."""

import re
from typing import Literal

from realestate.parsing.text import line, plain

#: A longer text is not the name of a property type.
_MAX_LENGTH = 200

PropertyType = Literal["apartment", "house", "land", "commercial", "garage", "room", "office", "building", "other"]

#: The first match counts: a "warehouse" is not a house, an "office building" is an office.
_WORDS: tuple[tuple[PropertyType, str], ...] = (
    ("garage", r"garage|garaż|car ?space|parking\w*|stellplatz"),
    ("office", r"offices?|büro\w*|biuro"),
    (
        "commercial",
        r"commercial\w*|retail\w*|shops?|warehouse|industrial\w*|restaurant|pub|\w*lokal\w*|gewerbe\w*|halle?|business",
    ),
    ("land", r"land|site|plots?|vacant|erf|terrain|dzialka|działka|\w*grund|grundst[uü]e?cke?|farm"),
    ("room", r"rooms?|share|zimmer|pok[oó]j"),
    (
        "apartment",
        r"apartments?|apartamentowiec|flats?|studio|maisonette|penthouse|duplex|loft|\w*wohnung\w*|mieszkanie|kawalerka"
        r"|gar[cç]onni[eè]re",
    ),
    (
        "house",
        r"\w*houses?|homes?|(?:semi|end|mid)?\W?(?:detached|terraced?)|semi\W?d|bungalow|cottage|villa|\w*haus\w*|dom"
        r"|residence|singlefamilyresidence|cluster",
    ),
    ("building", r"buildings?|block"),
)
_PATTERNS = [(name, re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])")) for name, words in _WORDS]


def of(text: object) -> PropertyType | None:
    """Return the type that a text names: "house" for "Semi-Detached House". None (not "other") if no word is known."""
    words = plain(line(text) or "")
    if len(words) > _MAX_LENGTH:
        return None
    return next((name for name, pattern in _PATTERNS if pattern.search(words)), None)

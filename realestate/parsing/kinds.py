"""What kind of property a portal's own word means, in the languages of the portals that have no table of their own."""

import re
from typing import Literal

from realestate.parsing.text import line, plain

Kind = Literal["apartment", "house", "land", "commercial", "garage", "room", "office", "building", "other"]

#: In the order in which they count: a "warehouse" is no house, an "office building" an office. Compounds end with it.
_WORDS: tuple[tuple[Kind, str], ...] = (
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
_KINDS = [(kind, re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])")) for kind, words in _WORDS]


def of(text: object) -> Kind | None:
    """ "Semi-Detached House" is a house; None for a word we do not know, which is not `other`."""
    words = plain(line(text) or "")
    return next((kind for kind, known in _KINDS if known.search(words)), None) if len(words) <= 200 else None

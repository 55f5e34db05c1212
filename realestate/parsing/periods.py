"""Rent periods: the time that one payment covers, by the words beside the price."""

import re
from typing import Literal

from realestate.parsing.text import plain

Period = Literal["day", "week", "month", "year"]

#: Words as `text.plain` writes them. After a slash or a word for "per" a unit may be abbreviated.
_PER = r"(?:/ ?|per |pro |par |la |na |za |a |each |p/)"
_WORDS: dict[Period, str] = {
    "month": rf"pcm|p\.?c\.?m\.|p\.m\.|ayliq|ayda|monthly|monatlich|mtl|mensuel\w*|maandelijks|miesięcznie"
    rf"|{_PER}(?:ay|month|mo|mth|mois|maand|mnd|monat|mc|m-c|mies|miesiąc|m(?= ?$))",
    "week": rf"p?ppw|pw|p\.w\.|həftəlik|weekly|wöchentlich|{_PER}(?:həftə|week|wk|w(?= ?$)|semaine|woche|tydzień)",
    "day": rf"günlük|gündə|sutka\w*|daily|nightly|täglich|"
    rf"{_PER}(?:gün|day|night|nacht|nuit|dag|jour|tag|doba|dobę|dzień|sutka)",
    "year": rf"p\.a|pa|illik|ildə|yearly|annually|annuel\w*|jährlich"
    rf"|{_PER}(?:il|year|yr|annum|an|année|jaar|jahr|rok|y(?= ?$))",
}
_PERIOD = re.compile(
    "|".join(rf"(?P<{name}>(?:(?<![^\W\d_])|(?=/))(?:{words})(?![^\W\d_]))" for name, words in _WORDS.items())
)


def parse(text: str | None) -> Period | None:
    """Return the period of a text: "month" for "£1,300 pcm" and "600 AZN / ay"."""
    found = _PERIOD.search(plain(text)) if text else None
    return found.lastgroup if found else None  # type: ignore[return-value]

"""The city of a page that names it only in its breadcrumbs or its titles: one of the large cities of `cities.toml`."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from realestate.parsing import currencies
from realestate.parsing.unknown_pages.vocabulary import words

_LONGEST_NAME = 40
_LONGEST_TEXT = 200
_MOST_TEXTS = 60
#: "Madrid Capital", "Città di Roma".
_AROUND_NAME = re.compile(r"^(?:ville de|citta di|ciudad de(?! mexico)|city of) | (?:capital|city|ciudad|stadt)$")

#: "Flat in Madrid", "Appartement à Lyon 3ème".
_IN = re.compile(
    r"(?<!\w)(?:in|en|em|à|w|we|v|ve|в|u|te|i|στην|din) "
    r"(?=(?P<place>[^\W\d_][^\d,;|()/:–]{1,40}?) ?(?:$|[\d,;|()/:–]| - ))"
)
_PART_OF_CITY = re.compile(
    " (?:mitte|zentrum|centro|centre|center|centrum|nord|sud|süd|ost|est|west|ovest)$", re.IGNORECASE
)


class City(NamedTuple):
    """A city as the page writes it, and its country."""

    name: str
    country: str


@lru_cache(maxsize=1)
def _countries_of_name() -> dict[str, tuple[str, ...]]:
    table = tomllib.loads(files(__package__).joinpath("cities.toml").read_text("utf-8"))
    found: dict[str, list[str]] = {}
    for country, names in table.items():
        for name in names:
            countries = found.setdefault(words(name), [])
            if country not in countries:  # "Valencia" and "València" are one
                countries.append(country)
    return {name: tuple(countries) for name, countries in found.items()}


def find(breadcrumbs: Iterable[str], titles: Iterable[str], country: str | None, currency: str | None) -> City | None:
    """Return the city that most breadcrumbs and titles name; None if two are named as often.

    A breadcrumb counts if it is a city's name, a title if its first or last part between commas is one, or if one
    follows "in". Without a country, the price's currency has to be that of the city's country: "Valencia" is in Spain
    if the price is in euros.
    """
    counts: Counter[str] = Counter()
    cities: dict[str, City] = {}
    texts = list(titles)[:_MOST_TEXTS]
    for name in (*breadcrumbs, *_ends(texts), *_behind_in(texts)):
        city = _city(name, country, currency)
        if city:
            key = words(city.name)
            counts[key] += 1
            cities.setdefault(key, city)
    ranked = counts.most_common(2)
    if not ranked or (len(ranked) > 1 and ranked[0][1] < 2 * ranked[1][1]):
        return None
    return cities[ranked[0][0]]


def is_city(name: str, country: str | None) -> bool:
    """Return whether a text is the name of a large city, in this country if it is known."""
    countries = _countries_of_name().get(words(name), ()) if len(name) <= _LONGEST_NAME else ()
    return country in countries if country else bool(countries)


def _ends(titles: Iterable[str]) -> list[str]:
    """The first and the last part of titles that have commas. A title of one part is a sentence."""
    found: list[str] = []
    for title in titles:
        parts = [part.strip() for part in re.split(r",| [|–-] ", title[:_LONGEST_TEXT])]
        if "," in title:
            found += dict.fromkeys((parts[0], parts[-1]))
    return found


def _behind_in(titles: Iterable[str]) -> Iterator[str]:
    """Yield what follows "in" up to a comma or the end: "Berlin Mitte" is read as "Berlin", "Oxford Gardens" is not."""
    for title in titles:
        for found in _IN.finditer(title[:_LONGEST_TEXT]):
            yield _PART_OF_CITY.sub("", found["place"].strip())


def _city(text: str, country: str | None, currency: str | None) -> City | None:
    if len(text) > _LONGEST_NAME:
        return None
    short = words(text)
    for name in (short, _AROUND_NAME.sub("", short)):
        countries = _countries_of_name().get(name, ())
        fit = [each for each in countries if each == country] if country else _with_currency(countries, currency)
        if len(fit) == 1:
            return City(_as_written(text, name), fit[0])
    return None


def _as_written(text: str, name: str) -> str:
    """The words of the text that are the name: "Madrid" of "Madrid Capital"."""
    written = text.split()
    for start in range(len(written)):
        for end in range(len(written), start, -1):
            part = " ".join(written[start:end])
            if words(part) == name:
                return part
    return text


def _with_currency(countries: Iterable[str], currency: str | None) -> list[str]:
    return [each for each in countries if currency is not None and currencies.of_country(each) == currency]

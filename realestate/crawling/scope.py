"""The scope of a job: which homes somebody wants. Also what one search of a portal covers.

The portal's searches apply what they can. The rest is checked on each result of a search page and on each listing.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, get_args

from realestate.crawling.seeds import BadSeed
from realestate.items import Listing, Operation, PropertyType
from realestate.parsing.text import fold

OPERATIONS: tuple[Operation, ...] = get_args(Operation)
PROPERTY_TYPES: tuple[PropertyType, ...] = get_args(PropertyType)

#: English names of cities whose portals write them in another language.
ENGLISH_NAMES = {
    "antwerp": "antwerpen",
    "baku": "baki",
    "bruges": "brugge",
    "brussels": "bruxelles",
    "cracow": "krakow",
    "ganja": "gence",
    "ghent": "gent",
    "liege": "liege",
    "ostend": "oostende",
    "sumgait": "sumqayit",
    "vienna": "wien",
    "warsaw": "warszawa",
}
#: Letters that Unicode does not take apart into a letter and an accent.
_TO_ASCII = str.maketrans("əıłøßđ", "eilosd")
_NOT_LETTERS = re.compile(r"[^a-z0-9]+")


def city_key(name: str) -> str:
    """A city's name in the form in which names are compared: `Bakı`, `BAKI` and `baku` are equal."""
    plain = slug(name)
    return ENGLISH_NAMES.get(plain, plain)


def slug(city: str) -> str:
    """A city's name as a part of a URL: `Dún Laoghaire` is `dun-laoghaire`."""
    letters = unicodedata.normalize("NFKD", fold(city).translate(_TO_ASCII))
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return _NOT_LETTERS.sub("-", plain).strip("-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which homes are wanted. None means all."""

    operation: Operation | None = None
    type: PropertyType | None = None
    city: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """From the text of `str(scope)`. Raises BadSeed."""
        values: dict[str, str] = {}
        for part in filter(None, text.split(";")):
            name, _, value = part.partition("=")
            if name not in cls.__dataclass_fields__ or not value:
                raise BadSeed(f"not a part of a scope: {part[:50]!r}")
            values[name] = value
        _check(values.get("operation"), "operation", OPERATIONS)
        _check(values.get("type"), "type", PROPERTY_TYPES)
        return cls(**values)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return ";".join(f"{name}={value}" for name, value in self.parts().items())

    def parts(self) -> dict[str, str]:
        """The parts that are set, by name."""
        values = {"operation": self.operation, "type": self.type, "city": self.city}
        return {name: value for name, value in values.items() if value is not None}

    def may_include(self, city: str | None) -> bool:
        """Whether a result of a search page may be wanted, by what the page shows of it."""
        return self.city is None or city is None or city_key(city) == city_key(self.city)

    def includes(self, listing: Listing, filtered_at_site: Iterable[str]) -> bool:
        """Whether the listing is wanted. A missing value counts as right only if the site has filtered by it."""
        found = {
            "operation": listing.operation,
            "type": listing.property_type,
            "city": city_key(listing.city) if listing.city else None,
        }
        wanted = self.parts()
        if self.city is not None:
            wanted["city"] = city_key(self.city)
            if "city" in filtered_at_site:
                del wanted["city"]  # a site counts suburbs too, under their own names
        return all(
            found[name] == value or (found[name] is None and name in filtered_at_site) for name, value in wanted.items()
        )


def _check(value: str | None, name: str, allowed: Sequence[str]) -> None:
    if value is not None and value not in allowed:
        raise BadSeed(f"{name} {value!r} is not known: one of {', '.join(allowed)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Covers:
    """What a search with a certain word in its URL shows. None means everything."""

    operation: Operation | None = None
    types: tuple[PropertyType, ...] | None = None


def selected(searches: Sequence[str], words: Mapping[str, Covers], scope: Scope) -> list[str]:
    """The searches that may show homes of the scope."""
    return [search for search in searches if all(_may_show(covers, scope) for covers in _of(search, words))]


def _of(search: str, words: Mapping[str, Covers]) -> list[Covers]:
    return [covers for word, covers in words.items() if word in search]


def _may_show(covers: Covers, scope: Scope) -> bool:
    is_right_operation = None in (scope.operation, covers.operation) or scope.operation == covers.operation
    return is_right_operation and (scope.type is None or covers.types is None or scope.type in covers.types)

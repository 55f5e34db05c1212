"""Countries by their codes and names, as pages write them (`countries.toml`)."""

import re
import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from realestate.parsing import currencies
from realestate.parsing.unknown_pages.vocabulary import words

_LONGEST_NAME = 60
_LONGEST_CODE = 3
#: Postal codes that only one country with this currency writes.
_POSTAL_CODES = (
    ("GB", "GBP", re.compile(r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}")),
    ("IE", "EUR", re.compile(r"[A-Z]\d[\dW] ?[A-Z\d]{4}")),
    ("NL", "EUR", re.compile(r"\d{4} ?[A-Z]{2}")),
    ("PT", "EUR", re.compile(r"\d{4}-\d{3}")),
    ("CA", "CAD", re.compile(r"[A-Z]\d[A-Z] ?\d[A-Z]\d")),
)


class _Countries(NamedTuple):
    codes: frozenset[str]
    of_name: dict[str, str]
    of_language: dict[str, list[str]]


@lru_cache(maxsize=1)
def _countries() -> _Countries:
    table = tomllib.loads(files(__package__).joinpath("countries.toml").read_text("utf-8"))
    of_name = {words(name): code for code, names in table["names"].items() for name in names}
    return _Countries(frozenset(table["codes"]) | frozenset(table["names"]), of_name, table["languages"])


def code(text: object) -> str | None:
    """Return the ISO 3166-1 code of a country's code or name; None if it is unknown."""
    if not isinstance(text, str) or len(text) > _LONGEST_NAME:
        return None
    upper = text.strip().upper()
    if upper == "UK":
        return "GB"
    return upper if upper in _countries().codes else _countries().of_name.get(words(text))


def of_name(text: str) -> str | None:
    """Return the code of a country's full name; None for codes, which are also words: "us", "per"."""
    return code(text) if len(text) > _LONGEST_CODE else None


def of_language(language: str, currency: str | None) -> str | None:
    """Return the only country with this language and this currency; None if there are several or none."""
    spoken = _countries().of_language.get(language, [])
    found = [each for each in spoken if currency is not None and currencies.of_country(each) == currency]
    return found[0] if len(found) == 1 else None


def of_postal_code(text: str, currency: str | None) -> str | None:
    """Return the country whose postal codes have this form and whose currency this is; None for plain digits."""
    return next((each for each, own, form in _POSTAL_CODES if own == currency and form.fullmatch(text)), None)

"""Countries by their codes and names, as pages write them (`countries.toml`)."""

import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from realestate.parsing.unknown_pages.vocabulary import words

_LONGEST_NAME = 60


class _Countries(NamedTuple):
    codes: frozenset[str]
    of_name: dict[str, str]


@lru_cache(maxsize=1)
def _countries() -> _Countries:
    table = tomllib.loads(files(__package__).joinpath("countries.toml").read_text("utf-8"))
    of_name = {words(name): code for code, names in table["names"].items() for name in names}
    return _Countries(frozenset(table["codes"]) | frozenset(table["names"]), of_name)


def code(text: object) -> str | None:
    """Return the ISO 3166-1 code of a country's code or name; None if it is unknown."""
    if not isinstance(text, str) or len(text) > _LONGEST_NAME:
        return None
    upper = text.strip().upper()
    if upper == "UK":
        return "GB"
    return upper if upper in _countries().codes else _countries().of_name.get(words(text))

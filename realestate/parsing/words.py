"""Looks up a portal's words in a table, and reads yes and no."""

from collections.abc import Mapping
from typing import TypeVar

from realestate.parsing.text import fold, missing, plain

T = TypeVar("T")


def folded(meanings: Mapping[str, T]) -> dict[str, T]:
    """Return a table for `meaning`: its words as `text.fold` writes them."""
    return {fold(word): each for word, each in meanings.items()}


def meaning(value: object, table: Mapping[str, T]) -> T | None:
    """Return the value of a word in the table, in any spelling. None if the table does not have it."""
    return table.get(fold(value)) if isinstance(value, str) else None


#: Yes and no in the languages of our portals, as `text.plain` writes them.
YES_NO = {
    **dict.fromkeys(("var", "bəli", "hə", "yes", "true", "y", "1", "ja", "oui", "tak", "да", "есть"), True),
    **dict.fromkeys(("yoxdur", "yox", "xeyr", "no", "false", "n", "0", "nee", "nein", "non", "nie", "нет"), False),
}


def truth(value: object, table: Mapping[str, bool] = YES_NO) -> bool | None:
    """Return the truth of a boolean, of 0 or 1, or of a word. None (not False) if it is missing or unknown."""
    if isinstance(value, bool):
        return value
    if missing(value):
        return None
    if isinstance(value, int):
        return bool(value) if value in (0, 1) else None
    if not isinstance(value, str):
        return None
    known = table.get(fold(value))
    return table.get(plain(value)) if known is None else known

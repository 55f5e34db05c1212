"""What a portal's own words mean, by a table."""

from collections.abc import Mapping
from typing import TypeVar

from realestate.parsing.text import fold, missing, plain

T = TypeVar("T")


def folded(meanings: Mapping[str, T]) -> dict[str, T]:
    """A table as `meaning` wants it: its words as `fold` writes them."""
    return {fold(word): each for word, each in meanings.items()}


def meaning(value: object, table: Mapping[str, T]) -> T | None:
    """What a word of the portal means, however it is spelled; None for a word we do not know."""
    return table.get(fold(value)) if isinstance(value, str) else None


#: Yes and no in the languages of our portals, every i one.
YES_NO = {
    **dict.fromkeys(("var", "bəli", "hə", "yes", "true", "y", "1", "ja", "oui", "tak", "да", "есть"), True),
    **dict.fromkeys(("yoxdur", "yox", "xeyr", "no", "false", "n", "0", "nee", "nein", "non", "nie", "нет"), False),
}


def truth(value: object, table: Mapping[str, bool] = YES_NO) -> bool | None:
    """A boolean in JSON, as 0 or 1, or in words; None for what is missing or unknown, which is not False."""
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

"""Removes contacts from the error of a parser, before it reaches the log and the dead letters.

A parser that cannot read a value often names the value: `could not convert string to float: '(050) 000-12-00'`.
"""

from typing import Any

from realestate.privacy.contacts import scrub

#: The longest text of an error. A parser may put a whole page into it.
MAX_LENGTH = 2_000
#: Errors that follow from each other.
MAX_CHAIN = 10


def clean_error(error: BaseException, country: str) -> None:
    """Replace telephone numbers, e-mail addresses and messenger accounts in the error, and in those that led to it, by
    a mark."""
    each: BaseException | None = error
    for _ in range(MAX_CHAIN):
        if each is None:
            return
        each.args = tuple(_without_contacts(value, country) for value in each.args)
        each = each.__cause__ or each.__context__


def _without_contacts(value: Any, country: str) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    try:
        text = (value if isinstance(value, str) else repr(value))[:MAX_LENGTH]
        clean = scrub(text, country)
    except Exception:  # a text that cannot be searched must not be shown either
        return "(removed)"
    return clean if isinstance(value, str) or clean != text else value

"""Prices: an amount, or the seller's word that he names it on request."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from realestate.parsing import numbers
from realestate.parsing.text import fold

Basis = Literal["total", "on_request"]
Period = Literal["day", "week", "month"]

_ON_REQUEST = tuple(
    map(fold, ("Razılaşma ilə", "Razılaşma yolu ilə", "POA", "price on request", "on request", "op aanvraag"))
)
#: The longest first: "gün" stands in "günlük".
_PERIODS: tuple[tuple[str, Period], ...] = (
    ("/ ay", "month"),
    ("/ay", "month"),
    ("aylıq", "month"),
    ("/ gün", "day"),
    ("/gün", "day"),
    ("günlük", "day"),
    ("pcm", "month"),
    ("per month", "month"),
    ("/ month", "month"),
    ("pw", "week"),
    ("per week", "week"),
)


@dataclass(frozen=True, slots=True)
class Price:
    """What a price text says; `currency` only with an amount."""

    amount: Decimal | None = None
    currency: str | None = None
    basis: Basis | None = None


def of(amount: object, currency: str) -> Price:
    """From a number as JSON has it: no number, or one not above zero, is a price on request."""
    value = numbers.positive(amount)
    if value is None:
        return Price(basis="on_request")
    return Price(Decimal(str(amount)), currency, "total")


def parse(text: str | None, currency: str) -> Price:
    """From a text in a portal whose currency is known."""
    if not text:
        return Price()
    if any(words in fold(text) for words in _ON_REQUEST):
        return Price(basis="on_request")
    amount = numbers.first(text)
    if amount is None or amount <= 0:
        return Price()
    return Price(amount, currency, "total")


def period(text: str | None) -> Period | None:
    """The time a rent covers, by the words beside its price."""
    folded = fold(text or "")
    return next((period for words, period in _PERIODS if words in folded), None)

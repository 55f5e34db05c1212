"""What else can be collected than homes: a product of a shop, a quote of a market. Each kind is a dataclass like
Listing, with an identity and a page; the chain carries them all, and knows of a kind only what stands here."""

from dataclasses import dataclass, fields
from math import isfinite
from typing import Annotated, Any

from msgspec import Meta

from realestate.items import Address, Currency, Moment, Money, Text, plain

Pieces = Annotated[int, Meta(ge=0, le=10**15)]


@dataclass(kw_only=True, slots=True)
class Product:
    """Something a shop sells, as seen at one time."""

    portal: Text
    """Name of the spider that saw it; with ref, the identity of the product."""

    ref: Text
    """The shop's own number of it, as text."""

    url: Address
    """Where it can be seen."""

    name: Text
    """What the shop calls it."""

    price: Money | None = None
    """What one of it costs; None where the shop does not say."""

    currency: Currency | None = None
    """ISO 4217 code of price; present exactly when price is."""

    stock: Pieces | None = None
    """How many there are; 0 is sold out, None where the shop does not say."""


@dataclass(kw_only=True, slots=True)
class Quote:
    """What something is traded at, as seen at one time."""

    portal: Text
    """Name of the spider that saw it; with ref, the identity of what is traded."""

    ref: Text
    """The market's own number of it (an ISIN, say): a ticker may be given to another."""

    url: Address
    """Where it can be read."""

    ticker: Text
    """The short name it is traded under."""

    price: Money | None = None
    """The last price of one share; None where there was no trade."""

    currency: Currency | None = None
    """ISO 4217 code of price; present exactly when price is."""

    volume: Pieces | None = None
    """How many were traded on the day of the quote."""

    quoted_at: Moment | None = None
    """When the market said so."""


Other = Product | Quote
OTHERS: dict[str, type[Other]] = {"product": Product, "quote": Quote}

_KINDS = {kind: name for name, kind in OTHERS.items()}
_NAMES = {kind: tuple(each.name for each in fields(kind)) for kind in OTHERS.values()}
#: What does not change with what is said of it.
IDENTITY = ("portal", "ref", "url")
#: The portal's clock: that it moves on is no change of what it dates.
CLOCK = frozenset({"quoted_at"})


def kind_of(other: Other) -> str:
    return _KINDS[type(other)]


def other_record(other: Other) -> dict[str, Any]:
    """As plain JSON values, like `as_record` of a listing. ValueError where one is no number: JSON has none."""
    record = {name: plain(getattr(other, name)) for name in _NAMES[type(other)]}
    for name, value in record.items():
        if isinstance(value, float) and not isfinite(value):
            raise ValueError(f"{name}: {value} is no number")
    return record

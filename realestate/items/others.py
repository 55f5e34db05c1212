"""Items of other kinds: a product of a shop, a quote of a market. Each kind is a dataclass like Listing, with portal,
ref and URL. Pipelines and stores handle all kinds alike; they need no more than this module says of a kind."""

from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from math import isfinite
from typing import Annotated, Any

from msgspec import Meta

from realestate.items import Address, Currency, Text, ZonedTime, is_storable_time, plain

#: Stored with all its decimals: a share may cost less than a cent.
Money = Annotated[Decimal, Meta(extra_json_schema={"exclusiveMinimum": 0, "maximum": 1e12})]
Pieces = Annotated[int, Meta(ge=0, le=10**15)]


@dataclass(kw_only=True, slots=True)
class Product:
    """Something a shop sells, as seen at one time."""

    portal: Text
    """Name of the spider that read it. Portal and ref identify the product."""

    ref: Text
    """The shop's id of it, as text."""

    url: Address
    """Address of its page."""

    name: Text
    """Its name in the shop."""

    price: Money | None = None
    """Price of one piece. None if the shop does not show it."""

    currency: Currency | None = None
    """ISO 4217 code of price. Present exactly when price is."""

    stock: Pieces | None = None
    """Number of pieces in stock. 0 is sold out, None if the shop does not show it."""


@dataclass(kw_only=True, slots=True)
class Quote:
    """The price at which something is traded, as seen at one time."""

    portal: Text
    """Name of the spider that read it. Portal and ref identify what is traded."""

    ref: Text
    """The market's id of it, for example an ISIN. Not the ticker, which may be reused."""

    url: Address
    """Address of its page."""

    ticker: Text
    """Short name of what is traded."""

    price: Money | None = None
    """The last price of one share. None if there was no trade."""

    currency: Currency | None = None
    """ISO 4217 code of price. Present exactly when price is."""

    volume: Pieces | None = None
    """Number of shares traded on the day of the quote."""

    quoted_at: ZonedTime | None = None
    """Time of the quote, as the market says."""


Other = Product | Quote
OTHERS: dict[str, type[Other]] = {"product": Product, "quote": Quote}

_KINDS = {kind: name for name, kind in OTHERS.items()}
_NAMES = {kind: tuple(each.name for each in fields(kind)) for kind in OTHERS.values()}
#: Fields that identify an item. They are not part of its data.
IDENTITY = ("portal", "ref", "url")
#: The portal's times. If only they change, there is no event.
CLOCK = frozenset({"quoted_at"})


def kind_of(other: Other) -> str:
    return _KINDS[type(other)]


def other_record(other: Other) -> dict[str, Any]:
    """Return the item as JSON values, like `as_record` of a listing. Raises ValueError for NaN and infinity, and for a
    time that no database can store."""
    for name in _NAMES[type(other)]:
        value = getattr(other, name)
        if isinstance(value, datetime) and not is_storable_time(value):
            raise ValueError(f"{name}: {value.isoformat()} is not a time of the years 1 to 9999")
    record = {name: plain(getattr(other, name)) for name in _NAMES[type(other)]}
    for name, value in record.items():
        if isinstance(value, float) and not isfinite(value):
            raise ValueError(f"{name}: {value} is not a number")
    return record

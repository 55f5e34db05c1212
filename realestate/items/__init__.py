"""WHAT a listing is: one typed record, the words it may use, and how it is written as plain JSON.

This room imports nothing of ours, so every other room may import it. `items.others` has what is no home.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from datetime import datetime
from decimal import Decimal
from hashlib import blake2b
from operator import attrgetter
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

Operation = Literal["sale", "rent"]
RentPeriod = Literal["day", "week", "month", "year"]
PropertyType = Literal["apartment", "house", "land", "commercial", "garage", "room", "office", "building", "other"]
PriceBasis = Literal["total", "per_m2", "on_request"]
GeoPrecision = Literal["exact", "approximate"]
SellerType = Literal["owner", "agency", "developer"]
Status = Literal["active", "reserved", "delisted", "sold", "rented"]
Evidence = Literal["404", "410", "marker", "absent"]

Text = Annotated[str, Meta(min_length=1)]
Country = Annotated[str, Meta(pattern="^[A-Z]{2}$")]
Currency = Annotated[str, Meta(pattern="^[A-Z]{3}$")]
Money = Annotated[Decimal, Meta(extra_json_schema={"exclusiveMinimum": 0, "maximum": 1e12})]
SquareMetres = Annotated[float, Meta(gt=0, le=1e9)]
Count = Annotated[int, Meta(ge=0, le=1000)]
#: As text it must tell its offset: a moment of unknown zone is hours wrong. (Validators need not check formats.)
Moment = Annotated[datetime, Meta(tz=True, extra_json_schema={"pattern": r"(Z|[+-]\d\d:\d\d(:\d\d)?)$"})]
Address = Annotated[str, Meta(pattern="^https?://")]


@dataclass(kw_only=True, slots=True)
class Listing:
    """One advert on one portal, as seen at one time. Missing is None: never 0, "" or -1."""

    # --- identity

    portal: Text
    """Name of the spider that saw it; with ref, the identity of the listing."""

    ref: Text
    """The portal's own id, as text; never derived from anything that can change."""

    url: Address
    """Where the advert can be read."""

    country: Country
    """ISO 3166-1 alpha-2 code of the country the home is in."""

    # --- what it is

    operation: Operation | None = None
    """Whether the home is for sale or for rent."""

    rent_period: RentPeriod | None = None
    """The time one rent payment covers; only for rent."""

    property_type: PropertyType | None = None
    """The kind of property, in our words."""

    subtype: Text | None = None
    """The portal's finer kind, lower case with underscores."""

    is_new_building: bool | None = None
    """Whether the portal says the building is newly built."""

    # --- money

    price: Money | None = None
    """Asking price in currency: the whole for a sale, one rent_period's for a rent, charges excluded."""

    currency: Currency | None = None
    """ISO 4217 code of price and charges; present exactly when price is."""

    price_basis: PriceBasis | None = None
    """What price stands for: the whole home, one square metre, or nothing because it is on request."""

    charges: Money | None = None
    """Costs on top of the rent for the same period."""

    price_per_m2: Money | None = None
    """price divided by area_m2, or by plot_m2 for land; derived, two decimals."""

    # --- size

    area_m2: SquareMetres | None = None
    """Living area."""

    plot_m2: SquareMetres | None = None
    """Area of the land that belongs to it."""

    rooms: Count | None = None
    """All rooms the portal counts, bedrooms included."""

    bedrooms: Count | None = None
    """Bedrooms."""

    bathrooms: Count | None = None
    """Bathrooms, shower rooms not included."""

    floor: Annotated[int, Meta(ge=-10, le=200)] | None = None
    """Storey the home is on; 0 is the ground floor where the portal counts so."""

    floors_total: Annotated[int, Meta(ge=0, le=200)] | None = None
    """Storeys of the building."""

    # --- building

    year_built: Annotated[int, Meta(ge=1000, le=2100)] | None = None
    """Year of construction."""

    condition: Text | None = None
    """State of repair, the portal's word in English, lower case with underscores."""

    energy_class: Annotated[str, Meta(pattern=r"^[A-G]\+{0,2}$")] | None = None
    """Energy performance class."""

    energy_kwh_m2: Annotated[float, Meta(ge=-500, le=5000)] | None = None
    """Primary energy use a year; negative for a home that yields energy."""

    heating: Text | None = None
    """Source of heat, lower case."""

    facades: Annotated[int, Meta(ge=0, le=20)] | None = None
    """Free-standing sides of the building."""

    features: frozenset[str] = frozenset()
    """What else the home has, as words in English, lower case with underscores."""

    has_deed: bool | None = None
    """Whether a title deed (Azerbaijan: kupça) exists."""

    has_mortgage: bool | None = None
    """Whether it can be bought with the seller's or a state mortgage."""

    # --- place

    region: Text | None = None
    """Largest part of the country the portal names."""

    city: Text | None = None
    """City or municipality."""

    district: Text | None = None
    """Part of the city or, where the portal says so, the administrative district."""

    metro_station: Text | None = None
    """Nearest metro station, without the word for it."""

    street: Text | None = None
    """Street and house number."""

    postal_code: Text | None = None
    """Postal code, as text: it may begin with a zero."""

    latitude: Annotated[float, Meta(ge=-90, le=90)] | None = None
    """WGS 84 latitude of the home, never of the agency."""

    longitude: Annotated[float, Meta(ge=-180, le=180)] | None = None
    """WGS 84 longitude of the home, never of the agency."""

    geo_precision: GeoPrecision | None = None
    """Whether the coordinates are the home's own or only near it; None without coordinates."""

    # --- text

    title: Text | None = None
    """Headline of the advert."""

    description: Text | None = None
    """Body text of the advert, one paragraph a line."""

    photos: list[Address] = field(default_factory=list)
    """Addresses of the photographs, in the portal's order; the pictures are not fetched."""

    # --- seller

    seller_type: SellerType | None = None
    """Who sells."""

    agency_name: Text | None = None
    """Name of the firm; never that of a private person."""

    agency_ref: Text | None = None
    """The firm's own reference code for the home."""

    # --- time

    posted_at: Moment | None = None
    """When the portal says the advert was made."""

    updated_at: Moment | None = None
    """When the portal says the advert was last changed."""

    first_seen_at: Moment | None = None
    """When we saw it first; set by the store."""

    last_seen_at: Moment | None = None
    """When we saw it last, on any page; set by the store."""

    last_fetched_at: Moment | None = None
    """When its own page was last read; set by the store."""

    delisted_at: tuple[Moment, Moment] | None = None
    """Last time seen, and first time known to be gone; set by the store."""

    # --- state

    status: Status = "active"
    """Where the advert stands."""

    content_hash: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")] | None = None
    """Fingerprint of what the portal says of the home; equal hashes mean nothing changed."""

    quality_flags: frozenset[str] = frozenset()
    """Warnings that did not block the listing."""

    parser_version: Annotated[int, Meta(ge=1)] = 1
    """Version of the spider's parser that read it."""

    extra: dict[str, Any] = field(default_factory=dict)
    """Values of the portal that no field above takes; never dropped."""


@dataclass(kw_only=True, slots=True)
class Sighting:
    """A listing is there, and perhaps at this price: a search page shows it, or its own says that nothing changed. What
    is None was not shown."""

    portal: str
    ref: str
    url: str
    price: Decimal | None = None
    currency: str | None = None
    price_basis: PriceBasis | None = None
    rent_period: RentPeriod | None = None
    is_read: bool = False
    """Whether its own page was asked for, and is as it was when it was last read."""


@dataclass(frozen=True, slots=True)
class Sightings:
    """What one search page shows, in one item: thirty would each go through all pipelines for nothing."""

    seen: tuple[Sighting, ...]


@dataclass(kw_only=True, slots=True)
class Gone:
    """A listing's own page is no more: by the portal's own word, or `absent`: it shows something else."""

    portal: str
    ref: str
    url: str
    evidence: Evidence
    detail: str


@dataclass(kw_only=True, slots=True)
class Telephones:
    """What the portal answered when it was asked for a listing's telephones; only with CONTACTS on. Its repr, which a
    log may show, says whose they are and nothing more."""

    portal: str
    ref: str
    numbers: tuple[str, ...] = field(default=(), repr=False)


@dataclass(kw_only=True, slots=True)
class Part:
    """A search, or a part of one, as it was planned: all parts together show whether a run looked everywhere."""

    portal: str
    search: str
    """Its address, without a page."""
    parent: str | None
    """The search it is a part of."""
    total: int | None
    """How many results it has, by the portal's word."""
    is_split: bool = False
    """Whether it was too long, and its parts were read in its place."""
    newest: int | None = None
    """The watermark its first page leads to."""


FIELDS = tuple(f.name for f in fields(Listing))

#: Fields the portal does not tell: ours to derive or to keep.
OURS = frozenset(
    {"price_per_m2", "first_seen_at", "last_seen_at", "last_fetched_at", "delisted_at"}
    | {"content_hash", "quality_flags", "parser_version", "extra"}
)

#: Fields whose change is not a change of the advert: identity, our own, and the portal's clock
#: (some portals show one date, of posting or of renewal).
_NOT_CONTENT = OURS | {"portal", "ref", "url", "posted_at", "updated_at"}
CONTENT = tuple(name for name in FIELDS if name not in _NOT_CONTENT)


_VALUES, _CONTENT_VALUES = attrgetter(*FIELDS), attrgetter(*CONTENT)
_CONTENT_ENCODER = msgspec.json.Encoder(order="deterministic")  # a set's words in one order


def as_record(listing: Listing) -> dict[str, Any]:
    """The listing as plain JSON values: numbers for money, ISO 8601 for moments, sorted lists for sets."""
    return {
        name: value if type(value) in _AS_IS else plain(value)
        for name, value in zip(FIELDS, _VALUES(listing), strict=True)
    }


def content_hash(listing: Listing) -> str:
    """Fingerprint of what the portal says of the home, the same in every process.

    Equal amounts hash alike, however they were written: 350000 and 350000.00.
    """
    values = [_number(value) if type(value) is Decimal else value for value in _CONTENT_VALUES(listing)]
    return blake2b(_CONTENT_ENCODER.encode(values), digest_size=16).hexdigest()


def plain(value: Any) -> Any:
    """A field's value as plain JSON; TypeError if it cannot be."""
    for kind, convert in _CONVERTERS.items():
        if isinstance(value, kind):
            return convert(value)
    if isinstance(value, tuple(_AS_IS)):
        return value
    raise TypeError(f"an item cannot carry {type(value).__name__}")


def _number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def _each(values: Any) -> list[Any]:
    return [value if type(value) in _AS_IS else plain(value) for value in values]


_AS_IS = frozenset({type(None), str, bool, int, float, dict})
_CONVERTERS: dict[type | tuple[type, ...], Callable[[Any], Any]] = {
    Decimal: _number,
    datetime: datetime.isoformat,
    frozenset: sorted,
    (list, tuple): _each,
}

"""The items: a listing with its fields and the values they may have, other observations, and conversion to JSON.

This package imports nothing else of the project, so every other package may import it. `items.others` has items that
are not homes.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
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
#: An amount with two decimals. Less than a cent would be stored as 0.
Money = Annotated[Decimal, Meta(extra_json_schema={"minimum": 0.01, "maximum": 999_999_999_999.99})]
SquareMetres = Annotated[float, Meta(gt=0, le=1e9)]
Count = Annotated[int, Meta(ge=0, le=1000)]
#: A time with a time zone. Validators of JSON Schema need not check formats, so a pattern demands the offset.
ZonedTime = Annotated[datetime, Meta(tz=True, extra_json_schema={"pattern": r"(Z|[+-]\d\d:\d\d(:\d\d)?)$"})]
Address = Annotated[str, Meta(pattern="^https?://")]


@dataclass(kw_only=True, slots=True)
class Listing:
    """One advert on one portal, as seen at one time. A missing value is None, never 0, "" or -1."""

    # --- identity

    portal: Text
    """Name of the spider that read it. Portal and ref identify the listing."""

    ref: Text
    """The portal's id of the listing, as text. It never changes."""

    url: Address
    """Address of the advert."""

    country: Country
    """ISO 3166-1 alpha-2 code of the country the home is in."""

    # --- what it is

    operation: Operation | None = None
    """Whether the home is for sale or for rent."""

    rent_period: RentPeriod | None = None
    """The period of one rent payment. Only for rents."""

    property_type: PropertyType | None = None
    """The kind of property, the same words for all portals."""

    subtype: Text | None = None
    """The portal's more exact kind of property, lower case with underscores."""

    is_new_building: bool | None = None
    """Whether the portal says the building is newly built."""

    # --- money

    price: Money | None = None
    """Asking price in currency, without charges. For a rent it is the price of one rent_period."""

    currency: Currency | None = None
    """ISO 4217 code of price and charges. Present exactly when price is."""

    price_basis: PriceBasis | None = None
    """What the price is for: the whole home, one square metre, or no price because it is on request."""

    charges: Money | None = None
    """Costs on top of the rent for the same period."""

    price_per_m2: Money | None = None
    """price divided by area_m2, or by plot_m2 for land. Two decimals."""

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
    """Storey of the home. 0 is the ground floor if the portal counts so."""

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
    """Primary energy use a year. Negative if the home produces more than it uses."""

    heating: Text | None = None
    """Source of heat, lower case."""

    facades: Annotated[int, Meta(ge=0, le=20)] | None = None
    """Free-standing sides of the building."""

    features: frozenset[str] = frozenset()
    """Other features of the home, as words in English, lower case with underscores."""

    has_deed: bool | None = None
    """Whether a title deed (Azerbaijan: kupça) exists."""

    has_mortgage: bool | None = None
    """Whether it can be bought with the seller's or a state mortgage."""

    # --- place

    region: Text | None = None
    """Region, province or state, as the portal names it."""

    city: Text | None = None
    """City or municipality."""

    district: Text | None = None
    """Part of the city, or the administrative district if the portal shows that."""

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
    """Whether the coordinates are exact or only near the home. None without coordinates."""

    # --- text

    title: Text | None = None
    """Headline of the advert."""

    description: Text | None = None
    """Body text of the advert, one line for each paragraph."""

    photos: list[Address] = field(default_factory=list)
    """Addresses of the photos, in the portal's order. The photos are not fetched."""

    # --- seller

    seller_type: SellerType | None = None
    """What kind of seller it is."""

    agency_name: Text | None = None
    """Name of the firm. Never the name of a private person."""

    agency_ref: Text | None = None
    """The firm's reference code for the home."""

    # --- time

    posted_at: ZonedTime | None = None
    """When the advert was created, as the portal says."""

    updated_at: ZonedTime | None = None
    """When the advert was last changed, as the portal says."""

    first_seen_at: ZonedTime | None = None
    """When it was first seen. Set by the store."""

    last_seen_at: ZonedTime | None = None
    """When it was last seen on any page. Set by the store."""

    last_fetched_at: ZonedTime | None = None
    """When its detail page was last fetched. Set by the store."""

    delisted_at: tuple[ZonedTime, ZonedTime] | None = None
    """When it was last seen, and when it was first known to be gone. Set by the store."""

    # --- state

    status: Status = "active"
    """State of the advert."""

    content_hash: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")] | None = None
    """Hash of the content. If two hashes are equal, nothing changed."""

    quality_flags: frozenset[str] = frozenset()
    """Names of validation warnings; `stale:<field>` marks a last known value."""

    parser_version: Annotated[int, Meta(ge=1, le=2**31 - 1)] = 1
    """Version of the parser that read it."""

    extra: dict[str, Any] = field(default_factory=dict)
    """Values of the portal that fit no other field."""


@dataclass(kw_only=True, slots=True)
class Sighting:
    """A listing was seen on a search page, perhaps with its price and status, or its detail page is unchanged. What is
    None was not shown."""

    portal: str
    ref: str
    url: str
    price: Decimal | None = None
    currency: str | None = None
    price_basis: PriceBasis | None = None
    rent_period: RentPeriod | None = None
    status: Status | None = None
    is_read: bool = False
    """Whether its detail page was requested, and is unchanged since it was last read."""


@dataclass(frozen=True, slots=True)
class Sightings:
    """All sightings of one search page. One item instead of about thirty saves calls of all pipelines."""

    seen: tuple[Sighting, ...]


@dataclass(kw_only=True, slots=True)
class Gone:
    """A listing's detail page says that it is gone, or does not exist, or (`absent`) shows something else."""

    portal: str
    ref: str
    url: str
    evidence: Evidence
    detail: str


@dataclass(kw_only=True, slots=True)
class Telephones:
    """The portal's response to a request for a listing's telephone numbers. Only with CONTACTS on. The repr shows
    portal and ref only, because it may get into a log."""

    portal: str
    ref: str
    numbers: tuple[str, ...] = field(default=(), repr=False)


@dataclass(kw_only=True, slots=True)
class Part:
    """A search, or a part of one, as it was planned. All parts together show whether a job covered everything."""

    portal: str
    search: str
    """Its URL without a page number."""
    parent: str | None
    """The search it is a part of."""
    total: int | None
    """How many results it has, as the portal says."""
    is_split: bool = False
    """Whether it had too many results, so that its parts were read instead."""
    newest: int | None = None
    """The new watermark by its first page."""


FIELDS = tuple(f.name for f in fields(Listing))

#: Fields that do not come from the portal: they are derived, or set by the store.
OURS = frozenset(
    {"price_per_m2", "first_seen_at", "last_seen_at", "last_fetched_at", "delisted_at"}
    | {"content_hash", "quality_flags", "parser_version", "extra"}
)

#: Fields whose change is not a change of the advert: its identity, fields that we set, and the portal's times (some
#: portals show one date, of posting or of renewal).
_NOT_CONTENT = OURS | {"portal", "ref", "url", "posted_at", "updated_at"}
CONTENT = tuple(name for name in FIELDS if name not in _NOT_CONTENT)


#: The beginning of a quality flag: `stale:area_m2` says that the area has vanished from the portal's pages, and that
#: the stored one is the last known.
STALE = "stale:"

_VALUES = attrgetter(*FIELDS)
_CONTENT_VALUES = attrgetter(*CONTENT)
_CONTENT_ENCODER = msgspec.json.Encoder(order="deterministic")  # sets in a fixed order


def as_record(listing: Listing) -> dict[str, Any]:
    """Return the listing as JSON values: numbers for money, ISO 8601 for times, sorted lists for sets."""
    return {
        name: value if type(value) in _AS_IS else plain(value)
        for name, value in zip(FIELDS, _VALUES(listing), strict=True)
    }


def content_hash(listing: Listing) -> str:
    """Return a hash of the fields of CONTENT, and of which of them are stale. It is the same in every process.

    Equal amounts have the same hash, however they were written: 350000 and 350000.00.
    """
    values = [_number(value) if type(value) is Decimal else value for value in _CONTENT_VALUES(listing)]
    if listing.quality_flags and (flags := stale_flags(listing)):
        values.append(sorted(flags))
    return blake2b(_CONTENT_ENCODER.encode(values), digest_size=16).hexdigest()


def is_missing(value: Any) -> bool:
    """Whether it is no value: an empty list or set, or None."""
    return value is None or (isinstance(value, (str, list, frozenset)) and not value)


def stale_flags(listing: Listing) -> frozenset[str]:
    """The quality flags that say which values are not of the listing's last page, but the last known ones."""
    return frozenset(flag for flag in listing.quality_flags if flag.startswith(STALE))


def plain(value: Any) -> Any:
    """Return a field's value as a JSON value. Raises TypeError if it has none."""
    for kind, convert in _CONVERTERS.items():
        if isinstance(value, kind):
            return convert(value)
    if isinstance(value, tuple(_AS_IS)):
        return value
    raise TypeError(f"an item cannot have a value of type {type(value).__name__}")


def is_storable_time(value: datetime) -> bool:
    """Whether the time is between the years 1 and 9999 also in UTC. Otherwise a database could not read it again."""
    if value.tzinfo is None:
        return True
    try:
        value.astimezone(UTC)
    except OverflowError:
        return False
    return True


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

"""Rules between the fields of a listing: a table of the rules, and the functions that check them.

An error sends the listing to quarantine: one of its values is certainly wrong, and we do not know which. A value that
is unusual but possible is a warning: the rule's name goes into `quality_flags`. A missing value breaks no rule. Rules
that JSON Schema can express are in schema.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from math import nan
from typing import Literal, NamedTuple

from realestate.items import Listing, is_storable_time
from realestate.pipelines import country_boxes
from realestate.pipelines.medians import Medians


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. Its name is also a quality flag and part of a statistic's name, so it never changes."""

    name: str
    severity: Literal["error", "warning"]
    holds: str
    """What is true for a listing that keeps the rule."""


_RULES = (
    Rule("floor_above_building", "error", "`floor` is at most one above `floors_total`"),
    Rule(
        "floor_under_roof",
        "warning",
        "`floor` is not one above `floors_total`: it may be an attic",
    ),
    Rule("area_impossible", "error", "the area is possible for the `property_type`"),
    Rule("area_unusual", "warning", "the area is usual for the `property_type`"),
    Rule("plot_unusual", "warning", "the plot of a building is between 5 m² and 1 km²"),
    Rule("more_bedrooms_than_rooms", "warning", "`bedrooms` is at most `rooms`, which includes them"),
    Rule("too_many_rooms_for_area", "warning", "a room has at least 3 m²"),
    Rule("price_per_m2_beyond_district", "error", "`price_per_m2` is between 1/50 and 50 times the district's median"),
    Rule("price_per_m2_unlike_district", "warning", "`price_per_m2` is between 1/10 and 10 times that median"),
    Rule("price_tiny", "warning", "`price` is more than a placeholder such as 1"),
    Rule("price_though_on_request", "warning", "a listing with its price on request has no `price`"),
    Rule("charges_of_a_sale", "warning", "only a rent has `charges`"),
    Rule("charges_above_rent", "warning", "`charges` are not higher than the rent"),
    Rule("built_in_future", "warning", "`year_built` is at most ten years ahead"),
    Rule("coordinates_at_zero", "warning", "the coordinates are not 0, 0, which is in the sea"),
    Rule("coordinates_outside_country", "warning", "`latitude` and `longitude` are in the `country`"),
    Rule("date_impossible", "error", "`posted_at` and `updated_at` are between the years 1 and 9999, also in UTC"),
    Rule("date_in_future", "warning", "`posted_at` and `updated_at` are at most one day after the fetch"),
    Rule("date_before_the_web", "warning", "`posted_at` and `updated_at` are later than 1994"),
    Rule("posted_after_updated", "warning", "`posted_at` is at most one day after `updated_at`"),
)
RULES = {rule.name: rule for rule in _RULES}


class Broken(NamedTuple):
    """A rule that a listing breaks."""

    rule: str
    why: str


class Context(NamedTuple):
    """What a check knows besides the listing."""

    now: datetime
    median: float | None
    """The median price per square metre of the place and the kind of home."""


def broken_by(listing: Listing, now: datetime, medians: Medians) -> list[Broken]:
    """Return the rules that the listing breaks, and why. `now` is the time of the fetch."""
    context = Context(now, _median(listing, medians))
    return [broken for check in _CHECKS if (broken := check(listing, context)) is not None]


# --- size ------------------------------------------------------------------------------


class Bounds(NamedTuple):
    """In m². An area outside the inner two is unusual; outside the outer two it is a mistake: a price, centimetres."""

    impossible_below: float
    odd_below: float
    odd_above: float
    impossible_above: float


#: By property_type: bounds of the plot for land, of the living area for all others.
AREAS = {
    "apartment": Bounds(5, 12, 600, 5_000),
    "house": Bounds(8, 25, 1_500, 20_000),
    "room": Bounds(3, 6, 60, 500),
    "office": Bounds(3, 8, 10_000, 200_000),
    "commercial": Bounds(1.5, 5, 30_000, 1_000_000),  # from a kiosk to a distribution centre
    "garage": Bounds(3, 8, 200, 20_000),  # from a motorcycle space to a car park
    "building": Bounds(15, 60, 20_000, 500_000),
    "land": Bounds(1, 30, 1_000_000, 100_000_000),
    "other": Bounds(1, 3, 100_000, 10_000_000),
}
PLOT_M2 = (5, 1_000_000)
ROOM_M2 = 3


def _floor(listing: Listing, context: Context) -> Broken | None:
    floor = listing.floor
    floors = listing.floors_total
    if floor is None or floors is None or floor <= floors:
        return None
    return Broken("floor_under_roof" if floor == floors + 1 else "floor_above_building", f"floor {floor} of {floors}")


def _area(listing: Listing, context: Context) -> Broken | None:
    kind = listing.property_type
    area = listing.plot_m2 if kind == "land" and listing.plot_m2 is not None else listing.area_m2
    if area is None or kind is None:
        return None
    bounds = AREAS[kind]
    if bounds.odd_below <= area <= bounds.odd_above:
        return None
    is_possible = bounds.impossible_below <= area <= bounds.impossible_above
    return Broken("area_unusual" if is_possible else "area_impossible", f"{area} m² for a property of type {kind}")


def _plot(listing: Listing, context: Context) -> Broken | None:
    plot = listing.plot_m2
    if plot is None or listing.property_type == "land" or PLOT_M2[0] <= plot <= PLOT_M2[1]:
        return None
    return Broken("plot_unusual", f"a plot of {plot} m²")


def _rooms(listing: Listing, context: Context) -> Broken | None:
    rooms = listing.rooms
    bedrooms = listing.bedrooms
    area = listing.area_m2
    if rooms is None:
        return None
    if bedrooms is not None and bedrooms > rooms:
        return Broken("more_bedrooms_than_rooms", f"{bedrooms} bedrooms of {rooms} rooms")
    if area is not None and area < rooms * ROOM_M2:
        return Broken("too_many_rooms_for_area", f"{rooms} rooms in {area} m²")
    return None


# --- money -----------------------------------------------------------------------------

#: Times the median: a warning, and an error.
UNLIKE = 10
BEYOND = 50
#: In one district these differ so much that it is no error: a meadow beside building land.
VARIED_TYPES = frozenset({"land", "other"})
#: Flags of prices that are not the full price of a home.
UNUSUAL_PRICES = frozenset({"life_annuity", "public_sale"})
#: No currency is worth more than a few euros, so these are too low for a home in any currency.
LOWEST_SALE = 500
LOWEST_RENT = {"day": 2, "week": 5, "month": 15, "year": 150}


def _median(listing: Listing, medians: Medians) -> float | None:
    if listing.price_per_m2 is None:
        return None
    return medians.of(
        listing.country,
        listing.city,
        listing.district,
        listing.operation,
        listing.property_type,
        listing.rent_period,
        listing.currency,
    )


def _price_per_m2(listing: Listing, context: Context) -> Broken | None:
    """More than fifty times the median is an error: cents taken for euros, a rent for a sale, a wrong unit of area.

    Stored, such a price would distort every average."""
    median = context.median
    if median is None or listing.price_per_m2 is None:
        return None
    price = _float(listing.price_per_m2)
    if median <= price * UNLIKE and price <= median * UNLIKE:
        return None
    is_possible = median <= price * BEYOND and price <= median * BEYOND
    is_possible = (
        is_possible or listing.property_type in VARIED_TYPES or not UNUSUAL_PRICES.isdisjoint(listing.quality_flags)
    )
    why = f"{price:.2f} per m², but the median of {listing.district or listing.city} is {median:.2f}"
    return Broken("price_per_m2_unlike_district" if is_possible else "price_per_m2_beyond_district", why)


def _price(listing: Listing, context: Context) -> Broken | None:
    price = listing.price
    basis = listing.price_basis
    period = listing.rent_period
    if price is None or basis == "per_m2":
        return None
    if basis == "on_request":
        return Broken("price_though_on_request", f"{price} {listing.currency}")
    if _float(price) < (LOWEST_SALE if period is None else LOWEST_RENT[period]):
        return Broken("price_tiny", f"{price} {listing.currency}")
    return None


def _charges(listing: Listing, context: Context) -> Broken | None:
    charges = listing.charges
    price = listing.price
    if charges is None:
        return None
    if listing.operation == "sale":
        return Broken("charges_of_a_sale", f"charges of {charges}")
    if price is not None and _float(charges) > _float(price):
        return Broken("charges_above_rent", f"charges of {charges} on a rent of {price}")
    return None


def _float(amount: Decimal | float) -> float:
    try:
        return float(amount)
    except (ValueError, OverflowError):  # a signalling NaN, an integer too large for a float
        return nan


# --- building and place ----------------------------------------------------------------

#: A home that is sold before it is built is finished within a few years.
YEARS_AHEAD = 10


def _year(listing: Listing, context: Context) -> Broken | None:
    year = listing.year_built
    if year is None or year <= context.now.year + YEARS_AHEAD:
        return None
    return Broken("built_in_future", f"built in {year}")


def _coordinates(listing: Listing, context: Context) -> Broken | None:
    latitude = listing.latitude
    longitude = listing.longitude
    country = listing.country
    if latitude is None or longitude is None:
        return None
    if latitude == 0 and longitude == 0:
        return Broken("coordinates_at_zero", "0, 0")
    if country_boxes.may_contain(country, latitude, longitude):
        return None
    swapped = ", but would be if swapped" if country_boxes.may_contain(country, longitude, latitude) else ""
    return Broken("coordinates_outside_country", f"{latitude}, {longitude} is not in {country}{swapped}")


# --- time ------------------------------------------------------------------------------

#: Clocks differ, and some portals give only the day, in their own time zone.
A_DAY = timedelta(days=1)
#: There were no online adverts before: an earlier date is a mistake, such as the Unix time 0.
FIRST_YEAR_OF_ADVERTS = 1995


def _dates(listing: Listing, context: Context) -> Broken | None:
    for date in (listing.posted_at, listing.updated_at):
        if date is None:
            continue
        if not is_storable_time(date):
            return Broken("date_impossible", f"{date}")
        if date.year < FIRST_YEAR_OF_ADVERTS:
            return Broken("date_before_the_web", f"{date}")
        if _is_a_day_after(date, context.now):
            return Broken("date_in_future", f"{date}")
    return None


def _order_of_dates(listing: Listing, context: Context) -> Broken | None:
    posted = listing.posted_at
    updated = listing.updated_at
    if posted is None or updated is None or not _is_a_day_after(posted, updated):
        return None
    return Broken("posted_after_updated", f"posted {posted}, updated {updated}")


def _is_a_day_after(later: datetime, earlier: datetime) -> bool:
    try:
        return later - earlier > A_DAY
    except TypeError:  # one has no time zone, which the schema reports
        return False


_CHECKS: tuple[Callable[[Listing, Context], Broken | None], ...] = (
    _floor,
    _area,
    _plot,
    _rooms,
    _price_per_m2,
    _price,
    _charges,
    _year,
    _coordinates,
    _dates,
    _order_of_dates,
)

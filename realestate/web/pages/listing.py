"""One listing: its facts, prices and events, time on the market, flags and raw pages."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from realestate.items import Listing
from realestate.storage import FullStore
from realestate.storage.history import Event, PriceSeen
from realestate.storage.homes import HomeLink
from realestate.storage.snapshots import SnapshotRef
from realestate.web.pages.charts import Chart, Series
from realestate.web.pages.formats import Formats, day, words

#: Events that begin and end a stay on the market.
_BEGINS = ("listed", "relisted")
_ENDS = ("delisted", "sold", "rented")
#: Photos of one listing that are shown.
MOST_PHOTOS = 60
#: Other adverts of the same home that are shown.
MOST_ELSEWHERE = 20
#: The facts, by group: field and label.
FACTS: Mapping[str, Sequence[tuple[str, str]]] = {
    "The home": (
        ("property_type", "Type"),
        ("subtype", "Kind"),
        ("area_m2", "Living area"),
        ("plot_m2", "Plot"),
        ("rooms", "Rooms"),
        ("bedrooms", "Bedrooms"),
        ("bathrooms", "Bathrooms"),
        ("floor", "Floor"),
        ("floors_total", "Floors of the building"),
        ("facades", "Free-standing sides"),
        ("year_built", "Built"),
        ("is_new_building", "New building"),
        ("condition", "Condition"),
        ("energy_class", "Energy class"),
        ("energy_kwh_m2", "Energy use"),
        ("heating", "Heating"),
        ("features", "Features"),
        ("has_deed", "Title deed"),
        ("has_mortgage", "Mortgage possible"),
    ),
    "Where": (
        ("street", "Street"),
        ("postal_code", "Postal code"),
        ("district", "District"),
        ("city", "City"),
        ("metro_station", "Metro station"),
        ("region", "Region"),
        ("country", "Country"),
        ("geo_precision", "Place on the map"),
    ),
    "The advert": (
        ("seller_type", "Seller"),
        ("agency_name", "Agency"),
        ("agency_ref", "Reference of the agency"),
        ("charges", "Charges"),
        ("posted_at", "Posted"),
        ("updated_at", "Changed by the seller"),
        ("first_seen_at", "First seen here"),
        ("last_seen_at", "Last seen here"),
        ("last_fetched_at", "Page last read"),
    ),
}
_UNITS = {"area_m2": "m²", "plot_m2": "m²", "energy_kwh_m2": "kWh/m² a year"}
_WORDS = ("property_type", "subtype", "condition", "heating", "geo_precision", "seller_type")
_PLAIN_NUMBERS = ("year_built",)
#: Texts with a smaller part in common are not called alike.
ALIKE = 0.3
#: What two adverts of one home have in common.
_REASONS = {
    "photos_same": "a photo in common",
    "agency_same": "same agency",
    "city_same": "same city",
    "code_same": "same reference of the agency",
    "code_same_agency_unknown": "same reference",
    "district_same": "same district",
    "floor_same": "same floor",
    "floors_same": "same number of floors",
    "in_block": "same block",
    "metro_same": "same metro station",
    "names_same": "same names in the texts",
    "names_same_all": "same names in the texts",
    "names_same_some": "some names in both texts",
    "number_same": "same house number",
    "portal_same": "same portal",
    "price_same": "same price",
    "rooms_same": "same number of rooms",
    "size_rounded": "same area, rounded",
    "size_same_fraction": "same area",
    "size_same_round": "same area, a round number",
    "size_same_whole": "same area",
    "street_same": "same street",
    "wording_same": "same text",
}


@dataclass(frozen=True, slots=True)
class Fact:
    label: str
    value: str


@dataclass(frozen=True, slots=True)
class EventLine:
    """An event in words."""

    at: datetime
    type: str
    text: str = ""
    percent: float | None = None


@dataclass(frozen=True, slots=True)
class Stay:
    """A time on the market."""

    began_at: datetime
    ended_at: datetime | None
    ended_as: str = ""

    def days(self, now: datetime) -> float:
        return ((self.ended_at or now) - self.began_at).total_seconds() / 86400


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Another advert of the same home, and why it is thought to be the same."""

    portal: str
    ref: str
    title: str | None
    status: str
    price: Decimal | None
    currency: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class ListingPage:
    """All that the page of a listing shows."""

    listing: Listing
    events: Sequence[Event]
    prices: Sequence[PriceSeen]
    pages: Sequence[SnapshotRef]
    elsewhere: Sequence["Elsewhere"] = ()

    @property
    def photos(self) -> Sequence[str]:
        return list(self.listing.photos or ())[:MOST_PHOTOS]

    @property
    def is_on_the_market(self) -> bool:
        return self.listing.status in ("active", "reserved")

    @property
    def accepted(self) -> Sequence[PriceSeen]:
        """The prices that were believed, and are comparable with today's."""
        now = self.listing
        return [
            each
            for each in self.prices
            if not each.suspect
            and each.price is not None
            and (each.currency, each.rent_period, each.price_basis) == (now.currency, now.rent_period, now.price_basis)
        ]

    @property
    def change_percent(self) -> float | None:
        """From the first price to today's."""
        prices = [each.price for each in self.accepted if each.price]
        if len(prices) < 2 or not prices[0]:
            return None
        return float((prices[-1] - prices[0]) / prices[0] * 100)

    @property
    def stays(self) -> Sequence[Stay]:
        """The times on the market, the first one first."""
        found: list[Stay] = []
        for event in self.events:
            if event.type in _BEGINS and (not found or found[-1].ended_at):
                found.append(Stay(event.at, None))
            elif event.type in _ENDS and found and not found[-1].ended_at:
                found[-1] = Stay(found[-1].began_at, _ended_at(event), event.type)
        return found

    def chart(self, now: datetime) -> Chart:
        """The price until now, or until it left the market, with what else happened."""
        prices = self.accepted
        times = [each.at.timestamp() for each in prices]
        values = [float(each.price) if each.price is not None else None for each in prices]
        ends = [stay.ended_at for stay in self.stays if stay.ended_at]
        if times:
            until = now if self.is_on_the_market or not ends else max(ends)
            times.append(max(until.timestamp(), times[-1]))
            values.append(values[-1])
        marks = [(each.at.timestamp(), words(each.type)) for each in self.events if each.type in (*_ENDS, "relisted")]
        series = Series("Price", values, "steps", self.listing.currency or "")
        return Chart("price-history", "Price history", times, [series], marks=marks)


def _ended_at(event: Event) -> datetime:
    """When it left: a listing was gone before we noticed."""
    before = event.data.get("before")
    try:
        return datetime.fromisoformat(before) if isinstance(before, str) else event.at
    except ValueError:
        return event.at


def read_listing(store: FullStore, portal: str, ref: str) -> ListingPage | None:
    current = store.current(portal, [ref]).get(ref)
    if current is None:
        return None
    history = store.history(portal, ref)
    return ListingPage(
        current.state.listing,
        history,
        store.prices(portal, ref),
        store.snapshots(portal, ref),
        _elsewhere(store, portal, ref),
    )


def _elsewhere(store: FullStore, portal: str, ref: str) -> list[Elsewhere]:
    """The other adverts of the home, the best link first."""
    home = store.home_of(portal, ref)
    if home is None:
        return []
    own = f"{portal}/{ref}"
    reasons: dict[str, str] = {}
    for link in store.home_links(home):
        if own in (link.a, link.b):
            other = link.b if link.a == own else link.a
            reasons.setdefault(other, _in_words(link))
    found = []
    for member in store.home_members(home):
        current = store.current(member.portal, [member.ref]).get(member.ref) if member.name != own else None
        if current is not None:
            other_listing = current.state.listing
            found.append(
                Elsewhere(
                    member.portal,
                    member.ref,
                    other_listing.title,
                    other_listing.status,
                    other_listing.price,
                    other_listing.currency,
                    reasons.get(member.name, "both are the same home as a third advert"),
                )
            )
    return found[:MOST_ELSEWHERE]


def _in_words(link: HomeLink) -> str:
    """The heaviest reasons for a link, and how sure it is."""
    agreeing = dict.fromkeys(
        reason_in_words(name) for name, weight in link.reasons if weight > 0 and is_in_common(name)
    )
    sure = f"{100 * link.score:.0f}\u00a0% sure"
    return f"{', '.join(list(agreeing)[:4])} ({sure})" if agreeing else sure


def _without_case(name: str) -> str:
    """The comparison alone: some count differently within one block, or where adverts name no agency."""
    return name.removeprefix("in_block_").removeprefix("no_agency_").removeprefix("one_agency_")


def is_in_common(name: str) -> bool:
    """Whether the comparison found something in common. Some that found none count for a link too, beside others."""
    name = _without_case(name)
    if name.startswith("text_alike_"):
        return float(name.rpartition("_")[2]) >= ALIKE
    return name in _REASONS or not re.search("_(differs?|unknown|many)(_|$)", name)


def reason_in_words(name: str) -> str:
    """What two adverts have in common, by the name of the comparison in `homes/scorer.py`."""
    name = _without_case(name)
    what, _, limit = name.rpartition("_")
    match what:
        case "price_within":
            return f"prices within {limit}\u00a0%"
        case "metres":
            return f"within {limit}\u00a0m"
        case "places":
            return "places near each other"
        case "text_alike":
            return "alike texts"
    return _REASONS.get(name, words(name))


def facts_of(listing: Listing, fmt: Formats) -> Mapping[str, Sequence[Fact]]:
    """The facts that are known, by group."""
    groups = {}
    for group, fields in FACTS.items():
        known = [(label, name, getattr(listing, name)) for name, label in fields]
        facts = [
            Fact(label, _shown(name, value, listing, fmt))
            for label, name, value in known
            if value not in (None, frozenset())
        ]
        if facts:
            groups[group] = facts
    return groups


def _shown(name: str, value: Any, listing: Listing, fmt: Formats) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case frozenset():
            return ", ".join(words(each) for each in sorted(value))
        case datetime() | date():
            return day(value)
        case Decimal() if name == "charges":
            return fmt.money(value, listing.currency, 2)
        case int() | float() | Decimal() if name not in _PLAIN_NUMBERS:
            unit = _UNITS.get(name, "")
            return f"{fmt.number(value, 2)}\u00a0{unit}" if unit else fmt.number(value, 2)
        case _:
            return words(str(value)) if name in _WORDS else str(value)


def event_lines(events: Sequence[Event], fmt: Formats) -> list[EventLine]:
    """The events in words, the newest first."""
    return [_line(event, fmt) for event in reversed(events)]


def _line(event: Event, fmt: Formats) -> EventLine:
    data = event.data
    match event.type:
        case "price_changed":
            old, new = (_decimal(data.get(name)) for name in ("old", "new"))
            text = f"{fmt.money(old)} → {fmt.money(new, data.get('currency'))}"
            percent = data.get("percent")
            return EventLine(event.at, event.type, text, percent if isinstance(percent, int | float) else None)
        case "listed":
            return EventLine(event.at, event.type, fmt.money(_decimal(data.get("price")), data.get("currency")))
        case "updated" | "corrected":
            fields = data.get("fields")
            names = [words(name) for name in fields] if isinstance(fields, dict) else []
            return EventLine(event.at, event.type, ", ".join(names))
        case "delisted":
            before = data.get("before")
            return EventLine(event.at, event.type, f"gone before {str(before)[:10]}" if before else "")
        case _:
            return EventLine(event.at, event.type)


def _decimal(value: Any) -> Decimal | None:
    try:
        return None if value is None else Decimal(str(value))
    except ArithmeticError:
        return None


def prices_as_csv(prices: Sequence[PriceSeen]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["at", "price", "currency", "rent_period", "price_basis", "source", "suspect"])
    for each in prices:
        at = each.at.astimezone(UTC).isoformat()
        writer.writerow([at, each.price, each.currency, each.rent_period, each.price_basis, each.source, each.suspect])
    return text.getvalue()

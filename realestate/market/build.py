"""Makes the market figures of a store: reads its homes, listings and events, and stores the figures by week."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from typing import Any

from realestate.market.periods import GAP_DAYS, periods
from realestate.market.weekly import WEEK, HomeFacts, Market, monday, weeks_between
from realestate.storage import FullStore
from realestate.storage.history import Event
from realestate.storage.homes import MarketWeek

Progress = Callable[[str, int], object]
_EVENTS = 5_000
#: Figures of earlier weeks do not change any more: a home that returns later is a new stay.
SETTLED = timedelta(days=GAP_DAYS) + WEEK
#: Fields of a listing that the index compares, beside its size and place.
_COMPARED = ("subtype", "condition", "rooms", "is_new_building", "seller_type")


def build(
    store: FullStore, *, since: date | None = None, progress: Progress = lambda what, count: None
) -> list[MarketWeek]:
    """Make and store the figures of the weeks that are not settled yet, or of all weeks from `since` on.

    Return the figures made. The current week is left out: it is not over."""
    today = store.server_state().now.date()
    homes = store.home_ids()
    market = Market(_homes(store, homes, progress), _periods(store, homes, progress))
    try:
        first = market.first_day()
        last = monday(today) - WEEK
        if first is None or first > last + WEEK:
            return []
        known = store.market_weeks()
        begin = monday(first)
        if since is not None:
            begin = max(begin, monday(since))
        elif known:
            begin = max(begin, monday(max(row.week for row in known) - SETTLED))
        if begin > last:
            return []
        rows = market.weeks(weeks_between(begin, last))
        earlier = [row for row in known if row.week < begin]
        rows = [row for row in market.indexed([*earlier, *rows]) if row.week >= begin]
    finally:
        market.close()
    store.save_market(rows, begin)
    return rows


def _homes(store: FullStore, homes: Mapping[str, str], progress: Progress) -> list[HomeFacts]:
    """Return each home once, with the values that most of its adverts have."""
    found: dict[str, list[dict[str, Any]]] = {}
    count = 0
    for portal in store.counts():
        for record in store.records(portal):
            name = f"{record['portal']}/{record['ref']}"
            found.setdefault(homes.get(name, name), []).append(record)
            count += 1
            if not count % _EVENTS:
                progress("listings", count)
    return [facts for home, records in found.items() if (facts := facts_of(home, records)) is not None]


def facts_of(home: str, records: list[dict[str, Any]]) -> HomeFacts | None:
    """Return what the market needs to know of a home; None if it is not known what it is."""
    kind = _usual(records, "property_type")
    operation = _usual(records, "operation")
    if kind is None or operation is None:
        return None
    district = _usual(records, "district")
    metro = _usual(records, "metro_station")
    compared = tuple(str(_usual(records, name)) for name in _COMPARED)
    areas = sorted(record["area_m2"] for record in records if record["area_m2"])
    return HomeFacts(
        home=home,
        country=records[0]["country"],
        city=_usual(records, "city") or "",
        district=district or "",
        property_type=kind,
        operation=operation,
        area_m2=areas[len(areas) // 2] if areas else None,
        # a metro station may have the name of another district
        words=(f"{_usual(records, 'city')}/{district}" if district else f"metro {metro}", str(metro), *compared),
        has_place=district is not None or metro is not None,
    )


def _usual(records: list[dict[str, Any]], name: str) -> Any:
    values = [record[name] for record in records if record[name] is not None]
    return max(values, key=values.count) if values else None


def _periods(store: FullStore, homes: Mapping[str, str], progress: Progress) -> Iterator[tuple[str, Any]]:
    for period in periods(_events(store, progress)):
        name = f"{period.portal}/{period.ref}"
        yield homes.get(name, name), period


def _events(store: FullStore, progress: Progress) -> Iterator[Event]:
    last = 0
    while found := store.events(last, _EVENTS):
        yield from (each.event for each in found)
        last = found[-1].seq
        progress("events", last)

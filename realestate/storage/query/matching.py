"""Evaluate a filter on one listing in Python: for saved searches, and for what a database cannot evaluate."""

import operator
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from realestate.items import FIELDS, Listing
from realestate.storage.history import Event
from realestate.storage.query.conditions import Box, Comparison, Condition, Filter, Polygon, Words
from realestate.storage.query.fields import TEXT_FIELDS
from realestate.storage.query.folding import has_words

#: The values of one listing by field: those of `QUERY_FIELDS`, and the description.
Facts = Mapping[str, Any]
Matcher = Callable[[Facts, datetime], bool]

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
PRICE_EVENTS = ("price_changed", "price_meaning_changed")


def facts_of(listing: Listing, events: Iterable[Event] = ()) -> dict[str, Any]:
    """Return the values of a stored listing. `events` are its events, the oldest first; the last ones are enough."""
    facts = {name: getattr(listing, name) for name in FIELDS}
    facts["delisted_at"] = listing.delisted_at[1] if listing.delisted_at else None
    facts["photo"] = listing.photos[0] if listing.photos else None
    facts["photo_count"] = len(listing.photos)
    return facts | {"changed_at": listing.first_seen_at, "price_changed_at": None, "cheaper_by": None} | derived(events)


def derived(events: Iterable[Event]) -> dict[str, Any]:
    """Return what follows from events, the oldest first: nothing if there is none."""
    found: dict[str, Any] = {}
    for event in events:
        found["changed_at"] = max(event.at, found.get("changed_at", event.at))
        if event.type in PRICE_EVENTS:
            found["price_changed_at"] = event.at
            found["cheaper_by"] = cheaper_by(event.data.get("percent"))
    return found


def cheaper_by(percent: Any) -> Decimal | None:
    """The percent of an event `price_changed` as DERIVED_MEANING says."""
    return None if percent is None else -Decimal(str(percent)).quantize(Decimal("0.01"))


def matches(filter: Filter, facts: Facts, now: datetime) -> bool:
    """Whether all conditions hold. `now` is the time from which `7d` is counted."""
    return all(_holds(condition, facts, now) for condition in filter)


def matcher(filter: Filter) -> Matcher:
    """Return `matches` for one filter: for those who ask it of many listings."""
    conditions = tuple(filter)

    def holds(facts: Facts, now: datetime) -> bool:
        for condition in conditions:  # noqa: SIM110  # a loop is faster than `all` with a generator
            if not _holds(condition, facts, now):
                return False
        return True

    return holds


def _holds(condition: Condition, facts: Facts, now: datetime) -> bool:
    match condition:
        case Comparison():
            return _compares(condition, facts.get(condition.field), now)
        case Words():
            return has_words(_text_of(condition.field, facts), condition.words)
        case Box() | Polygon():
            longitude, latitude = facts.get("longitude"), facts.get("latitude")
            return longitude is not None and latitude is not None and condition.contains(longitude, latitude)


def _compares(comparison: Comparison, value: Any, now: datetime) -> bool:
    wanted = [now - each if isinstance(each, timedelta) else each for each in comparison.values]
    if compare := _ORDER.get(comparison.operator):
        return value is not None and compare(value, wanted[0])
    if isinstance(value, frozenset):
        found = any(each in value if each is not None else not value for each in wanted)
    else:
        found = value in wanted
    return found if comparison.operator == "=" else not found


def _text_of(field: str, facts: Facts) -> str:
    fields = TEXT_FIELDS if field == "text" else (field,)
    return " ".join(text for name in fields if (text := facts.get(name)))

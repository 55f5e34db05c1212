"""What changed in each portal since a time, counted from its events."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from realestate.storage.history import EventFilter

if TYPE_CHECKING:
    from realestate.storage.store import Store

#: Events that are read at a time.
_PAGE = 2000
#: Type of event -> what it counts as. Price changes are counted by their direction.
COUNTED_AS = {
    "listed": "new",
    "delisted": "gone",
    "sold": "gone",
    "rented": "gone",
    "relisted": "back",
}


@dataclass(slots=True)
class Changes:
    """The number of listings that came, left, or changed their price."""

    new: int = 0
    cheaper: int = 0
    dearer: int = 0
    gone: int = 0
    back: int = 0

    def add(self, type: str, percent: float | None, count: int = 1) -> None:
        """Count events of a type. `percent` says by how much a price changed."""
        if type == "price_changed":
            name = "cheaper" if (percent or 0) < 0 else "dearer"
        elif type in COUNTED_AS:
            name = COUNTED_AS[type]
        else:
            return
        setattr(self, name, getattr(self, name) + count)


def counted(store: "Store", after: int, since: datetime) -> Mapping[str, Changes]:
    """The changes by portal. The events are counted by the store; only price changes are read one by one."""
    found: dict[str, Changes] = {}
    for key, types in store.event_counts(after).items():
        changes = found.setdefault(key.portal, Changes())
        for type in types.keys() & COUNTED_AS.keys():
            changes.add(type, None, types[type])
    for portal, percent in _price_changes(store, after, since):
        found.setdefault(portal, Changes()).add("price_changed", percent)
    return found


def _price_changes(store: "Store", after: int, since: datetime) -> Iterator[tuple[str, float | None]]:
    wanted = EventFilter(type="price_changed", since=since)
    while events := store.events(after, _PAGE, wanted):
        yield from ((each.event.portal, each.event.data.get("percent")) for each in events)
        after = events[-1].seq

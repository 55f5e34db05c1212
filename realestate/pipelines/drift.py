"""Keeps known values of fields that vanish from a portal's pages, and flags their listings.

Before a batch is stored, `FieldWatch` adds its listings to the portal's state (`monitoring.drift`). A listing without a
value of a vanished field gets the flag `stale:<field>`: the store then keeps the value that it has. Listings that were
stored between the first such page and the one that named the field are looked through afterwards: their values are
restored from the history, and they are flagged too. All workers share the state, so one of them does it.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Protocol, cast

from realestate.items import Listing, as_record
from realestate.monitoring.drift import DRIFT, FieldDrift, Vanished, missing_fields, observed
from realestate.storage import Batch, Store, Written
from realestate.storage.changes import stale_flag
from realestate.storage.clock import Seen
from realestate.storage.history import Event, EventFilter
from realestate.storage.maintenance import MaintenanceStore
from realestate.storage.prices import rehashed
from realestate.storage.records import listing_of
from realestate.storage.states import State, StateStore

logger = logging.getLogger(__name__)

#: The listings since the change are looked through when a field is named, and with a later batch once more: another
#: worker may have been storing pages that it read before.
PASSES = 2
#: Events that are read at once.
_EVENTS = 1000


class DriftStore(Store, MaintenanceStore, StateStore, Protocol):
    """What is needed of the store."""


class FieldWatch:
    """The fields of one portal, as one worker sees them. Used in the store's thread."""

    def __init__(self, portal: str) -> None:
        self.portal = portal
        self._name = DRIFT + portal
        self._last: tuple[Batch, FieldDrift] | None = None

    def write(self, store: Store, batch: Batch) -> Written:
        """Flag the batch's listings that lack a vanished field, store the batch, and look through earlier ones. Safe to
        repeat with the same batch: its listings count once."""
        read = [each[0] for each in batch.observed if isinstance(each[0], Listing) and each[0].status == "active"]
        if not read:
            return store.write(batch)
        full = cast("DriftStore", store)
        if self._last is None or self._last[0] is not batch:
            self._last = batch, self._observed(full, read)
        drift = self._last[1]
        flagged = [_flagged(each, drift) for each in batch.observed] if drift.vanished else batch.observed
        written = store.write(replace(batch, observed=flagged))
        self._last = None
        for name, vanished in drift.vanished.items():
            if vanished.flagged < PASSES and self._is_mine(full, name, vanished.flagged):
                self._look_through(full, name, vanished)
        return written

    def _observed(self, store: DriftStore, read: Sequence[Listing]) -> FieldDrift:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        after = store.last_event()
        named: set[str] = set()

        def change(state: State | None) -> State:
            before = state["vanished"] if state else {}
            now = observed(state, read, at, after)
            named.clear()
            named.update(now["vanished"].keys() - before.keys())
            return now

        drift = FieldDrift.from_state(store.change_state(self._name, change))
        for name in sorted(named):
            vanished = drift.vanished[name]
            logger.error(
                "field/vanished: portal=%s field=%s pages=%d since=%s",
                self.portal,
                name,
                vanished.pages,
                vanished.since,
            )
        return drift

    def _is_mine(self, store: DriftStore, name: str, flagged: int) -> bool:
        """Whether this worker is the one that looks through the listings for the time after `flagged`."""
        is_mine = False

        def change(state: State | None) -> State | None:
            nonlocal is_mine
            found = state["vanished"].get(name) if state else None
            is_mine = found is not None and found["flagged"] == flagged
            if found is not None and is_mine:
                found["flagged"] += 1
            return state

        store.change_state(self._name, change)
        return is_mine

    def _look_through(self, store: DriftStore, name: str, vanished: Vanished) -> None:
        """Restore and flag the listings that were stored without the field since the change."""
        old: dict[str, dict[str, Any]] = {}
        after = vanished.after
        while events := store.events(after, _EVENTS, EventFilter(portal=self.portal)):
            for event in events:
                old.setdefault(event.event.ref, {}).update(_lost(event.event, name))
            after = events[-1].seq
        current = store.current(self.portal, sorted(old))
        restored = [
            _restored(each.state.listing, name, old[ref])
            for ref, each in current.items()
            if name in missing_fields(each.state.listing)
        ]
        if restored:
            counts = store.correct(restored, f"drift-{name}")
            logger.info("field/restored: portal=%s field=%s listings=%s", self.portal, name, dict(counts))


def _flagged(observed: Any, drift: FieldDrift) -> Any:
    """The observation; a listing without a value of a vanished field with its flag."""
    item, *rest = observed
    if not isinstance(item, Listing) or not (lost := missing_fields(item) & drift.vanished.keys()):
        return observed
    flags = item.quality_flags | {stale_flag(name) for name in lost}
    return Seen(rehashed(replace(item, quality_flags=flags)), *rest)


def _lost(event: Event, name: str) -> dict[str, Any]:
    """The value that the listing lost by this event, as JSON; of a price also what it means."""
    if event.type == "updated" and name in event.data["fields"]:
        value, now = event.data["fields"][name]
        return {name: value} if not now else {}
    if event.type == "price_meaning_changed" and name == "price" and event.data["new"]["price"] is None:
        return dict(event.data["old"])
    return {}


def _restored(listing: Listing, name: str, old: dict[str, Any]) -> Listing:
    flags = sorted({*listing.quality_flags, stale_flag(name)})
    return rehashed(listing_of({**as_record(listing), **old, "quality_flags": flags}))

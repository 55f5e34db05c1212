"""Writes what was decided, where nobody else has written since it was read.

Listings are copied into a table of our own first. One string of statements does the rest on the server, under a lock
that ends with their transaction. So no two merges meet: none waits for another's rows while it holds some of its own,
and events are numbered in the order in which they become visible. The lock is never held while a worker thinks.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from realestate.items import Gone
from realestate.storage.history import Outcome, State
from realestate.storage.postgres import quarantine
from realestate.storage.postgres.connection import Connection, Duplicate
from realestate.storage.postgres.copying import copy, encoded
from realestate.storage.postgres.rows import arrays, as_json, fields_of, joined
from realestate.storage.postgres.statements import COPY, HISTORY, LOCK, PRICE, STAGE, TOLD, TOUCHED, statement
from realestate.storage.snapshots import SnapshotRef
from realestate.storage.storable import storable
from realestate.storage.store import Quarantined
from realestate.storage.tally import Key


@dataclass(slots=True)
class Change:
    """What became of a listing."""

    before: State | None
    outcome: Outcome
    run: str
    seen: bool = False
    read: bool = False
    unseen_since: datetime | None = None
    """Void if the listing was seen later than this."""

    def row(self) -> Sequence[Any]:
        state = self.outcome.state
        assert state is not None
        price, run = (state.suspect.price, state.suspect.run) if state.suspect else (None, None)
        expected = self.before.revision if self.before else None
        beside = (state.revision, self.run, price, run, expected, self.seen, self.read, self.unseen_since)
        return (*fields_of(state.listing), *beside)


class Touch(NamedTuple):
    """A listing that was seen as it is."""

    portal: str
    ref: str
    revision: int
    last_run: str
    read: bool


@dataclass(frozen=True, slots=True)
class Merged:
    lost: set[Key]
    """Listings that somebody else has written meanwhile."""
    events: Counter[str]
    """Made, by type."""


@dataclass(slots=True)
class Merge:
    """All that one batch writes. Who is new was first seen `now`."""

    now: datetime | None = None
    changes: list[Change] = field(default_factory=list)
    touches: list[Touch] = field(default_factory=list)
    departures: list[tuple[Gone, str]] = field(default_factory=list)
    quarantined: Sequence[Quarantined] = ()
    snapshots: Sequence[SnapshotRef] = ()

    def into(self, connection: Connection) -> Merged:
        """Nearly always nothing of it is there already, and not to look for that saves much: a listing may have been
        added by another worker just now, an event be left over from one that was deleted without its history."""
        try:
            return self._into(connection)
        except Duplicate:
            return self._into(connection, "careful")

    def _into(self, connection: Connection, *how: str) -> Merged:
        what, parameters = self._what(), self._parameters()
        with connection.cursor() as cursor:
            if self.changes:
                connection.once(STAGE)
                copy(cursor, COPY, (change.row() for change in self.changes))
            cursor.execute(statement(*how, *what), {"lock": LOCK, "now": self.now, **parameters})
            lost, told = msgspec.json.decode(cursor.fetchone()[0])
        return Merged({(portal, ref) for portal, ref in lost or ()}, Counter(told or {}))

    def _what(self) -> list[str]:
        parts: dict[str, object] = {"touched": self.touches, "departed": self.departures}
        parts |= {"quarantined": self.quarantined, "snapped": self.snapshots}
        written = sorted({"added" if change.before is None else "changed" for change in self.changes})
        return written + [name for name, part in parts.items() if part]

    def _parameters(self) -> dict[str, str]:
        found: dict[str, str] = {}
        if self.changes:
            history = [row for change in self.changes for row in _history_rows(change.outcome)]
            found |= arrays("history", HISTORY, history)
        if self.touches:
            found |= arrays("touched", TOUCHED, self.touches)
        if self.departures:
            found["departed"] = as_json(joined(gone, {"run": run}) for gone, run in self.departures)
        if self.quarantined:
            found["quarantined"] = as_json(map(quarantine.row, self.quarantined))
        if self.snapshots:
            found["snapped"] = as_json(encoded(storable(asdict(each))) for each in self.snapshots)
        return found


def _history_rows(outcome: Outcome) -> Iterator[Sequence[Any]]:
    """An event and a price of one revision share a row."""
    prices = {price.revision: price for price in outcome.prices}
    for event in outcome.events:
        price = prices.pop(event.revision, None)
        yield (*_told(event), event.type, encoded(event.data).decode(), *(_paid(price) if price else _NO_PRICE))
    for price in prices.values():
        yield (*_told(price), None, None, *_paid(price))


_told = attrgetter(*TOLD)
_paid = attrgetter(*(name for name in PRICE if name not in TOLD))
_NO_PRICE = (None,) * (len(PRICE) - len(TOLD))

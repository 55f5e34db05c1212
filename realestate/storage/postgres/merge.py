"""Writes what was decided, where nobody else has written since it was read.

Rows are copied into tables of our own first. One string of statements does the rest on the server, under a lock that
ends with their transaction. So no two merges meet: none waits for another's rows while it holds some of its own, and
events are numbered in the order in which they become visible. The lock is never held while a worker thinks.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any

import msgspec

from realestate.items import Gone
from realestate.storage.history import Event, Outcome, PriceSeen, State
from realestate.storage.postgres import quarantine
from realestate.storage.postgres.connection import Connection
from realestate.storage.postgres.copying import copy
from realestate.storage.postgres.erased import stays_away
from realestate.storage.postgres.rows import COLUMNS, as_json, encoded, fields_of, joined, recordset
from realestate.storage.store import Quarantined

Key = tuple[str, str]
#: Any number nobody else takes as an advisory lock in this database.
_LOCK = 0x7772697465  # "write"

_KEY = {"portal": "text", "ref": "text"}
_BESIDE = {"revision": "integer", "last_run": "text", "suspect_price": "numeric(14, 2)", "suspect_run": "text"}
_WRITTEN = {**COLUMNS, **_BESIDE}
_STAGED = {**_WRITTEN, "expected": "integer", "seen": "boolean", "read": "boolean", "unseen_since": "timestamptz"}
_TOLD = {**_KEY, "revision": "integer", "at": "timestamptz", "run": "text"}
_EVENT = {**_TOLD, "type": "text", "data": "jsonb"}
_PRICE = {**_TOLD, "source": "text", "price": "numeric(14, 2)", "currency": "text", "price_basis": "text"}
_PRICE |= {"rent_period": "text", "suspect": "boolean"}
#: Events and prices share a table: each has its half.
_HISTORY = {"place": "integer", **_EVENT, **_PRICE}
_TOUCHED = {**_KEY, "revision": "integer", "last_run": "text", "read": "boolean"}
_DEPARTURE = {**_KEY, "run": "text", "evidence": "text", "detail": "text", "url": "text"}


def _table(name: str, columns: dict[str, str]) -> str:
    typed = ", ".join(f"{column} {type}" for column, type in columns.items())
    return f"CREATE TEMPORARY TABLE {name} ({typed}) ON COMMIT DELETE ROWS"


#: Made once a connection.
_TABLES = f"{_table('staged', _STAGED)}; {_table('history', _HISTORY)}"
_COPY_STAGED = f"BEGIN; COPY staged ({', '.join(_STAGED)}) FROM STDIN"
_COPY_HISTORY = f"COPY history ({', '.join(_HISTORY)}) FROM STDIN"

#: A listing may have been seen by another worker, later than by us.
_SEEN_NOW = "greatest(known.last_seen_at, clock.now)"
_READ_NOW = "greatest(known.last_fetched_at, clock.now)"

_CHANGES = f"""
    added AS (
        INSERT INTO listings ({", ".join(_WRITTEN)}, first_seen_at, last_seen_at, last_fetched_at)
        SELECT {", ".join(_WRITTEN)}, %(now)s, %(now)s, %(now)s FROM staged
        WHERE expected IS NULL AND NOT {stays_away("staged")}
        ON CONFLICT (portal, ref) DO NOTHING RETURNING portal, ref
    ),
    changed AS (
        UPDATE listings AS known SET
            {", ".join(f"{name} = staged.{name}" for name in _WRITTEN if name not in (*_KEY, "last_run"))},
            last_seen_at = CASE WHEN staged.seen THEN {_SEEN_NOW} ELSE known.last_seen_at END,
            last_fetched_at = CASE WHEN staged.read THEN {_READ_NOW} ELSE known.last_fetched_at END,
            last_run = CASE WHEN staged.seen THEN staged.last_run ELSE known.last_run END
        FROM staged, clock
        WHERE known.portal = staged.portal AND known.ref = staged.ref AND known.revision = staged.expected
          AND (staged.unseen_since IS NULL OR known.last_seen_at <= staged.unseen_since)
        RETURNING known.portal, known.ref
    ),
    applied AS (SELECT * FROM added UNION ALL SELECT * FROM changed),
    told AS (
        INSERT INTO events ({", ".join(_EVENT)})
        SELECT {", ".join(_EVENT)} FROM history JOIN applied USING (portal, ref) WHERE type IS NOT NULL ORDER BY place
        ON CONFLICT (portal, ref, revision, type) DO NOTHING RETURNING type
    ),
    priced AS (
        INSERT INTO prices ({", ".join(_PRICE)})
        SELECT {", ".join(_PRICE)} FROM history JOIN applied USING (portal, ref) WHERE source IS NOT NULL
        ON CONFLICT (portal, ref, revision) DO NOTHING
    )"""
_TOUCHES = f"""
    touches AS MATERIALIZED (SELECT * FROM {recordset("touched", _TOUCHED)}),
    touched AS (
        UPDATE listings AS known SET last_seen_at = {_SEEN_NOW}, last_run = touches.last_run,
            last_fetched_at = CASE WHEN touches.read THEN {_READ_NOW} ELSE known.last_fetched_at END
        FROM touches, clock
        WHERE known.portal = touches.portal AND known.ref = touches.ref AND known.revision = touches.revision
        RETURNING known.portal, known.ref
    )"""
_DEPARTURES = f"""
    departed AS (
        INSERT INTO departures ({", ".join(_DEPARTURE)}, at) SELECT {", ".join(_DEPARTURE)}, clock.now
        FROM {recordset("departed", _DEPARTURE)}, clock WHERE NOT {stays_away("departed")} ON CONFLICT DO NOTHING
    )"""
_LOST = "SELECT portal, ref FROM {given} EXCEPT SELECT portal, ref FROM {applied}"


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Touch:
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

    def into(self, connection: Connection) -> Merged:
        parameters = self._parameters()
        with connection.cursor() as cursor:
            if self.changes:
                connection.once(_TABLES)
                copy(cursor, _COPY_STAGED, (change.row() for change in self.changes))
                copy(cursor, _COPY_HISTORY, self._history())
            parts = (bool(self.changes), *parameters)
            cursor.execute(_statement(*parts), {"lock": _LOCK, "now": self.now, **parameters})
            lost, told = msgspec.json.decode(cursor.fetchone()[0])
        return Merged({(portal, ref) for portal, ref in lost or ()}, Counter(told or {}))

    def _history(self) -> Iterator[Sequence[Any]]:
        told: list[Event | PriceSeen] = []
        for change in self.changes:
            told += change.outcome.events
            told += change.outcome.prices
        return (_history_row(place, each) for place, each in enumerate(told))

    def _parameters(self) -> dict[str, str]:
        found = {}
        if self.touches:
            found["touched"] = as_json(map(encoded, self.touches))
        if self.departures:
            found["departed"] = as_json(joined(gone, {"run": run}) for gone, run in self.departures)
        if self.quarantined:
            found["quarantined"] = as_json(map(quarantine.row, self.quarantined))
        return found


def _history_row(place: int, told: Event | PriceSeen) -> Sequence[Any]:
    head = (place, told.portal, told.ref, told.revision, told.at, told.run)
    if isinstance(told, Event):
        return (*head, told.type, encoded(told.data).decode(), None, None, None, None, None, None)
    money = (told.price, told.currency, told.price_basis, told.rent_period)
    return (*head, None, None, told.source, *money, told.suspect)


@cache
def _statement(has_changes: bool, *parameters: str) -> str:
    """Only of what there is: PostgreSQL plans every part. What came of it outlives the transaction in a setting, so
    that the same round trip can answer it after the commit."""
    parts, lost, told = ["clock AS MATERIALIZED (SELECT clock_timestamp() AS now)"], [], "NULL"
    if has_changes:
        parts.append(_CHANGES)
        lost.append(_LOST.format(given="staged", applied="applied"))
        told = "(SELECT json_object_agg(type, times) FROM (SELECT type, count(*) AS times FROM told GROUP BY 1) AS t)"
    if "touched" in parameters:
        parts.append(_TOUCHES)
        lost.append(_LOST.format(given="touches", applied="touched"))
    if "departed" in parameters:
        parts.append(_DEPARTURES)
    if "quarantined" in parameters:
        parts.append(quarantine.INSERT)
    keys = " UNION ALL ".join(f"({each})" for each in lost) or "SELECT NULL AS portal, NULL AS ref WHERE false"
    answer = f"json_build_array((SELECT json_agg(json_build_array(portal, ref)) FROM ({keys}) AS lost), {told})::text"
    return f"""
        {"" if has_changes else "BEGIN;"} SELECT pg_advisory_xact_lock(%(lock)s);
        WITH {", ".join(parts)} SELECT set_config('realestate.merged', {answer}, false);
        COMMIT; SELECT current_setting('realestate.merged')
    """

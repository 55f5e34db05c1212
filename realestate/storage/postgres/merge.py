"""The statements that write one batch."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple, Self

import msgspec

from realestate.items import Gone
from realestate.storage.batch import NOT_SEEN, Key, Times
from realestate.storage.history import Outcome, State
from realestate.storage.postgres.connection import Connection, Duplicate
from realestate.storage.postgres.rows import (
    COLUMNS,
    SEARCHED,
    arrays,
    as_json,
    copy,
    encoded,
    fields_of,
    joined,
    recordset,
    searched,
    unnested,
)
from realestate.storage.records import erased_name
from realestate.storage.sanitize import fingerprint, storable
from realestate.storage.snapshots import SnapshotRef
from realestate.storage.store import Quarantined


def is_erased(row: str) -> str:
    """An SQL condition: the listing of this row was erased."""
    return f"EXISTS (SELECT FROM erased WHERE kind = 'listing' AND what = {row}.portal || '/' || {row}.ref)"


def erased_among(connection: Connection, keys: Iterable[Key]) -> set[Key]:
    names = {erased_name(*key): key for key in keys}
    with connection.cursor() as cursor:
        cursor.execute("SELECT what FROM erased WHERE kind = 'listing' AND what = ANY (%s)", (list(names),))
        return {names[what] for (what,) in cursor}


_QUARANTINE = {
    "portal": "text",
    "fingerprint": "text",
    "ref": "text",
    "url": "text",
    "errors": "jsonb",
    "record": "jsonb",
}
#: A part of a statement.
_INSERT_QUARANTINED = f"""
    kept AS (
        INSERT INTO quarantine ({", ".join(_QUARANTINE)}) SELECT {", ".join(_QUARANTINE)}
        FROM {recordset("quarantined", _QUARANTINE)} WHERE NOT {is_erased("quarantined")}
        ON CONFLICT (portal, fingerprint) DO NOTHING
    )"""


def _quarantine_row(item: Quarantined) -> bytes:
    """Return an entry as JSON. With its fingerprint, the same fault is kept once."""
    errors = storable(list(item.errors))
    record = storable(dict(item.record))
    identity = {"portal": item.portal, "ref": item.ref, "url": item.url}
    name = fingerprint([errors, record])
    return encoded({**storable(identity), "errors": errors, "record": record, "fingerprint": name})


#: The number of our advisory lock.
LOCK = 0x7772697465  # "write"

_KEY = {"portal": "text", "ref": "text"}
_BESIDE = {"revision": "integer", "last_job": "text", "suspect_price": "numeric(14, 2)", "suspect_job": "text"}
_WRITTEN = {**COLUMNS, **_BESIDE, **SEARCHED}
#: The times of the fetches, and what must not have changed since the listing was read: its revision and two times.
_TIMES = dict.fromkeys(("first_at", "seen_at", "read_at", "sighted_at"), "timestamptz")
_EXPECTED = {"expected": "integer", "fetched_before": "timestamptz", "sighted_before": "timestamptz"}
STAGED = {**_WRITTEN, **_TIMES, **_EXPECTED, "unseen_since": "timestamptz"}
OF_EVENT = {**_KEY, "revision": "integer", "at": "timestamptz", "job": "text"}
_EVENT = {**OF_EVENT, "type": "text", "data": "jsonb"}
PRICE = {
    **OF_EVENT,
    "source": "text",
    "price": "numeric(14, 2)",
    "currency": "text",
    "price_basis": "text",
    "rent_period": "text",
    "suspect": "boolean",
}
#: Events and prices share a table.
HISTORY = {**_EVENT, **PRICE}
TOUCHED = {
    **_KEY,
    "revision": "integer",
    "last_job": "text",
    "seen_at": "timestamptz",
    "read_at": "timestamptz",
    "sighted_at": "timestamptz",
}
_SNAPSHOT = {
    **_KEY,
    "url": "text",
    "stage": "text",
    "job": "text",
    "kind": "text",
    "status": "integer",
    "fetched_at": "timestamptz",
    "file": "text",
    '"offset"': "bigint",
    "length": "bigint",
    "digest": "text",
}
_DEPARTURE = {**_KEY, "job": "text", "evidence": "text", "detail": "text", "url": "text", "at": "timestamptz"}


#: A temporary table of the connection.
STAGE = f"""
    CREATE TEMPORARY TABLE staged ({", ".join(f"{column} {type}" for column, type in STAGED.items())})
    ON COMMIT DELETE ROWS
"""
COPY = f"BEGIN; COPY staged ({', '.join(STAGED)}) FROM STDIN"


def _times_of(given: str) -> str:
    """SQL that sets the times of a listing. Another worker may have seen the listing later than this one."""
    return f"""
            last_job = CASE WHEN {given}.seen_at >= known.last_seen_at THEN {given}.last_job ELSE known.last_job END,
            last_seen_at = greatest(known.last_seen_at, {given}.seen_at),
            last_fetched_at = greatest(known.last_fetched_at, {given}.read_at),
            price_sighted_at = greatest(known.price_sighted_at, {given}.sighted_at)
    """


_ADDED = f"""
    added AS (
        INSERT INTO listings ({", ".join(_WRITTEN)}, first_seen_at, last_seen_at, last_fetched_at, price_sighted_at)
        SELECT {", ".join(_WRITTEN)}, first_at, greatest(first_at, seen_at), greatest(first_at, read_at), sighted_at
        FROM staged WHERE expected IS NULL AND NOT {is_erased("staged")}
        {{unless}} RETURNING portal, ref
    )"""
_CHANGED = f"""
    changed AS (
        UPDATE listings AS known SET
            {", ".join(f"{name} = staged.{name}" for name in _WRITTEN if name not in (*_KEY, "last_job"))},
            {_times_of("staged")}
        FROM staged
        WHERE known.portal = staged.portal AND known.ref = staged.ref AND known.revision = staged.expected
          AND known.last_fetched_at = staged.fetched_before
          AND known.price_sighted_at IS NOT DISTINCT FROM staged.sighted_before
          AND (staged.unseen_since IS NULL OR known.last_seen_at <= staged.unseen_since)
        RETURNING known.portal, known.ref
    )"""
_HISTORY_OF = f"""
    history AS MATERIALIZED (SELECT * FROM {unnested("history", HISTORY)}),
    logged AS (
        INSERT INTO events ({", ".join(_EVENT)})
        SELECT {", ".join(_EVENT)} FROM history JOIN applied USING (portal, ref) WHERE type IS NOT NULL ORDER BY place
        {{unless}} RETURNING type
    ),
    priced AS (
        INSERT INTO prices ({", ".join(PRICE)})
        SELECT {", ".join(PRICE)} FROM history JOIN applied USING (portal, ref) WHERE source IS NOT NULL {{unless}}
    )"""
_TOUCHES = f"""
    touches AS MATERIALIZED (SELECT * FROM {unnested("touched", TOUCHED)}),
    touched AS (
        UPDATE listings AS known SET {_times_of("touches")}
        FROM touches
        WHERE known.portal = touches.portal AND known.ref = touches.ref AND known.revision = touches.revision
        RETURNING known.portal, known.ref
    )"""
_DEPARTURES = f"""
    departed AS (
        INSERT INTO departures ({", ".join(_DEPARTURE)}) SELECT {", ".join(_DEPARTURE)}
        FROM {recordset("departed", _DEPARTURE)} WHERE NOT {is_erased("departed")} ON CONFLICT DO NOTHING
    )"""
_SNAPSHOTS = f"""
    snapped AS (
        INSERT INTO snapshots ({", ".join(_SNAPSHOT)})
        SELECT * FROM {recordset("snapped", _SNAPSHOT)} ON CONFLICT DO NOTHING
    )"""
_PARTS = {
    "added": _ADDED,
    "changed": _CHANGED,
    "touched": _TOUCHES,
    "departed": _DEPARTURES,
    "quarantined": _INSERT_QUARANTINED,
    "snapped": _SNAPSHOTS,
}
_LOST = "SELECT portal, ref FROM {given} EXCEPT SELECT portal, ref FROM {applied}"


@cache
def statement(*what: str) -> str:
    """Return a statement with these parts only, because PostgreSQL plans every part. The result is kept in a setting,
    so that the same round trip can return it after the commit."""
    lost = []
    events = "NULL"
    unless = "ON CONFLICT DO NOTHING" if "careful" in what else ""
    parts = [sql.format(unless=unless) for name, sql in _PARTS.items() if name in what]
    written = [f"SELECT portal, ref FROM {name}" for name in ("added", "changed") if name in what]
    if applied := " UNION ALL ".join(written):
        parts += [f"applied AS ({applied})", _HISTORY_OF.format(unless=unless)]
        lost.append(_LOST.format(given="staged", applied="applied"))
        events = """(
            SELECT json_object_agg(type, times) FROM (SELECT type, count(*) AS times FROM logged GROUP BY 1) AS counted
        )"""
    if "touched" in what:
        lost.append(_LOST.format(given="touches", applied="touched"))
    keys = " UNION ALL ".join(f"({each})" for each in lost) or "SELECT NULL AS portal, NULL AS ref WHERE false"
    result = f"json_build_array((SELECT json_agg(json_build_array(portal, ref)) FROM ({keys}) AS lost), {events})::text"
    return f"""
        {"" if applied else "BEGIN;"} SET LOCAL enable_seqscan = off; SELECT pg_advisory_xact_lock(%(lock)s);
        WITH {", ".join(parts)} SELECT set_config('realestate.merged', {result}, false);
        COMMIT; SELECT current_setting('realestate.merged')
    """


@dataclass(slots=True)
class Change:
    """The change of one listing."""

    before: State | None
    outcome: Outcome
    job: str
    times: Times = NOT_SEEN
    unseen_since: datetime | None = None
    """Not applied if the listing was seen later than this."""

    def row(self) -> Sequence[Any]:
        state = self.outcome.state
        assert state is not None
        price, job = (state.suspect.price, state.suspect.job) if state.suspect else (None, None)
        times = (state.listing.first_seen_at, self.times.seen, self.times.read, self.times.price_sighted)
        beside = (
            state.revision,
            self.job,
            price,
            job,
            *searched(state.listing),
            *times,
            *self._expected(),
            self.unseen_since,
        )
        return (*fields_of(state.listing), *beside)

    def _expected(self) -> Sequence[Any]:
        if self.before is None:
            return (None, None, None)
        return (self.before.revision, self.before.listing.last_fetched_at, self.before.price_sighted_at)


class Touch(NamedTuple):
    """A listing that was seen unchanged."""

    portal: str
    ref: str
    revision: int
    last_job: str
    seen_at: datetime | None
    read_at: datetime | None
    sighted_at: datetime | None

    @classmethod
    def of(cls, key: Key, revision: int, times: Times) -> Self:
        return cls(*key, revision, times.job, times.seen, times.read, times.price_sighted)


@dataclass(frozen=True, slots=True)
class Merged:
    lost: set[Key]
    """Listings that were not written, because another worker has written them meanwhile."""
    events: Counter[str]
    """New events, by type."""


@dataclass(slots=True)
class Merge:
    """All that one batch writes."""

    changes: list[Change] = field(default_factory=list)
    touches: list[Touch] = field(default_factory=list)
    departures: list[tuple[Gone, str, datetime]] = field(default_factory=list)
    quarantined: Sequence[Quarantined] = ()
    snapshots: Sequence[SnapshotRef] = ()

    def into(self, connection: Connection) -> Merged:
        """Write the batch. The first try does not check for rows that exist already, because that takes much longer.
        They are rare: another worker has just added the listing, or old events of a deleted listing are left."""
        try:
            return self._into(connection)
        except Duplicate:
            return self._into(connection, "careful")

    def _into(self, connection: Connection, *how: str) -> Merged:
        what = self._what()
        parameters = self._parameters()
        if not what:
            return Merged(set(), Counter())
        with connection.cursor() as cursor:
            if self.changes:
                connection.once(STAGE)
                copy(cursor, COPY, (change.row() for change in self.changes))
            cursor.execute(statement(*how, *what), {"lock": LOCK, **parameters})
            lost, events = msgspec.json.decode(cursor.fetchone()[0])
        return Merged({(portal, ref) for portal, ref in lost or ()}, Counter(events or {}))

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
            found["departed"] = as_json(joined(gone, {"job": job, "at": at}) for gone, job, at in self.departures)
        if self.quarantined:
            found["quarantined"] = as_json(map(_quarantine_row, self.quarantined))
        if self.snapshots:
            found["snapped"] = as_json(encoded(storable(asdict(each))) for each in self.snapshots)
        return found


def _history_rows(outcome: Outcome) -> Iterator[Sequence[Any]]:
    """An event and a price of one revision share a row."""
    prices = {price.revision: price for price in outcome.prices}
    for event in outcome.events:
        price = prices.pop(event.revision, None)
        paid = _paid(price) if price else _NO_PRICE
        yield (*_event_columns(event), event.type, encoded(event.data).decode(), *paid)
    for price in prices.values():
        yield (*_event_columns(price), None, None, *_paid(price))


_event_columns = attrgetter(*OF_EVENT)
_paid = attrgetter(*(name for name in PRICE if name not in OF_EVENT))
_NO_PRICE = (None,) * (len(PRICE) - len(OF_EVENT))

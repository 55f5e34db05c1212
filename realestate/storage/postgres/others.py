"""What is no home, in PostgreSQL: one table for all kinds, written under the same lock as listings, so that its events
are numbered among theirs in the order in which they become visible. See `merge`."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

import msgspec

from realestate.items.others import Other
from realestate.storage.others import Decided, StoredOther, decide
from realestate.storage.postgres.connection import Connection
from realestate.storage.postgres.copying import encoded
from realestate.storage.postgres.erased import erased_among, stays_away
from realestate.storage.postgres.rows import as_json, recordset
from realestate.storage.postgres.statements import LOCK
from realestate.storage.tally import Key, Tally

#: Rows of one answer, where all are asked for.
_PAGE = 1000

COLUMNS = tuple(each.name for each in fields(StoredOther))
_LISTED = ", ".join(COLUMNS)
_GIVEN = {"kind": "text", "portal": "text", "ref": "text", "url": "text", "data": "jsonb", "revision": "integer"}
_GIVEN |= {"last_run": "text", "expected": "integer", "type": "text", "told": "jsonb"}
_KNOWN = f"""
    SELECT clock.now, {_LISTED} FROM (SELECT now() AS now) AS clock LEFT JOIN (
        SELECT {_LISTED} FROM unnest(%s::text[], %s::text[]) AS asked (portal, ref) JOIN others USING (portal, ref)
    ) AS known ON true
"""
#: What came of it outlives the transaction in a setting: the lock is not held while an answer is on its way.
_MERGE = f"""
    BEGIN; SELECT pg_advisory_xact_lock(%(lock)s);
    WITH given AS MATERIALIZED (SELECT * FROM {recordset("given", _GIVEN)}),
    clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
    added AS (
        INSERT INTO others ({_LISTED})
        SELECT kind, portal, ref, url, data, revision, %(now)s, %(now)s, last_run FROM given
        WHERE expected IS NULL AND NOT {stays_away("given")} ON CONFLICT DO NOTHING RETURNING portal, ref
    ),
    changed AS (
        UPDATE others AS known SET kind = given.kind, url = given.url, data = given.data, revision = given.revision,
            last_seen_at = greatest(known.last_seen_at, clock.now), last_run = given.last_run
        FROM given, clock
        WHERE (known.portal, known.ref, known.revision) = (given.portal, given.ref, given.expected)
        RETURNING known.portal, known.ref
    ),
    applied AS (SELECT portal, ref FROM added UNION ALL SELECT portal, ref FROM changed),
    told AS (
        INSERT INTO events (portal, ref, revision, type, at, run, data)
        SELECT portal, ref, revision, type, %(now)s, last_run, told FROM given JOIN applied USING (portal, ref)
        WHERE type IS NOT NULL ON CONFLICT DO NOTHING RETURNING type
    )
    SELECT set_config('realestate.merged', json_build_array(
        (SELECT json_agg(json_build_array(portal, ref)) FROM applied), (SELECT json_agg(type) FROM told))::text, false);
    COMMIT; SELECT current_setting('realestate.merged')
"""


class OthersKept:
    """The part of the store that is asked for what is no home."""

    connection: Connection

    def others(self, portal: str) -> Iterator[StoredOther]:
        """In pages: who reads slowly holds up nobody."""
        page = f"SELECT {_LISTED} FROM others WHERE portal = %s AND ref > %s ORDER BY ref LIMIT {_PAGE}"
        last = ""
        while rows := self._page_of_others(page, portal, last):
            yield from rows
            last = rows[-1].ref

    def _page_of_others(self, page: str, *values: str) -> list[StoredOther]:
        with self.connection.cursor() as cursor:
            cursor.execute(page, values)
            return [StoredOther(*row) for row in cursor]


def observe_others(connection: Connection, tally: Tally, others: Mapping[Key, tuple[Other, str]]) -> set[Key]:
    """Those that somebody else has written meanwhile."""
    now, known = _known(connection, others)
    decided = [decide(known.get(key), other, run, now) for key, (other, run) in others.items()]
    with connection.cursor() as cursor:
        cursor.execute(_MERGE, {"lock": LOCK, "now": now, "given": as_json(map(_given, decided))})
        applied, told = msgspec.json.decode(cursor.fetchone()[0])
    done = {(portal, ref) for portal, ref in applied or ()}
    tally.others += len(done)
    tally.events.update(told or ())
    lost = others.keys() - done
    return lost - erased_among(connection, lost) if lost else set()


def _known(connection: Connection, keys: Mapping[Key, object]) -> tuple[datetime, dict[Key, StoredOther]]:
    with connection.cursor() as cursor:
        cursor.execute(_KNOWN, ([portal for portal, _ in keys], [ref for _, ref in keys]))
        rows = cursor.fetchall()
    known = [StoredOther(*row) for _, *row in rows if row[0] is not None]
    return rows[0][0], {(each.portal, each.ref): each for each in known}


def _given(decided: Decided) -> bytes:
    after, event = decided.after, decided.event
    told: dict[str, Any] = {name: getattr(after, name) for name in _GIVEN if name in COLUMNS}
    told["expected"] = decided.before.revision if decided.before else None
    return encoded(told | ({"type": event.type, "told": event.data} if event else {}))

"""Write listings and other kinds: read what is stored, decide, merge.

What another worker changed meanwhile is read and decided again.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

import msgspec

from realestate.items import Listing, Sighting
from realestate.storage.batch import Key, Observations, Tally, Times, by_listing, times_of
from realestate.storage.changes import OFF_THE_MARKET, SAME, add_late_prices, correct, decide, fetched, release
from realestate.storage.clock import Now, steady
from realestate.storage.errors import StoreError
from realestate.storage.history import Outcome, PriceSeen, State
from realestate.storage.maintenance import SLACK, Current
from realestate.storage.other_kinds import Decided, SeenOther, StoredOther, decide_other, last_of_each
from realestate.storage.postgres.connection import Connection, Refused, Statements
from realestate.storage.postgres.merge import LOCK, Change, Merge, Touch, erased_among, is_erased
from realestate.storage.postgres.rows import COLUMNS, STATE, arrays, as_json, encoded, recordset, state_of, unnested
from realestate.storage.store import Batch, Written

#: What a sighting may show.
_SHOWN = ("price", "currency", "price_basis", "rent_period", "status")
_ASKED = {"portal": "text", "ref": "text", "whole": "boolean", "price": "numeric"}
_ASKED |= {name: COLUMNS[name] for name in (*_SHOWN[1:], *SAME)}
_AS_BEFORE = ", ".join(f"asked.{name}" for name in SAME), ", ".join(f"known.{name}" for name in SAME)
_AS_SHOWN = " AND ".join(f"coalesce(asked.{name} = known.{name}, asked.{name} IS NULL)" for name in _SHOWN)
#: Whether the listing is unchanged: the fields of `changes.SAME`, or what a sighting shows, are as stored.
_UNCHANGED = f"""
    NOT asked.whole AND known.revision > 0 AND known.suspect_price IS NULL AND known.status <> ALL (%(off_the_market)s)
    AND CASE WHEN asked.content_hash IS NULL THEN {_AS_SHOWN}
        ELSE ({_AS_BEFORE[0]}) IS NOT DISTINCT FROM ({_AS_BEFORE[1]}) END
"""
#: The first row has the time, and places and revisions of unchanged listings. Then comes a row for each other stored
#: listing. With enable_seqscan = off PostgreSQL uses the index also if it has no statistics of the table yet.
_KNOWN = f"""
    SET LOCAL enable_seqscan = off;
    WITH seen AS MATERIALIZED (
        SELECT place, portal, ref, known.revision, {_UNCHANGED} AS unchanged
        FROM {unnested("asked", _ASKED)} JOIN listings AS known USING (portal, ref)
    )
    SELECT unchanged_rows.*, whole.* FROM (
        SELECT now(), array_agg(place), array_agg(revision) FROM seen WHERE unchanged
    ) AS unchanged_rows FULL JOIN (
        SELECT place, {", ".join(f"known.{name}" for name in STATE)}
        FROM seen JOIN listings AS known USING (portal, ref) WHERE NOT unchanged
    ) AS whole ON false
"""


@dataclass(frozen=True, slots=True)
class Known:
    """For each stored listing: its revision if it is unchanged, its state if it has to be compared."""

    now: Now
    unchanged: Mapping[Key, int]
    states: Mapping[Key, State]


def known_of(connection: Connection, observations: Mapping[Key, Observations]) -> Known:
    asked = arrays("asked", _ASKED, [_asked(key, observed) for key, observed in observations.items()])
    with connection.cursor() as cursor:
        cursor.execute(_KNOWN, {**asked, "off_the_market": list(OFF_THE_MARKET)})
        rows = cursor.fetchall()
    clock = steady()
    keys = list(observations)
    ((now, places, revisions),) = (row[:3] for row in rows if row[0] is not None)
    unchanged = {keys[place - 1]: revision for place, revision in zip(places or (), revisions or (), strict=True)}
    states = {keys[row[3] - 1]: state_of(row[4:]) for row in rows if row[0] is None}
    return Known(Now(now, clock), unchanged, states)


def _asked(key: Key, observed: Observations) -> tuple[Any, ...]:
    """The values of _ASKED."""
    item = observed[0].item if len(observed) == 1 else None
    if isinstance(item, Listing) and item.content_hash is not None:
        return (*key, False, *_NOT_SHOWN, *_same(item))
    if isinstance(item, Sighting):
        return (*key, False, *_shown(item), *_NOT_READ)
    return (*key, True, *_NOT_SHOWN, *_NOT_READ)


_same = attrgetter(*SAME)
_shown = attrgetter(*_SHOWN)
_NOT_READ = (None,) * len(SAME)
_NOT_SHOWN = (None,) * len(_SHOWN)


#: Rows that are read at a time, where all are wanted.
_PAGE_ROWS = 1000

_OTHER_COLUMNS = tuple(each.name for each in fields(StoredOther))
_OTHER_LIST = ", ".join(_OTHER_COLUMNS)
_GIVEN_OTHER = {"kind": "text", "portal": "text", "ref": "text", "url": "text", "data": "jsonb", "revision": "integer"}
_GIVEN_OTHER |= {"last_job": "text", "expected": "integer", "type": "text", "event_data": "jsonb"}
_GIVEN_OTHER |= {"last_seen_at": "timestamptz"}
_KNOWN_OTHERS = f"""
    SELECT clock.now, {_OTHER_LIST} FROM (SELECT now() AS now) AS clock LEFT JOIN (
        SELECT {_OTHER_LIST} FROM unnest(%s::text[], %s::text[]) AS asked (portal, ref) JOIN others USING (portal, ref)
    ) AS known ON true
"""
#: The result is kept in a setting that outlives the transaction: so the lock is not held while the result is sent.
_MERGE_OTHERS = f"""
    BEGIN; SELECT pg_advisory_xact_lock(%(lock)s);
    WITH given AS MATERIALIZED (SELECT * FROM {recordset("given", _GIVEN_OTHER)}),
    added AS (
        INSERT INTO others ({_OTHER_LIST})
        SELECT kind, portal, ref, url, data, revision, last_seen_at, last_seen_at, last_job FROM given
        WHERE expected IS NULL AND NOT {is_erased("given")} ON CONFLICT DO NOTHING RETURNING portal, ref
    ),
    changed AS (
        UPDATE others AS known SET kind = given.kind, url = given.url, data = given.data, revision = given.revision,
            last_seen_at = given.last_seen_at, last_job = given.last_job
        FROM given
        WHERE (known.portal, known.ref, known.revision) = (given.portal, given.ref, given.expected)
          AND known.last_seen_at <= given.last_seen_at
        RETURNING known.portal, known.ref
    ),
    applied AS (SELECT portal, ref FROM added UNION ALL SELECT portal, ref FROM changed),
    logged AS (
        INSERT INTO events (portal, ref, revision, type, at, job, data)
        SELECT portal, ref, revision, type, last_seen_at, last_job, event_data
        FROM given JOIN applied USING (portal, ref) WHERE type IS NOT NULL ON CONFLICT DO NOTHING RETURNING type
    )
    SELECT set_config('realestate.merged', json_build_array(
        (SELECT json_agg(json_build_array(portal, ref)) FROM applied),
        (SELECT json_agg(type) FROM logged))::text, false);
    COMMIT; SELECT current_setting('realestate.merged')
"""


class OtherKinds:
    """Reads items of other kinds."""

    connection: Connection

    def others(self, portal: str) -> Iterator[StoredOther]:
        """Reads page by page, so that a slow reader holds no transaction open."""
        page = f"SELECT {_OTHER_LIST} FROM others WHERE portal = %s AND ref > %s ORDER BY ref LIMIT {_PAGE_ROWS}"
        last = ""
        while rows := self._page_of_others(page, portal, last):
            yield from rows
            last = rows[-1].ref

    def _page_of_others(self, page: str, *values: str) -> list[StoredOther]:
        with self.connection.cursor() as cursor:
            cursor.execute(page, values)
            return [StoredOther(*row) for row in cursor]


def observe_others(connection: Connection, tally: Tally, others: Mapping[Key, SeenOther]) -> set[Key]:
    """Write the items. Return the keys of those that another worker has written meanwhile."""
    now, known = _known_others(connection, others)
    decided = {
        key: decide_other(known.get(key), seen.item, seen.job, now.when(seen.sent)) for key, seen in others.items()
    }
    late = {key for key, each in decided.items() if each.is_late}
    given = as_json(_given_other(each) for key, each in decided.items() if key not in late)
    with connection.cursor() as cursor:
        cursor.execute(_MERGE_OTHERS, {"lock": LOCK, "given": given})
        applied, types = msgspec.json.decode(cursor.fetchone()[0])
    done = {(portal, ref) for portal, ref in applied or ()}
    tally.others += len(done)
    tally.late += len(late)
    tally.events.update(types or ())
    lost = others.keys() - done - late
    return lost - erased_among(connection, lost) if lost else set()


def _known_others(connection: Connection, keys: Mapping[Key, object]) -> tuple[Now, dict[Key, StoredOther]]:
    with connection.cursor() as cursor:
        cursor.execute(_KNOWN_OTHERS, ([portal for portal, _ in keys], [ref for _, ref in keys]))
        rows = cursor.fetchall()
    now = Now(rows[0][0], steady())
    known = [StoredOther(*row) for _, *row in rows if row[0] is not None]
    return now, {(each.portal, each.ref): each for each in known}


def _given_other(decided: Decided) -> bytes:
    after = decided.after
    event = decided.event
    values: dict[str, Any] = {name: getattr(after, name) for name in _GIVEN_OTHER if name in _OTHER_COLUMNS}
    values["expected"] = decided.before.revision if decided.before else None
    return encoded(values | ({"type": event.type, "event_data": event.data} if event else {}))


T = TypeVar("T")

#: The errors that a bad listing can cause: in the rules, in JSON encoding, or in PostgreSQL.
_REFUSED = (Refused, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)

#: Listings whose newest price was seen on a search page.
_REPRICED = """
    SELECT portal, ref FROM (
        SELECT DISTINCT ON (portal, ref) portal, ref, source
        FROM prices WHERE portal = ANY (%s) AND ref = ANY (%s) AND NOT suspect AND source <> 'late'
        ORDER BY portal, ref, revision DESC
    ) AS newest WHERE source = 'search'
"""
_PRICES_OF = f"""
    SELECT {", ".join(each.name for each in fields(PriceSeen))}
    FROM unnest(%s::text[], %s::text[]) AS asked (portal, ref) JOIN prices USING (portal, ref)
"""


class ListingWriter:
    """Writes batches and corrections."""

    connection: Connection

    def write(self, batch: Batch) -> Written:
        tally = Tally(list(batch.quarantined), batch.snapshots)
        _until_written(by_listing(batch), partial(self._observe, tally), tally.refuse)
        _until_written(last_of_each(batch.others), partial(observe_others, self.connection, tally), tally.refuse_other)
        if tally.quarantined or tally.snapshots:
            self._merge(Merge(), tally)
        return tally.written()

    def correct(self, listings: Sequence[Listing], job: str) -> Mapping[str, int]:
        """Return how many were `corrected`, `unchanged`, `unknown` and `refused`."""
        counts: Counter[str] = Counter()

        def refuse(_: Listing, error: Exception) -> None:
            counts["refused"] += 1

        waiting = {(listing.portal, listing.ref): listing for listing in listings}
        _until_written(waiting, partial(self._correct, job, counts), refuse)
        return counts

    def _observe(self, tally: Tally, observations: Mapping[Key, Observations]) -> set[Key]:
        known = known_of(self.connection, observations)
        merge = Merge()
        decided = _decided(observations, known)
        self._add_late_prices({key: outcome for key, (outcome, _) in decided.items() if outcome.late_prices})
        for key, observed in observations.items():
            if key in known.unchanged:
                times = times_of(known.now.dated(observed))
                merge.touches.append(Touch.of(key, known.unchanged[key], times))
        for key, (outcome, times) in decided.items():
            _plan(merge, key, known.states.get(key), outcome, times)
        lost = self._merge(merge, tally)
        erased = erased_among(self.connection, lost) if lost else set()
        for key, observed in observations.items():
            if key not in lost:
                tally.count(observed, is_known=key in known.unchanged or key in known.states)
                tally.late += decided[key][0].late if key in decided else 0
        return lost - erased

    def _add_late_prices(self, outcomes: Mapping[Key, Outcome]) -> None:
        if not outcomes:
            return
        history: dict[Key, list[PriceSeen]] = {key: [] for key in outcomes}
        with self.connection.cursor() as cursor:
            cursor.execute(_PRICES_OF, ([portal for portal, _ in outcomes], [ref for _, ref in outcomes]))
            for seen in (PriceSeen(*row) for row in cursor):
                history[seen.portal, seen.ref].append(seen)
        for key, outcome in outcomes.items():
            add_late_prices(outcome, history[key])

    def _merge(self, merge: Merge, tally: Tally) -> set[Key]:
        merge.quarantined = tally.quarantined
        merge.snapshots = tally.snapshots
        try:
            done = merge.into(self.connection)
        except _REFUSED as error:
            if not merge.changes and not merge.touches and not merge.departures:
                raise StoreError(f"PostgreSQL refuses a quarantine entry: {error}") from error
            raise
        tally.kept += len(tally.quarantined)
        tally.events += done.events
        tally.quarantined = []
        tally.snapshots = ()
        return done.lost

    def _correct(self, job: str, counts: Counter[str], listings: Mapping[Key, Listing]) -> set[Key]:
        known = known_of(self.connection, dict.fromkeys(listings, ()))
        repriced = self._repriced(known.states)
        changes: dict[Key, Change] = {}
        for key, state in known.states.items():
            outcome = correct(state, listings[key], job, known.now.database, repriced=key in repriced)
            if outcome.changed(state):
                changes[key] = Change(state, outcome, job)
        lost = Merge(changes=list(changes.values())).into(self.connection).lost if changes else set()
        counts["corrected"] += len(changes) - len(lost)
        counts["unchanged"] += len(known.states) - len(changes)
        counts["unknown"] += len(listings) - len(known.states)
        return lost

    def _repriced(self, keys: Mapping[Key, object]) -> set[Key]:
        with self.connection.cursor() as cursor:
            cursor.execute(_REPRICED, ([portal for portal, _ in keys], [ref for _, ref in keys]))
            return set(cursor.fetchall())


def _until_written(
    work: Mapping[Key, T], act: Callable[[Mapping[Key, T]], set[Key]], refuse: Callable[[T, Exception], None]
) -> None:
    """Call `act` until all is written. What another worker has written meanwhile is tried again. If an item is refused,
    the batch is halved until that item is alone."""
    while work:
        try:
            lost = act(work)
        except _REFUSED as error:
            keys = list(work)
            if len(keys) == 1:
                refuse(work[keys[0]], error)
                return
            half = len(keys) // 2
            for part in (keys[:half], keys[half:]):
                _until_written({key: work[key] for key in part}, act, refuse)
            return
        work = {key: work[key] for key in lost}


def _decided(observations: Mapping[Key, Observations], known: Known) -> dict[Key, tuple[Outcome, Times]]:
    """What follows from the observations of each listing that is not unchanged."""
    decided = {}
    for key, observed in observations.items():
        before = known.states.get(key)
        is_never_read = before is None and len(observed) == 1 and isinstance(observed[0].item, Sighting)
        if key in known.unchanged or is_never_read:
            continue
        dated = known.now.dated(observed)
        decided[key] = decide(before, dated, known.now.database), times_of(dated)
    return decided


def _plan(merge: Merge, key: Key, before: State | None, outcome: Outcome, times: Times) -> None:
    merge.departures += outcome.evidence
    if outcome.changed(before):
        merge.changes.append(Change(before, outcome, times.job, times))
    elif before is not None and times.seen is not None and not outcome.evidence:
        merge.touches.append(Touch.of(key, before.revision, times))


#: Set the times of the last sighting and fetch, unless they are later already.
_SEEN_THEN = """
    UPDATE listings
    SET last_seen_at = greatest(last_seen_at, %(at)s), last_fetched_at = greatest(last_fetched_at, %(at)s)
    WHERE portal = %(portal)s AND ref = %(ref)s;
    DELETE FROM quarantine WHERE portal = %(portal)s AND ref = %(ref)s AND quarantined_at <= %(at)s + %(slack)s
"""


class Releases(ListingWriter, Statements):
    """Writes listings that are released from quarantine, and reads current states."""

    def current(self, portal: str, refs: Sequence[str]) -> Mapping[str, Current]:
        known = known_of(self.connection, {(portal, ref): () for ref in refs})
        repriced = self._repriced(known.states)
        return {key[1]: Current(state, key in repriced) for key, state in known.states.items()}

    def release(self, listings: Sequence[Listing], job: str) -> Mapping[str, int]:
        """Release one by one: each has another time, and a listing may come several times."""
        counts: Counter[str] = Counter()

        def refuse(_: Listing, error: Exception) -> None:
            counts["refused"] += 1

        for listing in listings:
            _until_written({(listing.portal, listing.ref): listing}, partial(self._release, job, counts), refuse)
        return counts

    def _release(self, job: str, counts: Counter[str], listings: Mapping[Key, Listing]) -> set[Key]:
        ((key, listing),) = listings.items()
        known = known_of(self.connection, {key: ()})
        now = known.now.database
        before = known.states.get(key)
        at = fetched(listing, now)
        outcome = release(before, listing, job, now)
        if outcome.changed(before):
            lost = Merge([Change(before, outcome, job)]).into(self.connection).lost
            if lost and erased_among(self.connection, lost):
                counts["erased"] += 1
                return set()
            if lost:
                return lost
        self._ask(_SEEN_THEN, {"portal": key[0], "ref": key[1], "at": at, "slack": SLACK})
        counts["released"] += 1
        return set()

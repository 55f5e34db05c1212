"""Jobs: their orders, the timetable's occurrences, what was swept, which listings are missing, gone or due."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any

from realestate.items import Part
from realestate.storage.changes import OFF_THE_MARKET, depart
from realestate.storage.errors import NoSuchJob
from realestate.storage.history import State
from realestate.storage.occurrences import Occurrence
from realestate.storage.orders import Outcome, StoredOrder
from realestate.storage.postgres.connection import Connection, Statements
from realestate.storage.postgres.merge import Change, Merge
from realestate.storage.postgres.rows import encoded
from realestate.storage.postgres.write import known_of
from realestate.storage.store import (
    ABSENCES,
    DUE_AT_ONCE,
    DUE_EARLIEST,
    DUE_LATEST,
    MASS,
    SWEEPS,
    WHOLE,
    Conclusion,
    Job,
    Unread,
)

#: Listings that are delisted in one transaction.
_TOGETHER = 500

_JOB = ", ".join(each.name for each in fields(Job))
_BEGIN = """
    INSERT INTO jobs (job, portal, mode, scope) VALUES (%s, %s, %s, %s)
    ON CONFLICT (portal, job) DO NOTHING RETURNING job
"""
_END = """
    UPDATE jobs SET swept_at = coalesce(swept_at, now()), complete = coalesce(complete, %(complete)s),
        reason = CASE WHEN swept_at IS NULL THEN %(reason)s ELSE reason END
    WHERE (portal, job) = (%(portal)s, %(job)s)
    RETURNING started_at, complete AND scope = %(whole)s AND mode = ANY (%(sweeps)s)
"""
_MISSING = """
    SELECT ref, url, rent_period FROM listings
    WHERE portal = %s AND status <> ALL (%s) AND last_seen_at < %s ORDER BY ref
"""
#: Find the evidence that counts, and set the verdict of the job, once; a person may force it later. The lock on the
#: job's row lets one process do so at a time. Without enable_seqscan = off PostgreSQL may read all listings if it has
#: no statistics yet.
_WEIGH = """
    SET LOCAL enable_seqscan = off;
    SELECT job FROM jobs WHERE (portal, job) = (%(portal)s, %(job)s) FOR UPDATE;
    WITH due AS (
        SELECT job, portal FROM jobs
        WHERE (portal, job) = (%(portal)s, %(job)s) AND (verdict IS NULL OR (verdict = 'withheld' AND %(force)s))
    ),
    counting AS (
        SELECT departure.portal, departure.ref, departure.evidence FROM due
        JOIN departures AS departure USING (job, portal) JOIN listings AS known USING (portal, ref)
        WHERE known.status <> ALL (%(off_the_market)s) AND known.last_seen_at <= departure.at
          AND (departure.evidence <> 'absent' OR %(absences)s <= (
              SELECT count(*) FROM jobs AS sweep
              WHERE sweep.portal = departure.portal AND sweep.complete AND sweep.scope = %(whole)s
                AND sweep.mode = ANY (%(sweeps)s) AND sweep.started_at > known.last_seen_at))
    ),
    weighed AS (
        UPDATE departures AS departure
        SET weighed = (departure.portal, departure.ref, departure.evidence) IN (SELECT * FROM counting)
        FROM due WHERE (departure.portal, departure.job) = (due.portal, due.job)
    ),
    sums AS (
        SELECT (SELECT count(DISTINCT ref) FROM counting) AS found,
               (SELECT count(*) FROM listings AS known
                WHERE known.portal = due.portal AND known.status <> ALL (%(off_the_market)s)) AS offered
        FROM due
    )
    UPDATE jobs SET departures = found, offered = sums.offered, concluded_at = NULL,
        verdict = CASE WHEN found > %(mass)s * sums.offered AND NOT %(force)s THEN 'withheld' ELSE 'applied' END
    FROM sums WHERE (portal, job) = (%(portal)s, %(job)s)
"""
_GONE = """
    SELECT DISTINCT ON (portal, ref) portal, ref, departure.evidence, departure.detail, departure.url, departure.at
    FROM departures AS departure JOIN listings AS known USING (portal, ref)
    WHERE (departure.portal, departure.job) = (%s, %s) AND departure.weighed AND known.status <> ALL (%s)
      AND known.last_seen_at <= departure.at
    ORDER BY portal, ref, departure.at LIMIT %s
"""
_CONCLUDED = """
    UPDATE jobs SET concluded_at = coalesce(concluded_at, now()) WHERE (portal, job) = (%(portal)s, %(job)s)
    RETURNING verdict, departures, offered, (
        SELECT count(DISTINCT (portal, ref)) FROM departures AS departure JOIN events USING (portal, ref)
        WHERE (departure.portal, departure.job) = (%(portal)s, %(job)s) AND events.job = %(job)s
          AND events.type = 'delisted')
"""
_NEWEST = f"""
    SELECT {_JOB} FROM jobs
    WHERE (%(portal)s::text IS NULL OR portal = %(portal)s) AND (%(job)s::text IS NULL OR job = %(job)s)
        AND (%(concluded_after)s::timestamptz IS NULL OR concluded_at > %(concluded_after)s)
    ORDER BY started_at DESC, job DESC, portal LIMIT %(limit)s
"""


class Jobs:
    """Jobs, and which listings they found gone."""

    connection: Connection

    def begin_job(self, job: str, portal: str, mode: str, scope: str) -> bool:
        return bool(self._execute(_BEGIN, (job, portal, mode, scope)))

    def end_sweep(self, job: str, portal: str, *, complete: bool, reason: str | None = None) -> Sequence[Unread]:
        named = {"portal": portal, "job": job}
        values = {**named, "complete": complete, "reason": reason, "whole": WHOLE, "sweeps": list(SWEEPS)}
        ended = self._execute(_END, values)
        if not ended:
            raise NoSuchJob(job, portal)
        started_at, can_miss = ended[0]
        missing = self._execute(_MISSING, (portal, list(OFF_THE_MARKET), started_at)) if can_miss else []
        return [Unread(*row) for row in missing]

    def conclude(self, job: str, portal: str, *, force: bool = False) -> Conclusion:
        named = {"portal": portal, "job": job}
        values = {
            **named,
            "force": force,
            "whole": WHOLE,
            "sweeps": list(SWEEPS),
            "off_the_market": list(OFF_THE_MARKET),
            "mass": MASS,
            "absences": ABSENCES,
        }
        self._execute(_WEIGH, values)
        rows = self._execute("SELECT verdict FROM jobs WHERE (portal, job) = (%(portal)s, %(job)s)", named)
        if not rows:
            raise NoSuchJob(job, portal)
        if rows[0][0] == "applied":
            while self._delist_some(job, portal):
                pass
        ((verdict, found, offered, delisted),) = self._execute(_CONCLUDED, named)
        return Conclusion(verdict, found, offered, delisted)

    def jobs(
        self,
        portal: str | None = None,
        limit: int = 20,
        *,
        job: str | None = None,
        concluded_after: datetime | None = None,
    ) -> Sequence[Job]:
        values = {"portal": portal, "job": job, "concluded_after": concluded_after, "limit": limit}
        return [Job(*row) for row in self._execute(_NEWEST, values)]

    def _delist_some(self, job: str, portal: str) -> bool:
        """Delist some listings; return whether there were any. The next call repeats what changed meanwhile."""
        rows = self._execute(_GONE, (portal, job, list(OFF_THE_MARKET), _TOGETHER))
        gone = {(row[0], row[1]): row[2:] for row in rows}
        known = known_of(self.connection, dict.fromkeys(gone, ()))
        changes = [_departed(state, gone[key], job, known.now.database) for key, state in known.states.items()]
        if changes := [change for change in changes if change.outcome.changed(change.before)]:
            Merge(changes=changes).into(self.connection)
        return bool(gone)

    def _execute(self, statement: str, values: Any) -> list[tuple[Any, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values)
            return list(cursor) if cursor.description else []


def _departed(state: State, gone: Sequence[Any], job: str, now: datetime) -> Change:
    evidence, detail, url, at = gone
    data = {"evidence": evidence, "detail": detail, "url": url, "at": at.isoformat()}
    return Change(state, depart(state, data, at, job, now), job, unseen_since=at)


_PART = [each.name for each in fields(Part)]
_KEEP_PART = f"""
    INSERT INTO parts (job, {", ".join(_PART)}) VALUES (%(job)s, {", ".join(f"%({name})s" for name in _PART)})
    ON CONFLICT (portal, job, search) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _PART)}
"""
_PARTS_OF_JOB = f"""
    SELECT {", ".join(_PART)} FROM parts WHERE (portal, job) = (%(portal)s, %(job)s) ORDER BY search
"""
#: `revision` counts the changes, including the first sighting.
_DUE = """
    SELECT ref, url, rent_period FROM (
        SELECT ref, url, rent_period, last_fetched_at + least(%(latest)s::interval, greatest(%(soonest)s::interval,
            (last_fetched_at - first_seen_at) / (2 * greatest(revision, 1)))) AS at
        FROM listings WHERE portal = %(portal)s AND status <> ALL (%(off_the_market)s)
    ) AS due WHERE at <= now() ORDER BY at LIMIT %(limit)s
"""


class Planning(Statements):
    """Parts of searches, and which listings are due."""

    def keep_part(self, job: str, part: Part) -> None:
        self._ask(_KEEP_PART, {"job": job, **asdict(part)})

    def parts(self, job: str, portal: str) -> Sequence[Part]:
        rows = self._ask(_PARTS_OF_JOB, {"portal": portal, "job": job})
        return [Part(**dict(zip(_PART, row, strict=True))) for row in rows]

    def due(self, portal: str, limit: int = DUE_AT_ONCE) -> Sequence[Unread]:
        bounds = {"soonest": f"{DUE_EARLIEST} days", "latest": f"{DUE_LATEST} days"}
        values = {"portal": portal, "limit": limit, "off_the_market": list(OFF_THE_MARKET), **bounds}
        return [Unread(*row) for row in self._ask(_DUE, values)]


_ORDER_FIELDS = tuple(each.name for each in fields(StoredOrder))
_ORDER_COLUMNS = ", ".join(_ORDER_FIELDS)
_ADD_ORDER = """
    INSERT INTO job_orders (job, portal, key, content, seeds, events_after, deadline_at)
    VALUES (%(job)s, %(portal)s, %(key)s, %(content)s, %(seeds)s, (SELECT coalesce(max(seq), 0) FROM events),
        now() + %(deadline)s * interval '1 second')
    ON CONFLICT (job) DO NOTHING
"""
_PUSHED = "UPDATE job_orders SET pushed_at = coalesce(pushed_at, now()) WHERE job = %s"
_PAUSED = """
    UPDATE job_orders SET paused_at = CASE WHEN %(paused)s THEN coalesce(paused_at, now()) END WHERE job = %(job)s
"""
_CANCELLED = """
    UPDATE job_orders SET cancelled_at = coalesce(cancelled_at, now()),
        reason = CASE WHEN cancelled_at IS NULL THEN %(reason)s ELSE reason END
    WHERE job = %(job)s AND ended_at IS NULL RETURNING job
"""
_ENDED = """
    UPDATE job_orders SET ended_at = now(), outcome = %(outcome)s, reason = coalesce(reason, %(reason)s),
        summary = %(summary)s
    WHERE job = %(job)s AND ended_at IS NULL RETURNING job
"""


class StoredOrders(Statements):
    """See `storage.orders.Orders`."""

    def add_order(self, order: StoredOrder, deadline_seconds: float | None = None) -> StoredOrder:
        values = {
            "job": order.job,
            "portal": order.portal,
            "key": order.key,
            "content": encoded(order.content).decode(),
            "seeds": encoded(order.seeds).decode(),
            "deadline": deadline_seconds,
        }
        self._ask(_ADD_ORDER, values)
        (stored,) = self.orders(limit=1, jobs=[order.job])
        return stored

    def orders(
        self,
        portal: str | None = None,
        limit: int = 20,
        *,
        jobs: Sequence[str] | None = None,
        key: str | None = None,
        unended: bool = False,
        ended_after: datetime | None = None,
    ) -> Sequence[StoredOrder]:
        # Only the conditions that are asked for: so each question can use its index.
        conditions = {
            "portal = %(portal)s": portal is not None,
            "job = ANY (%(jobs)s)": jobs is not None,
            "key = %(key)s": key is not None,
            "ended_at IS NULL": unended,
            "ended_at > %(ended_after)s": ended_after is not None,
        }
        wanted = " AND ".join([text for text, is_asked in conditions.items() if is_asked] or ["true"])
        newest = "ORDER BY submitted_at DESC, job DESC LIMIT %(limit)s"
        statement = f"SELECT {_ORDER_COLUMNS} FROM job_orders WHERE {wanted} {newest}"
        named = None if jobs is None else list(jobs)
        values = {"portal": portal, "jobs": named, "key": key, "ended_after": ended_after, "limit": limit}
        return [order_of(row) for row in self._ask(statement, values)]

    def order_pushed(self, job: str) -> None:
        self._ask(_PUSHED, (job,))

    def order_paused(self, job: str, *, paused: bool) -> None:
        self._ask(_PAUSED, {"job": job, "paused": paused})

    def order_cancelled(self, job: str, reason: str) -> bool:
        return bool(self._ask(_CANCELLED, {"job": job, "reason": reason}))

    def order_ended(self, job: str, outcome: Outcome, reason: str | None, summary: Mapping[str, Any]) -> bool:
        values = {"job": job, "outcome": outcome, "reason": reason, "summary": encoded(summary).decode()}
        return bool(self._ask(_ENDED, values))


def order_of(row: Sequence[Any]) -> StoredOrder:
    return StoredOrder(**dict(zip(_ORDER_FIELDS, row, strict=True)))


def order_row(order: StoredOrder) -> list[Any]:
    """Its columns, as a COPY takes them."""
    values = {name: getattr(order, name) for name in _ORDER_FIELDS}
    for name in ("content", "seeds", "summary"):
        if values[name] is not None:
            values[name] = encoded(values[name]).decode()
    return list(values.values())


_OCCURRENCE_FIELDS = tuple(each.name for each in fields(Occurrence))
_OCCURRENCE_COLUMNS = ", ".join(_OCCURRENCE_FIELDS)
_ADD_OCCURRENCE = """
    INSERT INTO occurrences (entry, due_at, decision, reason)
    SELECT * FROM unnest(%s::text[], %s::timestamptz[], %s::text[], %s::text[])
    ON CONFLICT (entry, due_at) DO NOTHING
"""
_CLAIM = """
    UPDATE occurrences SET claimed_until = now() + %s * interval '1 second'
    WHERE (entry, due_at) = (%s, %s) AND done_at IS NULL AND coalesce(claimed_until, '-infinity') < now()
    RETURNING entry
"""
_DONE = """
    UPDATE occurrences SET done_at = coalesce(done_at, now()), job = coalesce(job, %s), error = coalesce(error, %s)
    WHERE (entry, due_at) = (%s, %s)
"""


class StoredOccurrences(Statements):
    """See `storage.occurrences.Occurrences`."""

    def add_occurrences(self, occurrences: Sequence[Occurrence]) -> None:
        if occurrences:
            columns = ("entry", "due_at", "decision", "reason")
            self._ask(_ADD_OCCURRENCE, [[getattr(each, name) for each in occurrences] for name in columns])

    def last_occurrences(self) -> Mapping[str, datetime]:
        return dict(self._ask("SELECT entry, max(due_at) FROM occurrences GROUP BY entry"))

    def occurrences(
        self, entry: str | None = None, limit: int = 20, *, undone: bool = False, before: datetime | None = None
    ) -> Sequence[Occurrence]:
        conditions = {
            "entry = %(entry)s": entry is not None,
            "decision = 'start' AND done_at IS NULL": undone,
            "decision = 'start' AND due_at < %(before)s": before is not None,
        }
        wanted = " AND ".join([text for text, is_asked in conditions.items() if is_asked] or ["true"])
        statement = (
            f"SELECT {_OCCURRENCE_COLUMNS} FROM occurrences WHERE {wanted} ORDER BY due_at DESC, entry LIMIT %(limit)s"
        )
        rows = self._ask(statement, {"entry": entry, "before": before, "limit": limit})
        return [Occurrence(**dict(zip(_OCCURRENCE_FIELDS, row, strict=True))) for row in rows]

    def claim_occurrence(self, entry: str, due_at: datetime, seconds: float) -> bool:
        return bool(self._ask(_CLAIM, (seconds, entry, due_at)))

    def occurrence_done(self, entry: str, due_at: datetime, job: str | None = None, error: str | None = None) -> None:
        self._ask(_DONE, (job, error, entry, due_at))

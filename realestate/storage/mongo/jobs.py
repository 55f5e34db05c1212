"""Jobs: their orders, the timetable's occurrences, what was swept, which listings are missing, gone or due."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from datetime import datetime, timedelta
from heapq import nsmallest
from typing import Any
from uuid import uuid4

from pymongo import InsertOne, UpdateOne
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError

from realestate.items import Part
from realestate.storage.changes import OFF_THE_MARKET, depart
from realestate.storage.errors import NoSuchJob, StoreError
from realestate.storage.mongo.change import Change, apply, documents_of
from realestate.storage.mongo.connection import Connection, Document, bulk, pieces, server_time
from realestate.storage.mongo.documents import id_of, state_of, stored_time
from realestate.storage.mongo.event_log import Log
from realestate.storage.mongo.schema import job_name, part_name
from realestate.storage.occurrences import Occurrence
from realestate.storage.orders import Outcome, StoredOrder
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

_JOB = tuple(each.name for each in fields(Job))
_OFFERED = {"status": {"$nin": list(OFF_THE_MARKET)}}
_WHOLE_SWEEP = {"scope": WHOLE, "mode": {"$in": list(SWEEPS)}, "complete": True}


class Jobs:
    """Jobs, and which listings they found gone."""

    connection: Connection

    def begin_job(self, job: str, portal: str, mode: str, scope: str) -> bool:
        values = {"job": job, "portal": portal, "mode": mode, "scope": scope}
        with self.connection.database() as database:
            started = {"started_at": server_time(database), "departures": 0, "offered": 0}
            begun = {**dict.fromkeys(_JOB), **values, **started}
            try:
                database["jobs"].insert_one({"_id": job_name(portal, job), **begun})
            except DuplicateKeyError:
                return False
            return True

    def end_sweep(self, job: str, portal: str, *, complete: bool, reason: str | None = None) -> Sequence[Unread]:
        with self.connection.database() as database:
            ended = {"swept_at": server_time(database), "complete": complete, "reason": reason}
            database["jobs"].update_one({"_id": job_name(portal, job), "swept_at": None}, {"$set": ended})
            record = _job(database, job, portal)
            if not _can_miss(record):
                return []
            unseen = {"portal": portal, "last_seen_at": {"$lt": record["started_at"]}, **_OFFERED}
            found = database["listings"].find(unseen, dict.fromkeys(Unread._fields, 1)).sort("_id", 1)
            return [Unread(each["ref"], each["url"], each.get("rent_period")) for each in found]

    def conclude(self, job: str, portal: str, *, force: bool = False) -> Conclusion:
        with self.connection.database() as database:
            record = _job(database, job, portal)
            if record["verdict"] is None or (record["verdict"] == "withheld" and force):
                _weigh(database, record, force)
                record = _job(database, job, portal)
            if record["verdict"] == "applied":
                _delist(database, record)
            over = {"concluded_at": server_time(database)}
            database["jobs"].update_one({"_id": record["_id"], "concluded_at": None}, {"$set": over})
            return Conclusion(record["verdict"], record["departures"], record["offered"], _delisted(database, record))

    def jobs(
        self,
        portal: str | None = None,
        limit: int = 20,
        *,
        job: str | None = None,
        concluded_after: datetime | None = None,
    ) -> Sequence[Job]:
        wanted: Document = {name: value for name, value in (("portal", portal), ("job", job)) if value is not None}
        if concluded_after is not None:
            wanted["concluded_at"] = {"$gt": concluded_after}
        with self.connection.database() as database:
            newest = database["jobs"].find(wanted).sort([("started_at", -1), ("_id", -1)]).limit(limit)
            return [job_of(record) for record in newest]


def job_of(document: Document) -> Job:
    return Job(**{name: document[name] for name in _JOB})


def job_document(job: Job) -> Document:
    values = {name: getattr(job, name) for name in _JOB}
    return {
        "_id": job_name(job.portal, job.job),
        **{name: stored_time(each) if isinstance(each, datetime) else each for name, each in values.items()},
    }


def _job(database: Database[Document], job: str, portal: str) -> Document:
    record = database["jobs"].find_one({"_id": job_name(portal, job)})
    if record is None:
        raise NoSuchJob(job, portal)
    return record


def _can_miss(record: Document) -> bool:
    return bool(record["complete"] and record["scope"] == WHOLE and record["mode"] in SWEEPS)


def _weigh(database: Database[Document], record: Document, force: bool) -> None:
    """Find the evidence that counts, and set the verdict of the job, once; a person may force it later.

    Evidence that counts is marked with a name before the verdict is set, and the verdict carries that name. So if two
    workers weigh at once, one verdict is kept, together with its evidence.
    """
    counting = _counting(database, record)
    found = len({each["ref"] for each in counting})
    offered = database["listings"].count_documents({"portal": record["portal"], **_OFFERED})
    name = uuid4().hex
    if is_too_much := found > MASS * offered and not force:
        counting = []
    bulk(
        database["departures"], [UpdateOne({"_id": each["_id"]}, {"$addToSet": {"weighed": name}}) for each in counting]
    )
    verdict = {"verdict": "withheld" if is_too_much else "applied", "departures": found, "offered": offered}
    weighed = {**verdict, "weighing": name, "concluded_at": None}
    database["jobs"].update_one({"_id": record["_id"], "verdict": record["verdict"]}, {"$set": weighed})


def _counting(database: Database[Document], record: Document) -> list[Document]:
    portal = record["portal"]
    evidence = list(database["departures"].find(_of_job(record)))
    sweeps = [each["started_at"] for each in database["jobs"].find({"portal": portal, **_WHOLE_SWEEP})]
    seen = {}
    for ids in pieces(id_of(portal, each["ref"]) for each in evidence):
        wanted = {"_id": {"$in": ids}, "portal": portal, **_OFFERED}
        for listing in database["listings"].find(wanted, {"ref": 1, "last_seen_at": 1}):
            seen[listing["ref"]] = listing["last_seen_at"]
    return [each for each in evidence if each["ref"] in seen and _counts(each, seen[each["ref"]], sweeps)]


def _of_job(record: Document) -> Document:
    """A filter for the evidence of a job."""
    return {"job": record["job"], "portal": record["portal"]}


def _counts(evidence: Document, last_seen_at: datetime, sweeps: Iterable[datetime]) -> bool:
    if last_seen_at > evidence["at"]:
        return False
    return evidence["evidence"] != "absent" or sum(sweep > last_seen_at for sweep in sweeps) >= ABSENCES


def _delist(database: Database[Document], record: Document) -> None:
    """Delist what was weighed. A listing that changed meanwhile is read again."""
    evidence: dict[str, Document] = {}
    weighed = database["departures"].find({**_of_job(record), "weighed": record["weighing"]})
    for each in sorted(weighed, key=lambda each: (each["at"], each["_id"])):
        evidence.setdefault(id_of(each["portal"], each["ref"]), each)
    for ids in pieces(evidence):
        waiting = ids
        while waiting:
            applied = apply(database, _departed(database, waiting, evidence, record["job"]))
            if applied.refused:
                change, reason = applied.refused[0]
                raise StoreError(f"MongoDB: {change.id} cannot be delisted: {reason}")
            waiting = [change.id for change in applied.lost]


def _departed(
    database: Database[Document], ids: Sequence[str], evidence: Mapping[str, Document], job: str
) -> list[Change]:
    now = server_time(database)
    changes = []
    for id, document in documents_of(database, ids, {"events": 0, "prices": 0}).items():
        state = state_of(document)
        gone = evidence[id]
        if state.listing.status not in OFF_THE_MARKET and document["last_seen_at"] <= gone["at"]:
            data: dict[str, Any] = {name: gone[name] for name in ("evidence", "detail", "url")}
            data["at"] = gone["at"].isoformat()
            outcome = depart(state, data, gone["at"], job, now)
            changes.append(Change(state, outcome, unseen_since=gone["at"]))
    return changes


def _delisted(database: Database[Document], record: Document) -> int:
    found = database["departures"].find(_of_job(record), {"portal": 1, "ref": 1})
    job = record["job"]
    count = 0
    for ids in pieces({id_of(each["portal"], each["ref"]) for each in found}):
        for listing in database["listings"].find({"_id": {"$in": ids}}, {"events": 1}):
            count += any((event["type"], event["job"]) == ("delisted", job) for event in listing.get("events", ()))
    return count


_PART = [each.name for each in fields(Part)]
_TIMED = dict.fromkeys(("ref", "url", "rent_period", "revision", "first_seen_at", "last_fetched_at"), 1)


class Planning:
    """Parts of searches, and which listings are due."""

    connection: Connection

    def keep_part(self, job: str, part: Part) -> None:
        values = {"job": job, **asdict(part)}
        with self.connection.database() as database:
            database["parts"].update_one(
                {"_id": part_name(part.portal, job, part.search)}, {"$set": values}, upsert=True
            )

    def parts(self, job: str, portal: str) -> Sequence[Part]:
        with self.connection.database() as database:
            found = list(database["parts"].find({"job": job, "portal": portal}))
        return [Part(**{name: each[name] for name in _PART}) for each in sorted(found, key=lambda each: each["search"])]

    def due(self, portal: str, limit: int = DUE_AT_ONCE) -> Sequence[Unread]:
        """The times are computed here; only `limit` listings are held in memory."""
        with self.connection.database() as database:
            now = server_time(database)
            offered = {"portal": portal, "status": {"$nin": list(OFF_THE_MARKET)}}
            timed = _timed(database["listings"].find(offered, _TIMED))
            overdue = nsmallest(limit, (each for each in timed if each[0] <= now))
            return [Unread(ref, url, period or None) for _, ref, url, period in overdue]


def _timed(found: Iterable[Document]) -> Iterator[tuple[datetime, str, str, str]]:
    """When each listing is due. `revision` counts the changes, including the first sighting."""
    for each in found:
        read_at = each["last_fetched_at"]
        changes = max(each["revision"], 1)
        wait = (read_at - each["first_seen_at"]) / (2 * changes)
        wait = min(max(wait, timedelta(days=DUE_EARLIEST)), timedelta(days=DUE_LATEST))
        yield read_at + wait, each["ref"], each["url"], each.get("rent_period") or ""


_ORDER_FIELDS = tuple(each.name for each in fields(StoredOrder))
_ORDERS = "job_orders"


class StoredOrders:
    """See `storage.orders.Orders`."""

    connection: Connection

    def add_order(self, order: StoredOrder, deadline_seconds: float | None = None) -> StoredOrder:
        with self.connection.database() as database:
            now = server_time(database)
            document = order_document(order)
            document["submitted_at"] = now
            document["deadline_at"] = None if deadline_seconds is None else now + timedelta(seconds=deadline_seconds)
            document["events_after"] = Log(database).end() - 1
            with suppress(DuplicateKeyError):
                database[_ORDERS].insert_one(document)
            found = database[_ORDERS].find_one({"_id": order.job})
        assert found is not None
        return order_of(found)

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
        conditions: dict[str, tuple[bool, Any]] = {
            "portal": (portal is not None, portal),
            "_id": (jobs is not None, {"$in": list(jobs or ())}),
            "key": (key is not None, key),
            "ended_at": (unended or ended_after is not None, None if unended else {"$gt": ended_after}),
        }
        wanted = {name: value for name, (is_asked, value) in conditions.items() if is_asked}
        with self.connection.database() as database:
            newest = database[_ORDERS].find(wanted).sort([("submitted_at", -1), ("_id", -1)]).limit(limit)
            return [order_of(each) for each in newest]

    def order_pushed(self, job: str) -> None:
        with self.connection.database() as database:
            pushed = {"$set": {"pushed_at": server_time(database)}}
            database[_ORDERS].update_one({"_id": job, "pushed_at": None}, pushed)

    def order_paused(self, job: str, *, paused: bool) -> None:
        with self.connection.database() as database:
            if paused:
                now = {"$set": {"paused_at": server_time(database)}}
                database[_ORDERS].update_one({"_id": job, "paused_at": None}, now)
            else:
                database[_ORDERS].update_one({"_id": job}, {"$set": {"paused_at": None}})

    def order_cancelled(self, job: str, reason: str) -> bool:
        with self.connection.database() as database:
            cancelled = {"$set": {"cancelled_at": server_time(database), "reason": reason}}
            database[_ORDERS].update_one({"_id": job, "ended_at": None, "cancelled_at": None}, cancelled)
            found = database[_ORDERS].find_one({"_id": job, "ended_at": None}, {"cancelled_at": 1})
            return found is not None

    def order_ended(self, job: str, outcome: Outcome, reason: str | None, summary: Mapping[str, Any]) -> bool:
        with self.connection.database() as database:
            ended: Document = {"ended_at": server_time(database), "outcome": outcome, "summary": dict(summary)}
            if reason is not None:
                database[_ORDERS].update_one(
                    {"_id": job, "ended_at": None, "reason": None}, {"$set": {"reason": reason}}
                )
            result = database[_ORDERS].update_one({"_id": job, "ended_at": None}, {"$set": ended})
            return result.modified_count == 1


def order_of(document: Document) -> StoredOrder:
    return StoredOrder(**{name: document["_id"] if name == "job" else document[name] for name in _ORDER_FIELDS})


def order_document(order: StoredOrder) -> Document:
    document = {name: getattr(order, name) for name in _ORDER_FIELDS if name != "job"}
    for name, value in document.items():
        if isinstance(value, datetime):
            document[name] = stored_time(value)
    return {"_id": order.job, **document, "seeds": list(order.seeds)}


_OCCURRENCE_FIELDS = tuple(each.name for each in fields(Occurrence))
_OCCURRENCES = "occurrences"


class StoredOccurrences:
    """See `storage.occurrences.Occurrences`."""

    connection: Connection

    def add_occurrences(self, occurrences: Sequence[Occurrence]) -> None:
        with self.connection.database() as database:
            now = server_time(database)
            documents = [_document(each, now) for each in occurrences]
            bulk(database[_OCCURRENCES], [InsertOne(each) for each in documents])

    def last_occurrences(self) -> Mapping[str, datetime]:
        with self.connection.database() as database:
            found = {}
            for entry in database[_OCCURRENCES].distinct("entry"):
                newest = database[_OCCURRENCES].find({"entry": entry}, {"due_at": 1}).sort("due_at", -1).limit(1)
                for each in newest:
                    found[entry] = each["due_at"]
            return found

    def occurrences(
        self, entry: str | None = None, limit: int = 20, *, undone: bool = False, before: datetime | None = None
    ) -> Sequence[Occurrence]:
        wanted: dict[str, Any] = {} if entry is None else {"entry": entry}
        if undone:
            wanted |= {"decision": "start", "done_at": None}
        if before is not None:
            wanted |= {"decision": "start", "due_at": {"$lt": before}}
        with self.connection.database() as database:
            found = database[_OCCURRENCES].find(wanted).sort([("due_at", -1), ("entry", 1)]).limit(limit)
            return [Occurrence(**{name: each[name] for name in _OCCURRENCE_FIELDS}) for each in found]

    def claim_occurrence(self, entry: str, due_at: datetime, seconds: float) -> bool:
        with self.connection.database() as database:
            now = server_time(database)
            free = {"$or": [{"claimed_until": None}, {"claimed_until": {"$lt": now}}]}
            claimed = {"$set": {"claimed_until": now + timedelta(seconds=seconds)}}
            wanted = {"_id": _name(entry, due_at), "done_at": None, **free}
            return database[_OCCURRENCES].update_one(wanted, claimed).modified_count == 1

    def occurrence_done(self, entry: str, due_at: datetime, job: str | None = None, error: str | None = None) -> None:
        with self.connection.database() as database:
            done = {"done_at": server_time(database), "job": job, "error": error}
            database[_OCCURRENCES].update_one({"_id": _name(entry, due_at), "done_at": None}, {"$set": done})


def _document(occurrence: Occurrence, now: datetime) -> Document:
    values = {name: getattr(occurrence, name) for name in _OCCURRENCE_FIELDS}
    due_at = stored_time(occurrence.due_at)
    return {"_id": _name(occurrence.entry, due_at), **values, "due_at": due_at, "decided_at": now}


def _name(entry: str, due_at: datetime) -> str:
    return f"{entry}@{stored_time(due_at).isoformat()}"

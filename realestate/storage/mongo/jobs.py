"""Jobs: what was swept, which listings are missing, which of them are gone; and which listings are due."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime, timedelta
from heapq import nsmallest
from typing import Any
from uuid import uuid4

from pymongo import UpdateOne
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError

from realestate.items import Part
from realestate.storage.changes import OFF_THE_MARKET, depart
from realestate.storage.errors import NoSuchJob, StoreError
from realestate.storage.mongo.change import Change, apply, documents_of
from realestate.storage.mongo.connection import Connection, Document, bulk, pieces, server_time
from realestate.storage.mongo.documents import id_of, state_of, stored_time
from realestate.storage.mongo.names import job_name, part_name
from realestate.storage.store import (
    ABSENCES,
    DUE_AT_ONCE,
    DUE_LATEST,
    DUE_SOONEST,
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

    def jobs(self, portal: str | None = None, limit: int = 20, *, job: str | None = None) -> Sequence[Job]:
        wanted = {name: value for name, value in (("portal", portal), ("job", job)) if value is not None}
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
        wait = min(max(wait, timedelta(days=DUE_SOONEST)), timedelta(days=DUE_LATEST))
        yield read_at + wait, each["ref"], each["url"], each.get("rent_period") or ""

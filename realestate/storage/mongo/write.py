"""Write listings, other kinds and quarantine: read what is stored, decide, change; repeat for what another worker
changed meanwhile."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

import msgspec
from bson.raw_bson import RawBSONDocument
from pymongo import InsertOne, UpdateOne
from pymongo.database import Database

from realestate.items import Gone, Listing
from realestate.items.others import Other
from realestate.storage.batch import NOT_SEEN, Observations, Tally, Times, by_listing, times_of
from realestate.storage.changes import add_late_prices, correct, decide, fetched, release
from realestate.storage.clock import Dated, Now, steady
from realestate.storage.errors import StoreError
from realestate.storage.history import Event, PriceSeen
from realestate.storage.maintenance import SLACK, Current
from realestate.storage.mongo.change import (
    Change,
    Known,
    apply,
    documents_of,
    erased_among,
    found_of,
    is_tombstone,
    known_of,
    latest_times,
    remove_aside,
)
from realestate.storage.mongo.connection import REFUSED, Connection, Document, Refused, bulk, server_time
from realestate.storage.mongo.documents import (
    as_kept,
    entry_name,
    event_document,
    id_of,
    ids_of_portal,
    packed,
    page_document,
    price_of,
    screened,
    state_of,
    stored_time,
    unpacked,
)
from realestate.storage.other_kinds import Decided, SeenOther, StoredOther, decide_other, last_of_each
from realestate.storage.sanitize import fingerprint, storable
from realestate.storage.store import Batch, Quarantined, Written

OTHERS = "others"
#: Documents that are read at a time, where all are wanted.
_PAGE_DOCUMENTS = 1000


class OtherKinds:
    """Reads items of other kinds."""

    connection: Connection

    def others(self, portal: str) -> Iterator[StoredOther]:
        """Reads page by page, so that a slow reader holds no cursor open."""
        wanted = ids_of_portal(portal)
        while page := self._page_of_others(wanted):
            yield from (other_of(document) for document in page if not is_tombstone(document))
            wanted["$gt"] = page[-1]["_id"]

    def _page_of_others(self, wanted: Document) -> list[Document]:
        with self.connection.database() as database:
            return list(database[OTHERS].find({"_id": wanted}, {"events": 0}).sort("_id", 1).limit(_PAGE_DOCUMENTS))


@dataclass(frozen=True, slots=True)
class _OtherChange:
    """See `change.Change`."""

    decided: Decided

    @property
    def id(self) -> str:
        return id_of(self.decided.after.portal, self.decided.after.ref)

    @property
    def revision(self) -> int:
        return self.decided.after.revision

    @property
    def events(self) -> Sequence[Event]:
        return [self.decided.event] if self.decided.event else []

    def statement(self) -> InsertOne[Any] | UpdateOne:
        before = self.decided.before
        after = other_document(self.decided.after)
        history = {
            "events": list(map(event_document, self.events)),
            "unlogged": [each.revision for each in self.events],
        }
        if before is None:
            return InsertOne(screened({**after, **history}))
        values = {name: after[name] for name in ("kind", "url", "data", "revision", "last_job", "last_seen_at")}
        update = {"$set": values}
        if self.events:
            update["$push"] = {name: {"$each": more} for name, more in history.items()}
        screened(update)
        not_newer = {"$lte": after["last_seen_at"]}
        expected = {"_id": self.id, "revision": before.revision, "last_seen_at": not_newer}
        return UpdateOne(expected, update, upsert=True)


def write_others(database: Database[Document], others: Iterable[SeenOther | tuple[Other, str]], tally: Tally) -> None:
    """Write the items. What another worker has written meanwhile is tried again."""
    waiting: dict[str, SeenOther] = {}
    for key, observed in last_of_each(others).items():
        try:
            name = id_of(*key)
            name.encode()
            waiting[name] = observed
        except REFUSED as error:
            tally.refuse_other(observed, error)
    while waiting:
        waiting = _observe_others(database, waiting, tally)


def _observe_others(
    database: Database[Document], waiting: Mapping[str, SeenOther], tally: Tally
) -> dict[str, SeenOther]:
    now = Now(server_time(database), steady())
    found = found_of(database, list(waiting), {"events": 0}, OTHERS)
    changes = []
    for id, observed in waiting.items():
        if id in found and is_tombstone(found[id]):
            continue
        try:
            before = other_of(found[id]) if id in found else None
            at = stored_time(now.when(observed.sent))
            decided = decide_other(before, observed.item, observed.job, at)
            if decided.is_late:
                tally.late += 1
            else:
                changes.append(_OtherChange(decided))
        except REFUSED as error:
            tally.refuse_other(observed, error)
    applied = apply(database, changes, OTHERS)
    for change, reason in applied.refused:
        tally.refuse_other(waiting[change.id], reason)
    tally.others += len(applied.done)
    tally.events += Counter(event.type for change in applied.done for event in change.events)
    return {change.id: waiting[change.id] for change in applied.lost}


def other_document(other: StoredOther) -> Document:
    values = asdict(other) | {"data": packed(other.data)}
    times = {name: stored_time(values[name]) for name in ("first_seen_at", "last_seen_at")}
    return {"_id": id_of(other.portal, other.ref), **values, **times}


def other_of(document: Document) -> StoredOther:
    values = {name: document[name] for name in StoredOther.__dataclass_fields__}
    return StoredOther(**{**values, "data": unpacked(values["data"])})


#: Characters that are kept of a field of an entry that is too long.
_SHORT = 10_000


def quarantine(database: Database[Document], items: Iterable[Quarantined], now: datetime) -> None:
    """Store entries; the same fault is kept once."""
    inserts = [InsertOne(_taken({**_quarantine_document(item), "quarantined_at": now})) for item in items]
    if refused := bulk(database["quarantine"], inserts).refused:
        raise StoreError(f"MongoDB refuses a quarantine entry: {next(iter(refused.values()))}")


def _taken(document: Document) -> RawBSONDocument:
    """The encoded document. One that is too long is shortened."""
    try:
        return screened(document)
    except Refused:
        short = {name: str(value)[:_SHORT] for name, value in unpacked(document["record"]).items()}
        errors = [error[:_SHORT] for error in document["errors"]]
        return screened({**document, "errors": errors, "record": short})


def _quarantine_document(item: Quarantined) -> Document:
    values: Document = storable({"portal": item.portal, "ref": item.ref, "url": item.url, "errors": list(item.errors)})
    record = storable(dict(item.record))
    name = entry_name(values["portal"], fingerprint([values["errors"], record]))
    return {"_id": name, **values, "record": packed(record)}


class ListingWriter:
    """Writes batches and corrections."""

    connection: Connection

    def write(self, batch: Batch) -> Written:
        tally = Tally(list(batch.quarantined))
        waiting = _named(by_listing(batch), tally)
        with self.connection.database() as database:
            while waiting:
                waiting = _observe(database, waiting, tally)
            write_others(database, batch.others, tally)
            if tally.quarantined:
                quarantine(database, tally.quarantined, server_time(database))
                tally.kept = len(tally.quarantined)
            _keep_away(database, batch, tally)
            bulk(database["snapshots"], [InsertOne(page_document(place)) for place in batch.snapshots])
        return tally.written()

    def correct(self, listings: Sequence[Listing], job: str) -> Mapping[str, int]:
        """Return how many were `corrected`, `unchanged`, `unknown` and `refused`."""
        counts: Counter[str] = Counter(corrected=0, unchanged=0, unknown=0)
        waiting = {id_of(listing.portal, listing.ref): as_kept(listing) for listing in listings}
        with self.connection.database() as database:
            while waiting:
                waiting = _correct(database, waiting, job, counts)
        return counts


@dataclass(slots=True)
class _Plan:
    """The writes that a batch needs."""

    now: Now
    changes: list[Change] = field(default_factory=list)
    touches: dict[str, tuple[int, Times]] = field(default_factory=dict)
    """id -> the revision that was seen again, and when."""
    departures: list[InsertOne[Any]] = field(default_factory=list)
    late: dict[str, int] = field(default_factory=dict)
    """id -> number of its observations that are older than what is stored."""
    newest: set[str] = field(default_factory=set)
    """Listings that were not seen later, as far as was read."""

    def add(self, database: Database[Document], id: str, observed: Observations, known: Known) -> None:
        """Raises one of REFUSED."""
        dated = [Dated(_kept(item), job, stored_time(at)) for item, job, at in self.now.dated(observed)]
        times = times_of(dated)
        if times.seen is not None and (id not in known.seen_at or times.seen >= known.seen_at[id]):
            self.newest.add(id)
        if id in known.unchanged:
            self.touches[id] = known.unchanged[id], times
            return
        before = known.states.get(id)
        outcome = decide(before, dated, self.now.database)
        if outcome.late_prices:
            add_late_prices(outcome, _prices_of(database, id))
        self.late[id] = outcome.late
        self.departures += [InsertOne(screened(_departure(*each))) for each in outcome.evidence]
        if outcome.changed(before):
            self.changes.append(Change(before, outcome, times))
        elif before is not None and times.seen is not None and not outcome.evidence:
            self.touches[id] = before.revision, times

    def touch(self, id: str) -> Document:
        """The update of a listing that was seen again."""
        times = self.touches[id][1]
        update: Document = {"$max": latest_times(times)}
        if id in self.newest:
            update["$set"] = {"last_job": times.job}
        return update


def _prices_of(database: Database[Document], id: str) -> list[PriceSeen]:
    found = database["listings"].find_one({"_id": id}, {"portal": 1, "ref": 1, "prices": 1}) or {}
    return [price_of(found["portal"], found["ref"], each) for each in found.get("prices", ())]


def _named(observations: Mapping[tuple[str, str], Observations], tally: Tally) -> dict[str, Observations]:
    """Return the observations by document id. A key that cannot be an id is refused."""
    named = {}
    for key, observed in observations.items():
        try:
            name = id_of(*key)
            name.encode()
            named[name] = observed
        except REFUSED as error:
            tally.refuse(observed, error)
    return named


def _observe(
    database: Database[Document], waiting: Mapping[str, Observations], tally: Tally
) -> dict[str, Observations]:
    """Write them. Return those that another worker has written meanwhile."""
    plan = _Plan(Now(server_time(database), steady()))
    known = known_of(database, waiting)
    refused: dict[str, object] = {}
    waiting = {id: observed for id, observed in waiting.items() if id not in known.erased}
    for id, observed in waiting.items():
        try:
            plan.add(database, id, observed, known)
        except REFUSED as error:
            refused[id] = error
    bulk(database["departures"], plan.departures)
    applied = apply(database, plan.changes)
    lost = {change.id for change in applied.lost} | _touch(database, plan)
    refused |= {change.id: reason for change, reason in applied.refused}
    for id, observed in waiting.items():
        if id in refused:
            tally.refuse(observed, refused[id])
        elif id not in lost:
            tally.count(observed, is_known=id in known)
            tally.late += plan.late.get(id, 0)
    tally.events += Counter(event.type for change in applied.done for event in change.outcome.events)
    return {id: waiting[id] for id in lost}


def _touch(database: Database[Document], plan: _Plan) -> set[str]:
    """Set the times at which listings were seen. Return those that another worker has changed meanwhile, for example
    delisted.

    MongoDB reports how many were matched, not which. They are found by their revisions, which never come back.
    """
    listings = database["listings"]
    touches = plan.touches
    statements = [UpdateOne({"_id": id, "revision": revision}, plan.touch(id)) for id, (revision, _) in touches.items()]
    if bulk(listings, statements).matched == len(touches):
        return set()
    found = {
        each["_id"]: each.get("revision") for each in listings.find({"_id": {"$in": list(touches)}}, {"revision": 1})
    }
    return {id for id, (revision, _) in touches.items() if found.get(id) != revision}


def _correct(
    database: Database[Document], waiting: Mapping[str, Listing], job: str, counts: Counter[str]
) -> dict[str, Listing]:
    """Write them. Return those that another worker has written meanwhile."""
    now = server_time(database)
    documents = documents_of(database, list(waiting), {"events": 0})
    changes = []
    for id, document in documents.items():
        before = state_of(document)
        try:
            outcome = correct(before, waiting[id], job, now, repriced=is_repriced(document))
        except REFUSED:
            counts["refused"] += 1
            continue
        if outcome.changed(before):
            changes.append(Change(before, outcome))
        else:
            counts["unchanged"] += 1
    applied = apply(database, changes)
    counts["corrected"] += len(applied.done)
    counts["unknown"] += len(waiting) - len(documents)
    if applied.refused:
        counts["refused"] += len(applied.refused)
    return {change.id: waiting[change.id] for change in applied.lost}


def is_repriced(document: Document) -> bool:
    """Whether the newest price was seen on a search page, after its detail page."""
    believed = [seen["source"] for seen in document["prices"] if not seen["suspect"] and seen["source"] != "late"]
    return believed[-1:] == ["search"]


def _kept(item: Any) -> Any:
    return as_kept(item) if isinstance(item, Listing) else item


def _keep_away(database: Database[Document], batch: Batch, tally: Tally) -> None:
    """Delete evidence and quarantine entries of erased listings. Called after the write."""
    keys = {(each[0].portal, each[0].ref) for each in batch.observed if isinstance(each[0], Gone)}
    keys |= {(item.portal, item.ref) for item in tally.quarantined}
    storable_keys = {(storable(portal), storable(ref)) for portal, ref in keys}
    if erased := erased_among(database, storable_keys):
        remove_aside(database, erased)


def _departure(gone: Gone, job: str, now: datetime) -> Document:
    """A document for the evidence. Of each kind only the first of a job is kept."""
    name = departure_name(job, gone.portal, gone.ref, gone.evidence)
    return {"_id": name, "job": job, **asdict(gone), "at": now, "weighed": []}


def departure_name(job: str, portal: str, ref: str, evidence: str) -> str:
    return msgspec.json.encode([job, portal, ref, evidence]).decode()


_STATE = {"events": 0, "prices": 0}


class Releases:
    """Writes listings that are released from quarantine, and reads current states."""

    connection: Connection

    def current(self, portal: str, refs: Sequence[str]) -> Mapping[str, Current]:
        with self.connection.database() as database:
            found = documents_of(database, [id_of(portal, ref) for ref in refs], {"events": 0})
        return {each["ref"]: Current(state_of(each), is_repriced(each)) for each in found.values()}

    def release(self, listings: Sequence[Listing], job: str) -> Mapping[str, int]:
        """Release one by one: each has another time, and a listing may come several times."""
        counts: Counter[str] = Counter()
        with self.connection.database() as database:
            for listing in listings:
                try:
                    counts[_released(database, as_kept(listing), job)] += 1
                except REFUSED:
                    counts["refused"] += 1
        return counts


def _released(database: Database[Document], listing: Listing, job: str) -> str:
    """Release the listing, and return the result. Repeats while another worker writes the listing."""
    id = id_of(listing.portal, listing.ref)
    while True:
        now = server_time(database)
        known = found_of(database, [id], _STATE).get(id)
        if known is not None and is_tombstone(known):
            return "erased"
        before = state_of(known) if known else None
        at = stored_time(fetched(listing, now))
        outcome = release(before, listing, job, now)
        if outcome.changed(before):
            applied = apply(database, [Change(before, outcome, NOT_SEEN._replace(job=job))])
            if applied.refused:
                raise Refused(applied.refused[0][1])
            if applied.lost:
                continue
        _seen_then(database, listing, at)
        return "released"


def _seen_then(database: Database[Document], listing: Listing, at: datetime) -> None:
    """Set the times of the last sighting and fetch, unless they are later already."""
    key = {"portal": listing.portal, "ref": listing.ref}
    seen = {"$max": {"last_seen_at": at, "last_fetched_at": at}}
    database["listings"].update_one({"_id": id_of(**key), **key}, seen)
    database["quarantine"].delete_many({**key, "quarantined_at": {"$lte": at + SLACK}})

"""Writing: read what is known, decide, change; again for what somebody else has written meanwhile."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

import msgspec
from pymongo import InsertOne, UpdateOne
from pymongo.database import Database

from realestate.items import Gone, Listing
from realestate.storage.changes import correct, decide
from realestate.storage.mongo.change import Change, apply
from realestate.storage.mongo.connection import REFUSED, Connection, Document, bulk, server_time
from realestate.storage.mongo.documents import as_kept, id_of, screened, state_of
from realestate.storage.mongo.erased import erased_among, remove_aside
from realestate.storage.mongo.known import Known, documents_of, known_of
from realestate.storage.mongo.looking import page_document
from realestate.storage.mongo.others import write_others
from realestate.storage.mongo.quarantine import quarantine
from realestate.storage.storable import storable
from realestate.storage.store import Batch, Written
from realestate.storage.tally import Observations, Tally, by_listing, is_read, is_seen


class Writing:
    """The part of the store that writes listings."""

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

    def correct(self, listings: Sequence[Listing], run: str) -> Mapping[str, int]:
        """How many were `corrected`, `unchanged`, `unknown` and `refused`."""
        counts: Counter[str] = Counter(corrected=0, unchanged=0, unknown=0)
        waiting = {id_of(listing.portal, listing.ref): as_kept(listing) for listing in listings}
        with self.connection.database() as database:
            while waiting:
                waiting = _correct(database, waiting, run, counts)
        return counts


@dataclass(slots=True)
class _Plan:
    """What a batch comes to."""

    now: datetime
    changes: list[Change] = field(default_factory=list)
    touches: dict[str, tuple[int, str, bool]] = field(default_factory=dict)
    """id -> the revision that was seen again, the run, and whether its own page was read."""
    departures: list[InsertOne[Any]] = field(default_factory=list)

    def add(self, id: str, observed: Observations, known: Known) -> None:
        """Raises one of REFUSED."""
        run = observed[-1][1]
        if id in known.unchanged:
            self.touches[id] = known.unchanged[id], run, is_read(observed)
            return
        before = known.states.get(id)
        outcome = decide(before, [(_kept(item), each) for item, each in observed], self.now)
        self.departures += [InsertOne(screened(_departure(gone, each, self.now))) for gone, each in outcome.evidence]
        if outcome.changed(before):
            self.changes.append(Change(before, outcome, self.now, run, is_seen(observed), is_read(observed)))
        elif before is not None and is_seen(observed) and not outcome.evidence:
            self.touches[id] = before.revision, run, is_read(observed)


def _named(observations: Mapping[tuple[str, str], Observations], tally: Tally) -> dict[str, Observations]:
    """By the names of their documents; all but what no document can be named."""
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
    """Those that somebody else has written meanwhile."""
    plan, known = _Plan(server_time(database)), known_of(database, waiting)
    refused: dict[str, object] = {}
    waiting = {id: observed for id, observed in waiting.items() if id not in known.erased}
    for id, observed in waiting.items():
        try:
            plan.add(id, observed, known)
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
    tally.events += Counter(event.type for change in applied.done for event in change.outcome.events)
    return {id: waiting[id] for id in lost}


def _touch(database: Database[Document], plan: _Plan) -> set[str]:
    """Those that somebody else has changed meanwhile: whoever delists a listing at this moment has not seen it.

    MongoDB tells how many, not which. As no revision returns, they are found by looking.
    """
    listings, touches = database["listings"], plan.touches
    seen = {"last_seen_at": plan.now}
    read = {**seen, "last_fetched_at": plan.now}
    statements = [
        UpdateOne({"_id": id, "revision": revision}, {"$max": read if is_read else seen, "$set": {"last_run": run}})
        for id, (revision, run, is_read) in touches.items()
    ]
    if bulk(listings, statements).matched == len(touches):
        return set()
    found = {
        each["_id"]: each.get("revision") for each in listings.find({"_id": {"$in": list(touches)}}, {"revision": 1})
    }
    return {id for id, (revision, _, _) in touches.items() if found.get(id) != revision}


def _correct(
    database: Database[Document], waiting: Mapping[str, Listing], run: str, counts: Counter[str]
) -> dict[str, Listing]:
    """Those that somebody else has written meanwhile."""
    now = server_time(database)
    documents = documents_of(database, list(waiting), {"events": 0})
    changes = []
    for id, document in documents.items():
        before = state_of(document)
        try:
            outcome = correct(before, waiting[id], run, now, repriced=is_repriced(document))
        except REFUSED:
            counts["refused"] += 1
            continue
        if outcome.changed(before):
            changes.append(Change(before, outcome, now))
        else:
            counts["unchanged"] += 1
    applied = apply(database, changes)
    counts["corrected"] += len(applied.done)
    counts["unknown"] += len(waiting) - len(documents)
    if applied.refused:
        counts["refused"] += len(applied.refused)
    return {change.id: waiting[change.id] for change in applied.lost}


def is_repriced(document: Document) -> bool:
    """Whether its price was told by a search page, after its own."""
    believed = [seen["source"] for seen in document["prices"] if not seen["suspect"]]
    return believed[-1:] == ["search"]


def _kept(item: Any) -> Any:
    return as_kept(item) if isinstance(item, Listing) else item


def _keep_away(database: Database[Document], batch: Batch, tally: Tally) -> None:
    """See `erased`: evidence and quarantine have been written, now is the time to look."""
    keys = {(item.portal, item.ref) for item, _ in batch.observed if isinstance(item, Gone)}
    keys |= {(item.portal, item.ref) for item in tally.quarantined}
    storable_keys = {(storable(portal), storable(ref)) for portal, ref in keys}
    if erased := erased_among(database, storable_keys):
        remove_aside(database, erased)


def _departure(gone: Gone, run: str, now: datetime) -> Document:
    """Of each kind of evidence the first of a run."""
    name = departure_name(run, gone.portal, gone.ref, gone.evidence)
    return {"_id": name, "run": run, **asdict(gone), "at": now, "weighed": []}


def departure_name(run: str, portal: str, ref: str, evidence: str) -> str:
    return msgspec.json.encode([run, portal, ref, evidence]).decode()

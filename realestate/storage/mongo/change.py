"""Read stored documents and change them. Each change is one write of one document."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from pymongo import InsertOne, UpdateOne
from pymongo.database import Database

from realestate.items import Listing, Sighting
from realestate.storage.batch import NOT_SEEN, Key, Observations, Times
from realestate.storage.changes import OFF_THE_MARKET, SAME
from realestate.storage.history import Event, Observed, Outcome, State
from realestate.storage.mongo.connection import REFUSED, Document, Documents, bulk, pieces
from realestate.storage.mongo.documents import (
    as_kept,
    event_document,
    id_of,
    money,
    price_document,
    screened,
    state_document,
    state_of,
    stored_time,
)
from realestate.storage.mongo.event_log import LISTINGS, Log, revisions_of
from realestate.storage.prices import MEANING, MONEY
from realestate.storage.query.matching import derived
from realestate.storage.records import erased_name

#: Collections with data about a listing, other than `listings` and the log.
ASIDE = ("departures", "quarantine", "contacts")


def tombstone(at: datetime) -> Document:
    return {"erased_at": at}


def is_tombstone(listing: Mapping[str, Any]) -> bool:
    return "erased_at" in listing


def mark_name(kind: str, what: str) -> str:
    return f"{kind}:{what}"


def marks_of_portal(portal: str) -> Document:
    """A range of the marks of the portal's erased listings: the portal's name, a slash, then anything. After the slash
    the next character is 0."""
    start = mark_name("listing", erased_name(portal, ""))
    return {"$gt": start, "$lt": f"{start[:-1]}0"}


def remember(database: Database[Document], kind: str, what: str, at: datetime, **beside: Any) -> None:
    """Record the erasure. If it is recorded already, its time stays."""
    update: Document = {"$setOnInsert": {"kind": kind, "what": what, "at": at}}
    if beside:
        update["$set"] = beside
    bulk(database["erased"], [UpdateOne({"_id": mark_name(kind, what)}, update, upsert=True)])


def remembered(database: Database[Document], kind: str, what: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for some in pieces(what):
        names = [mark_name(kind, each) for each in some]
        found |= {each["what"] for each in database["erased"].find({"_id": {"$in": names}}, {"what": 1})}
    return found


def erased_among(database: Database[Document], keys: Iterable[Key]) -> set[Key]:
    names = {erased_name(*key): key for key in keys}
    return {names[what] for what in remembered(database, "listing", names)}


def remove_aside(
    database: Database[Document], keys: Iterable[Key], collections: Sequence[str] = ASIDE
) -> dict[str, int]:
    """Delete the records of these listings. Return how many there were, by collection."""
    refs: dict[str, list[str]] = {}
    for portal, ref in keys:
        refs.setdefault(portal, []).append(ref)
    removed = dict.fromkeys(collections, 0)
    for portal, every in refs.items():
        for some in pieces(every):
            for name in collections:
                gone = database[name].delete_many({"portal": portal, "ref": {"$in": some}})
                removed[name] += gone.deleted_count
    return removed


#: The fields that are needed to see whether a listing is unchanged.
_BRIEF = dict.fromkeys(
    ("revision", "status", *MONEY, "suspect", "unlogged", "erased_at", "last_seen_at", *SAME),
    1,
)
#: The history is long, and not part of the state.
_NO_HISTORY = {"events": 0, "prices": 0}


@dataclass(frozen=True, slots=True)
class Known:
    """For each stored listing: its revision if it is unchanged, its state if it has to be compared."""

    unchanged: Mapping[str, int]
    states: Mapping[str, State]
    erased: frozenset[str]
    """Erased listings: they must not be stored again."""
    seen_at: Mapping[str, datetime]
    """When each stored listing was last seen."""

    def __contains__(self, id: str) -> bool:
        return id in self.unchanged or id in self.states


def known_of(database: Database[Document], observations: Mapping[str, Observations]) -> Known:
    found = found_of(database, list(observations), _BRIEF)
    brief = {id: each for id, each in found.items() if not is_tombstone(each)}
    unchanged = {id: each["revision"] for id, each in brief.items() if is_unchanged(each, observations[id])}
    changed = documents_of(database, [id for id in brief if id not in unchanged], _NO_HISTORY)
    states = {id: state_of(document) for id, document in changed.items()}
    seen_at = {id: each["last_seen_at"] for id, each in brief.items()}
    return Known(unchanged, states, frozenset(found.keys() - brief.keys()), seen_at)


def documents_of(database: Database[Document], ids: Sequence[str], shown: Mapping[str, int]) -> dict[str, Document]:
    """The stored documents, by id; without tombstones."""
    return {id: each for id, each in found_of(database, ids, shown).items() if not is_tombstone(each)}


def found_of(
    database: Database[Document], ids: Sequence[str], shown: Mapping[str, int], collection: str = LISTINGS
) -> dict[str, Document]:
    """The documents by id, with tombstones.

    `shown` must include `unlogged`. Events that another worker did not copy to the log are copied first, so that the
    events of a listing are in the log in their order.
    """
    if not ids:
        return {}
    documents = database[collection].find({"_id": {"$in": ids}}, shown).batch_size(len(ids) + 1)
    found = {each["_id"]: each for each in documents}
    if waiting := [id for id, document in found.items() if document.get("unlogged")]:
        Log(database, collection).recover(waiting)
    return found


def is_unchanged(known: Document, observed: Observations) -> bool:
    """Whether nothing has changed: see `changes.SAME`; of a sighting what it shows is compared. An item that cannot
    be compared counts as changed; `decide` then refuses it."""
    if len(observed) > 1 or "suspect" in known or known["status"] in OFF_THE_MARKET:
        return False
    try:
        return _is_as(known, observed[0].item)
    except REFUSED:
        return False


def _is_as(known: Document, item: Observed) -> bool:
    if isinstance(item, Sighting):
        shown = {name: value for name in (*MEANING, "status") if (value := getattr(item, name)) is not None}
        if any(known.get(name) != value for name, value in shown.items()):
            return False
        return item.price is None or ("price" in known and item.price == money(known["price"]))
    if isinstance(item, Listing) and item.content_hash is not None:
        kept = as_kept(item)
        return all(getattr(kept, name) == known.get(name) for name in SAME)
    return False


#: Another worker may have seen the listing later than this one, so these only grow.
_CLOCK = ("last_seen_at", "last_fetched_at")


def latest_times(times: Times) -> Document:
    """The times of a listing that an update raises."""
    found = {"last_seen_at": times.seen, "last_fetched_at": times.read, "price_sighted_at": times.price_sighted}
    return {name: stored_time(at) for name, at in found.items() if at is not None}


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one listing."""

    before: State | None
    outcome: Outcome
    times: Times = NOT_SEEN
    unseen_since: datetime | None = None
    """Not applied if the listing was seen later than this."""

    @property
    def id(self) -> str:
        assert self.outcome.state is not None
        return id_of(self.outcome.state.listing.portal, self.outcome.state.listing.ref)

    @property
    def revision(self) -> int:
        assert self.outcome.state is not None
        return self.outcome.state.revision

    @property
    def events(self) -> Sequence[Event]:
        return self.outcome.events

    def statement(self) -> InsertOne[Any] | UpdateOne:
        """Raises one of REFUSED if no server would take it."""
        assert self.outcome.state is not None
        state = state_document(self.outcome.state)
        history = self._history()
        kept = {name: value for name, value in state.items() if value is not None}
        kept |= derived_fields(self.outcome.events)
        times = latest_times(self.times)
        if self.before is None or self._is_newest():
            kept["last_job"] = self.times.job
        if self.before is None:
            return InsertOne(screened({"_id": self.id, **kept, **times, **history}))
        update = {
            "$set": {name: value for name, value in kept.items() if name not in _CLOCK},
            "$unset": dict.fromkeys(state.keys() - kept.keys(), ""),
            "$max": times,
            "$push": {name: {"$each": more} for name, more in history.items() if more},
        }
        update = {operator: what for operator, what in update.items() if what}
        screened(update)
        # If the revision has changed, MongoDB tries to insert a new document. That fails, and the error has its index.
        return UpdateOne(self._expected(), update, upsert=True)

    def _is_newest(self) -> bool:
        """Whether this is the newest sighting, as far as was read."""
        assert self.before is not None
        seen = self.times.seen
        before = self.before.listing.last_seen_at
        return seen is not None and (before is None or seen >= before)

    def _history(self) -> dict[str, list[Any]]:
        events = self.outcome.events
        prices = self.outcome.prices
        return {
            "events": list(map(event_document, events)),
            "prices": list(map(price_document, prices)),
            "unlogged": sorted({event.revision for event in events}),
        }

    def _expected(self) -> Document:
        assert self.before is not None
        expected: Document = {
            "_id": self.id,
            "revision": self.before.revision,
            "last_fetched_at": self.before.listing.last_fetched_at,
            "price_sighted_at": self.before.price_sighted_at,
        }
        if self.unseen_since is not None:
            expected["last_seen_at"] = {"$lte": self.unseen_since}
        return expected


def derived_fields(events: Sequence[Event]) -> Document:
    """The fields of a listing's document that follow from its newest events."""
    found = derived(events)
    times: Document = {name: stored_time(found[name]) for name in ("changed_at", "price_changed_at") if name in found}
    if "cheaper_by" in found:
        percent = found["cheaper_by"]
        return {**times, "cheaper_by": None if percent is None else float(percent)}
    return times


class Changing(Protocol):
    """A change of one document, of any kind."""

    @property
    def id(self) -> str: ...
    @property
    def revision(self) -> int: ...
    @property
    def events(self) -> Sequence[Event]: ...
    def statement(self) -> InsertOne[Any] | UpdateOne: ...


C = TypeVar("C", bound=Changing)


@dataclass(slots=True)
class Applied(Generic[C]):
    done: list[C] = field(default_factory=list)
    lost: list[C] = field(default_factory=list)
    """Not written, because another worker has written them meanwhile."""
    refused: list[tuple[C, str]] = field(default_factory=list)


def apply(database: Database[Document], changes: Iterable[C], collection: str = LISTINGS) -> Applied[C]:
    applied: Applied[C] = Applied()
    statements = []
    tried = list[C]()
    for change in changes:
        try:
            statements.append(change.statement())
            tried.append(change)
        except REFUSED as error:
            applied.refused.append((change, str(error)))
    log = Log(database, collection)
    end = log.end() if any(change.events for change in tried) else 0
    done = bulk(database[collection], statements)
    for place, change in enumerate(tried):
        if place in done.refused:
            applied.refused.append((change, done.refused[place]))
        elif place in done.existing or place in done.upserted:
            applied.lost.append(change)
        else:
            applied.done.append(change)
    _undo(database[collection], [tried[place] for place in done.upserted])
    log.append(end, [revision for change in applied.done for revision in revisions_of(change.events)])
    return applied


def _undo(documents: Documents, changes: Sequence[Changing]) -> None:
    """Delete documents that an upsert made because the original was deleted meanwhile."""
    for change in changes:
        documents.delete_one({"_id": change.id, "revision": change.revision})

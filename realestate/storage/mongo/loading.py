"""Records as documents, in collections beside the true ones: see `switching`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from operator import itemgetter
from typing import Any

from pymongo import InsertOne, UpdateOne
from pymongo.database import Database

from realestate.storage.history import Event, PriceSeen, State
from realestate.storage.mongo.connection import REFUSED, Document, Refused, bulk
from realestate.storage.mongo.contacts import contacts_document
from realestate.storage.mongo.documents import event_document, id_of, moment, price_document, screened, state_document
from realestate.storage.mongo.erased import mark_name, tombstone
from realestate.storage.mongo.log import SOURCES, entries, last_entry
from realestate.storage.mongo.looking import page_document
from realestate.storage.mongo.others import other_document
from realestate.storage.mongo.paging import pieces
from realestate.storage.mongo.planning import part_name
from realestate.storage.mongo.quarantine import entry_document
from realestate.storage.mongo.runs import run_document
from realestate.storage.mongo.writing import departure_name
from realestate.storage.others import StoredOther
from realestate.storage.records import (
    Departure,
    ErasedMark,
    PlannedPart,
    StoredListing,
    StoredRun,
    Watermark,
    listing_of,
)
from realestate.storage.store import Numbered

#: Records on their way at a time.
_TOGETHER = 1000
#: What the verdicts of runs were about, by the name that `runs` looks for.
_WEIGHED = "restored"


class Loading:
    """Into collections whose names begin so."""

    def __init__(self, database: Database[Document], prefix: str) -> None:
        self._database = database
        self._prefix = prefix
        self._last_seq = self._numbered = 0

    def load(self, records: Iterable[tuple[str, Any]]) -> None:
        """Raises Refused if something cannot be stored, or is there twice."""
        special = {"numbering": self._number, "events": self._tell, "prices": self._price, "erased": self._keep_away}
        for part, told in groupby(records, itemgetter(0)):
            for some in pieces((each for _, each in told), _TOGETHER):
                if part in special:
                    special[part](some)
                else:
                    self._insert(part, map(_DOCUMENTS[part], some))
        if self._numbered > self._last_seq:
            self._insert("events", [last_entry(self._numbered)])

    def _number(self, told: Sequence[Any]) -> None:
        """No number is given twice, also of what the file does not have any more."""
        self._numbered = max(each.last_seq for each in told)

    def _tell(self, told: Sequence[Numbered]) -> None:
        for each in told:
            if each.seq <= self._last_seq:
                raise Refused(f"event {each.seq} follows event {self._last_seq}")
            self._last_seq = each.seq
        self._insert("events", entries(told))
        self._push("events", event_document, [each.event for each in told])

    def _price(self, told: Sequence[PriceSeen]) -> None:
        self._push("prices", price_document, told)

    def _keep_away(self, told: Sequence[ErasedMark]) -> None:
        self._insert("erased", map(_mark, told))
        listings = (each for each in told if each.kind == "listing")
        tombstones = [{"_id": _id_of_mark(each), **tombstone(moment(each.at))} for each in listings]
        for collection in SOURCES:
            self._insert(collection, tombstones)

    def _insert(self, collection: str, documents: Iterable[Document]) -> None:
        names, made = [], []
        try:
            for document in documents:
                names.append(document["_id"])
                made.append(InsertOne(screened(document)))
        except REFUSED as error:
            raise Refused(f"{collection}: {error}") from error
        done = bulk(self._database[self._prefix + collection], made)
        for place in done.existing:
            raise Refused(f"{names[place]} is twice in {collection}")
        for place, reason in done.refused.items():
            raise Refused(f"{names[place]} in {collection}: {reason}")

    def _push(
        self, what: str, document: Callable[[Any], Document], told: Sequence[Event] | Sequence[PriceSeen]
    ) -> None:
        """Into their listings' documents; what is no home has none of its own."""
        more: dict[str, list[Document]] = {}
        for each in told:
            more.setdefault(id_of(each.portal, each.ref), []).append(document(each))
        pushes = [UpdateOne({"_id": id}, {"$push": {what: {"$each": some}}}) for id, some in more.items()]
        listings = self._database[self._prefix + "listings"]
        done = bulk(listings, pushes)
        for place, reason in done.refused.items():
            raise Refused(f"{what} of {list(more)[place]}: {reason}")
        if done.matched < len(more):
            self._demand_known(what, list(more))

    def _demand_known(self, what: str, ids: Sequence[str]) -> None:
        unknown = set(ids)
        for collection in SOURCES:
            found = self._database[self._prefix + collection].find({"_id": {"$in": ids}}, {"_id": 1})
            unknown -= {each["_id"] for each in found}
        if unknown:
            raise Refused(f"{what} of {', '.join(sorted(unknown)[:3])}, which is no item of the file")


def _listing(stored: StoredListing) -> Document:
    state = State(listing_of(stored.listing), stored.revision, stored.suspect)
    kept = {name: value for name, value in state_document(state).items() if value is not None}
    history: Document = {"events": [], "prices": [], "unlogged": []}
    return {"_id": id_of(state.listing.portal, state.listing.ref), **kept, "last_run": stored.last_run, **history}


def _other(stored: StoredOther) -> Document:
    return {**other_document(stored), "events": [], "unlogged": []}


def _run(stored: StoredRun) -> Document:
    weighing = {} if stored.run.verdict is None else {"weighing": _WEIGHED}
    return {**run_document(stored.run), "offered": stored.offered, **weighing}


def _departure(told: Departure) -> Document:
    name = departure_name(told.run, told.portal, told.ref, told.evidence)
    return {"_id": name, **asdict(told), "at": moment(told.at), "weighed": [_WEIGHED] if told.weighed else []}


def _part(told: PlannedPart) -> Document:
    return {"_id": part_name(told.run, told.search), **asdict(told)}


def _watermark(told: Watermark) -> Document:
    return {"_id": id_of(told.portal, told.scope), **asdict(told), "set_at": moment(told.set_at)}


def _mark(told: ErasedMark) -> Document:
    return {"_id": mark_name(told.kind, told.what), **asdict(told), "at": moment(told.at)}


def _id_of_mark(told: ErasedMark) -> str:
    portal, _, ref = told.what.partition("/")
    return id_of(portal, ref)


_DOCUMENTS: Mapping[str, Callable[[Any], Document]] = {
    "listings": _listing,
    "others": _other,
    "runs": _run,
    "departures": _departure,
    "parts": _part,
    "watermarks": _watermark,
    "quarantine": entry_document,
    "snapshots": page_document,
    "contacts": contacts_document,
}

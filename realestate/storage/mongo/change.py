"""Changes of listings: each is one write of one document, done only where nobody else has written since it was read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from pymongo import InsertOne, UpdateOne
from pymongo.database import Database

from realestate.storage.history import Event, Outcome, State
from realestate.storage.mongo.connection import REFUSED, Document, Documents, bulk
from realestate.storage.mongo.documents import event_document, id_of, price_document, screened, state_document
from realestate.storage.mongo.log import LISTINGS, Log, tellings

#: Theirs is the server's clock; a listing may have been seen by another worker, later than by us.
_CLOCK = ("last_seen_at", "last_fetched_at")


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a listing."""

    before: State | None
    outcome: Outcome
    now: datetime
    run: str = ""
    """By which it was seen."""
    seen: bool = False
    read: bool = False
    unseen_since: datetime | None = None
    """Void if the listing was seen later than this."""

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
        state, told = state_document(self.outcome.state), self._told()
        kept = {name: value for name, value in state.items() if value is not None}
        if self.seen or self.before is None:
            kept["last_run"] = self.run
        if self.before is None:
            return InsertOne(screened({"_id": self.id, **kept, **told}))
        update = {
            "$set": {name: value for name, value in kept.items() if name not in _CLOCK},
            "$unset": dict.fromkeys(state.keys() - kept.keys(), ""),
            "$max": {name: self.now for name, moves in zip(_CLOCK, (self.seen, self.read), strict=True) if moves},
            "$push": {name: {"$each": more} for name, more in told.items() if more},
        }
        update = {operator: what for operator, what in update.items() if what}
        screened(update)
        # Where the listing is not as it was, MongoDB tries to insert another: that fails, and is told by its place.
        return UpdateOne(self._expected(), update, upsert=True)

    def _told(self) -> dict[str, list[Any]]:
        events, prices = self.outcome.events, self.outcome.prices
        return {
            "events": list(map(event_document, events)),
            "prices": list(map(price_document, prices)),
            "unlogged": sorted({event.revision for event in events}),
        }

    def _expected(self) -> Document:
        assert self.before is not None
        expected: Document = {"_id": self.id, "revision": self.before.revision}
        if self.unseen_since is not None:
            expected["last_seen_at"] = {"$lte": self.unseen_since}
        return expected


class Changing(Protocol):
    """What becomes of one document, of whatever kind."""

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
    """Somebody else has written them meanwhile."""
    refused: list[tuple[C, str]] = field(default_factory=list)


def apply(database: Database[Document], changes: Iterable[C], collection: str = LISTINGS) -> Applied[C]:
    applied: Applied[C] = Applied()
    statements, tried = [], list[C]()
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
    log.append(end, [told for change in applied.done for told in tellings(change.events)])
    return applied


def _undo(documents: Documents, changes: Sequence[Changing]) -> None:
    """What was deleted since it was read is not there again."""
    for change in changes:
        documents.delete_one({"_id": change.id, "revision": change.revision})

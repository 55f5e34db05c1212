"""What the database knows of some listings. Of those that did not change, only that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pymongo.database import Database

from realestate.items import Listing, Sighting
from realestate.storage.changes import OFF_THE_MARKET, SAME
from realestate.storage.history import Observed, State
from realestate.storage.mongo.connection import REFUSED, Document
from realestate.storage.mongo.documents import as_kept, money, state_of
from realestate.storage.mongo.erased import is_tombstone
from realestate.storage.mongo.log import LISTINGS, Log
from realestate.storage.tally import Observations

#: Enough to tell whether a listing is as it was.
_BRIEF = dict.fromkeys(("revision", "status", "price", "suspect", "unlogged", "erased_at", *SAME), 1)
#: What is long, and no part of a listing's state.
_HISTORY = {"events": 0, "prices": 0}


@dataclass(frozen=True, slots=True)
class Known:
    """Of each listing that is stored: its revision if it is unchanged, its state if that has to be compared."""

    unchanged: Mapping[str, int]
    states: Mapping[str, State]
    erased: frozenset[str]
    """They are not to be stored again."""

    def __contains__(self, id: str) -> bool:
        return id in self.unchanged or id in self.states


def known_of(database: Database[Document], observations: Mapping[str, Observations]) -> Known:
    found = found_of(database, list(observations), _BRIEF)
    brief = {id: each for id, each in found.items() if not is_tombstone(each)}
    unchanged = {id: each["revision"] for id, each in brief.items() if is_unchanged(each, observations[id])}
    changed = documents_of(database, [id for id in brief if id not in unchanged], _HISTORY)
    states = {id: state_of(document) for id, document in changed.items()}
    return Known(unchanged, states, frozenset(found.keys() - brief.keys()))


def documents_of(database: Database[Document], ids: Sequence[str], shown: Mapping[str, int]) -> dict[str, Document]:
    """Those that are stored."""
    return {id: each for id, each in found_of(database, ids, shown).items() if not is_tombstone(each)}


def found_of(
    database: Database[Document], ids: Sequence[str], shown: Mapping[str, int], collection: str = LISTINGS
) -> dict[str, Document]:
    """With what stands in place of the erased.

    `shown` is to include `unlogged`. What others left behind of that is logged first: a listing's events stand in the
    log in the order in which they happened.
    """
    if not ids:
        return {}
    documents = database[collection].find({"_id": {"$in": ids}}, shown).batch_size(len(ids) + 1)
    found = {each["_id"]: each for each in documents}
    if waiting := [id for id, document in found.items() if document.get("unlogged")]:
        Log(database, collection).recover(waiting)
    return found


def is_unchanged(known: Document, observed: Observations) -> bool:
    """Nothing is left to decide: see `changes.SAME`; of a sighting, its price. What cannot be compared is left to who
    decides, and refuses it."""
    if len(observed) > 1 or "suspect" in known or known["status"] in OFF_THE_MARKET:
        return False
    try:
        return _is_as(known, observed[0][0])
    except REFUSED:
        return False


def _is_as(known: Document, item: Observed) -> bool:
    if isinstance(item, Sighting):
        return item.price is None or ("price" in known and item.price == money(known["price"]))
    if isinstance(item, Listing) and item.content_hash is not None:
        kept = as_kept(item)
        return all(getattr(kept, name) == known.get(name) for name in SAME)
    return False

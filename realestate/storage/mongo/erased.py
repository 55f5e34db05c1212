"""What was erased stays away.

The collection `erased` remembers it. In `listings`, and in `others`, a tombstone stands in its place, a document of its
name and nothing else: whoever would insert it finds the name taken, whoever would change it finds no revision of it, so
the very statement that would store it again fails, whatever its worker knew.

Evidence, quarantine and contacts are documents of their own. Who erases remembers first and removes then; who writes
them writes first and then looks whether it is remembered: of the two, one comes last and removes them.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pymongo import UpdateOne
from pymongo.database import Database

from realestate.storage.mongo.connection import Document, bulk
from realestate.storage.mongo.paging import pieces
from realestate.storage.records import erased_name
from realestate.storage.tally import Key

#: Where something is told of a listing, beside its own document and the log.
ASIDE = ("departures", "quarantine", "contacts")


def tombstone(at: datetime) -> Document:
    return {"erased_at": at}


def is_tombstone(listing: Mapping[str, Any]) -> bool:
    return "erased_at" in listing


def mark_name(kind: str, what: str) -> str:
    return f"{kind}:{what}"


def marks_of_portal(portal: str) -> Document:
    """Names of all its erased listings: they begin with the portal's name and a slash; a zero follows the slash."""
    start = mark_name("listing", erased_name(portal, ""))
    return {"$gt": start, "$lt": f"{start[:-1]}0"}


def remember(database: Database[Document], kind: str, what: str, at: datetime, **beside: Any) -> None:
    """Since when, is told once."""
    told: Document = {"$setOnInsert": {"kind": kind, "what": what, "at": at}}
    if beside:
        told["$set"] = beside
    bulk(database["erased"], [UpdateOne({"_id": mark_name(kind, what)}, told, upsert=True)])


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
    """How many there were, by collection."""
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

"""Contacts, retention and erasure; check the collections, and repair what can be repaired while workers run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta

from pymongo import UpdateOne
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError

from realestate.storage.changes import OFF_THE_MARKET
from realestate.storage.contacts import Sealed
from realestate.storage.errors import StoreError
from realestate.storage.maintenance import TRIMMED, Erased, Expired, Finding, without_texts
from realestate.storage.mongo.change import (
    erased_among,
    found_of,
    is_tombstone,
    mark_name,
    marks_of_portal,
    remember,
    remembered,
    remove_aside,
    tombstone,
)
from realestate.storage.mongo.connection import Connection, Document, Documents, bulk, pages, pieces, server_time
from realestate.storage.mongo.documents import id_of, packed, page_of, stored_time, unpacked
from realestate.storage.mongo.event_log import LISTINGS, Log, recover_all
from realestate.storage.mongo.homes import remove_from_home
from realestate.storage.mongo.read import CARDS, VALIDATORS, drop_cards, drop_validators
from realestate.storage.mongo.schema import COLLECTIONS, DEAD_AFTER, INDEXES, finish_restore, left_behind, make_indexes
from realestate.storage.mongo.write import OTHERS
from realestate.storage.records import SealedContacts, erased_name
from realestate.storage.snapshots import SnapshotRef


class ContactsKeeper:
    """Stores encrypted contacts."""

    connection: Connection

    def keep_contacts(self, contacts: Sequence[Sealed], days: int) -> None:
        """Contacts that were erased, or whose listing was, are not stored. This is checked before, so that nothing is
        overwritten, and after, because an erasure may happen meanwhile."""
        newest = {_contacts_name(each): each for each in contacts}
        with self.connection.database() as database:
            expires_at = server_time(database) + timedelta(days=days)
            unwanted = _unwanted(database, newest)
            wanted = {name: each for name, each in newest.items() if name not in unwanted}
            bulk(database["contacts"], [_upsert(name, each, expires_at) for name, each in wanted.items()])
            for name in _unwanted(database, wanted):
                database["contacts"].delete_one({"_id": name, "lookups": list(wanted[name].marks)})


def contacts_document(contacts: SealedContacts) -> Document:
    values = {**asdict(contacts), "expires_at": stored_time(contacts.expires_at)}
    return {"_id": _contacts_name(contacts), **values}


def contacts_of(document: Document) -> SealedContacts:
    values = {name: document[name] for name in ("portal", "ref", "lookups", "expires_at")}
    return SealedContacts(**values, sealed=bytes(document["sealed"]), source=document.get("source", "page"))


def _contacts_name(contacts: Sealed | SealedContacts) -> str:
    """The `_id`. Contacts of a page have the listing's id; those of another source add it after a slash."""
    portal = contacts.portal if contacts.source == "page" else f"{contacts.portal}/{contacts.source}"
    return id_of(portal, contacts.ref)


def _unwanted(database: Database[Document], contacts: Mapping[str, Sealed]) -> set[str]:
    keys = erased_among(database, {(each.portal, each.ref) for each in contacts.values()})
    marks = remembered(database, "contact", {mark for each in contacts.values() for mark in each.marks})
    return {
        name for name, each in contacts.items() if (each.portal, each.ref) in keys or not marks.isdisjoint(each.marks)
    }


def _upsert(name: str, each: Sealed, expires_at: datetime) -> UpdateOne:
    values = {"portal": each.portal, "ref": each.ref, "source": each.source, "lookups": list(each.marks)}
    return UpdateOne({"_id": name}, {"$set": {**values, "sealed": each.sealed, "expires_at": expires_at}}, upsert=True)


_WORDS: Document = {"$or": [{"description": {"$ne": None}}, {"photos": {"$ne": []}}, {"extra": {"$ne": {}}}]}
_NO_WORDS: Document = {"description": None, "photos": [], "extra": {}}
#: The content hash stays: if the listing is offered again unchanged, the only event is `relisted`.
_TRIM = {
    "$unset": {"description": ""},
    "$set": {"photos": [], "extra": {}},
    "$addToSet": {"quality_flags": TRIMMED},
}
_FOR_TOMBSTONE = dict.fromkeys(("revision", "unlogged", "prices", "erased_at"), 1)


class Retention:
    """Retention and erasure."""

    connection: Connection

    def expire(self, *, quarantine_days: float | None, delisted_days: float | None, dry_run: bool = False) -> Expired:
        with self.connection.database() as database:
            now = server_time(database)
            if not dry_run:
                finish_erasures(database)
            return Expired(
                quarantined=_drop_old(database, _ago(now, quarantine_days), dry_run),
                contacts=_drop_contacts(database, now, dry_run),
                trimmed=_trim(database, _ago(now, delisted_days), dry_run),
            )

    def erase(self, portal: str, ref: str) -> Erased:
        with self.connection.database() as database:
            now = server_time(database)
            remember(database, "listing", erased_name(portal, ref), now, under_way=True)
            return Erased(portal, ref, _erase(database, portal, ref, now))

    def erased(self, portal: str) -> frozenset[str]:
        with self.connection.database() as database:
            found = database["erased"].find({"_id": marks_of_portal(portal)}, {"what": 1})
            return frozenset(each["what"].removeprefix(erased_name(portal, "")) for each in found)

    def erased_pages(self) -> Sequence[SnapshotRef]:
        with self.connection.database() as database:
            found: list[Document] = []
            for portal, refs in _erased_refs(database):
                found += database["snapshots"].find({"portal": portal, "ref": {"$in": refs}})
        return sorted(map(page_of, found), key=lambda page: (page.file, page.offset))

    def erase_contact(self, mark: str) -> Sequence[tuple[str, str]]:
        with self.connection.database() as database:
            remember(database, "contact", mark, server_time(database))
            found = database["contacts"].find({"lookups": mark}, {"portal": 1, "ref": 1})
            return sorted({(each["portal"], each["ref"]) for each in found})

    def erased_contacts(self, marks: Sequence[str]) -> frozenset[str]:
        with self.connection.database() as database:
            return frozenset(remembered(database, "contact", marks))


# ----- erasure


def finish_erasures(database: Database[Document]) -> int:
    """Finish interrupted erasures, and delete what a killed worker wrote of erased listings. Return how many erasures
    were finished."""
    count = 0
    for each in list(database["erased"].find({"under_way": True}, {"what": 1, "at": 1})):
        portal, _, ref = each["what"].partition("/")
        _erase(database, portal, ref, each["at"])
        count += 1
    for portal, refs in _erased_refs(database):
        remove_aside(database, ((portal, ref) for ref in refs), ("departures", "quarantine"))
        drop_validators(database, [id_of(portal, ref) for ref in refs])
        drop_cards(database, [id_of(portal, ref) for ref in refs])
    return count


def _erase(database: Database[Document], portal: str, ref: str, at: datetime) -> dict[str, int]:
    """Delete everything about the listing. Its erasure is recorded already. Safe to repeat after an interruption."""
    id = id_of(portal, ref)
    replaced = _place_tombstone(database, LISTINGS, id, at)
    other = _place_tombstone(database, OTHERS, id, at)
    removed = {"listings": int(replaced is not None), "others": int(other is not None)}
    removed |= {"events": Log(database).erase(portal, ref)}
    removed["prices"] = len(replaced["prices"]) if replaced else 0
    removed |= remove_aside(database, [(portal, ref)])
    removed[VALIDATORS] = drop_validators(database, [id])
    removed[CARDS] = drop_cards(database, [id])
    removed |= remove_from_home(database, portal, ref)
    name = mark_name("listing", erased_name(portal, ref))
    database["erased"].update_one({"_id": name}, {"$unset": {"under_way": ""}})
    return removed


def _place_tombstone(database: Database[Document], collection: str, id: str, at: datetime) -> Document | None:
    """Put a tombstone in place of the document. Return the document, if there was one; its events are all logged."""
    while True:
        known = found_of(database, [id], _FOR_TOMBSTONE, collection).get(id)
        if known is None:
            try:
                database[collection].insert_one({"_id": id, **tombstone(at)})
                return None
            except DuplicateKeyError:
                continue
        if is_tombstone(known):
            return None
        as_read = {"_id": id, "revision": known["revision"]}
        if database[collection].replace_one(as_read, tombstone(at)).matched_count:
            return known


def _erased_refs(database: Database[Document]) -> Iterator[tuple[str, list[str]]]:
    """Portals with refs of their erased listings, some at a time."""
    for page in pages(database["erased"], {"kind": 1, "what": 1}):
        refs: dict[str, list[str]] = {}
        for each in page:
            if each["kind"] == "listing":
                portal, _, ref = each["what"].partition("/")
                refs.setdefault(portal, []).append(ref)
        yield from refs.items()


def _erased_marks(database: Database[Document]) -> Iterator[list[str]]:
    """The marks of erased contacts, some at a time."""
    for page in pages(database["erased"], {"kind": 1, "what": 1}):
        if marks := [each["what"] for each in page if each["kind"] == "contact"]:
            yield marks


# ----- retention


def _ago(now: datetime, days: float | None) -> datetime | None:
    return None if days is None else now - timedelta(days=days)


def _drop(collection: Documents, wanted: Document, dry_run: bool) -> int:
    return collection.count_documents(wanted) if dry_run else collection.delete_many(wanted).deleted_count


def _drop_old(database: Database[Document], before: datetime | None, dry_run: bool) -> int:
    return 0 if before is None else _drop(database["quarantine"], {"quarantined_at": {"$lt": before}}, dry_run)


def _drop_contacts(database: Database[Document], now: datetime, dry_run: bool) -> int:
    """Delete expired contacts, and those of erased listings and persons."""
    contacts = database["contacts"]
    count = _drop(contacts, {"expires_at": {"$lte": now}}, dry_run)
    of_erased: list[Document] = [{"portal": portal, "ref": {"$in": refs}} for portal, refs in _erased_refs(database)]
    of_erased += [{"lookups": {"$in": marks}} for marks in _erased_marks(database)]
    return count + sum(_drop(contacts, {**each, "expires_at": {"$gt": now}}, dry_run) for each in of_erased)


def _trim(database: Database[Document], before: datetime | None, dry_run: bool) -> int:
    if before is None:
        return 0
    listings = database["listings"]
    gone = {"status": {"$in": list(OFF_THE_MARKET)}, "last_seen_at": {"$lt": before}}
    count = 0
    for some in pieces(_due(database, gone)):
        due = {**gone, "_id": {"$in": some}}
        if dry_run:
            count += len(some)
            continue
        count += listings.update_many(due, _TRIM).matched_count
        trimmed = list(listings.find(due, {"portal": 1, "ref": 1, "revision": 1, "events": 1}))
        for each in trimmed:
            _remove_texts_of_events(database, each)
        remove_aside(database, [(each["portal"], each["ref"]) for each in trimmed], ("contacts",))
    return count


def _remove_texts_of_events(database: Database[Document], listing: Document) -> None:
    """Remove them from the listing, and from the log."""
    changed = {
        f"events.{place}.data": packed(data)
        for place, event in enumerate(listing["events"])
        if (data := without_texts(unpacked(event["data"]))) is not None
    }
    if changed:
        as_read = {"_id": listing["_id"], "revision": listing["revision"]}
        database[LISTINGS].update_one(as_read, {"$set": changed})
        Log(database).remove_texts(listing["portal"], listing["ref"])


def _due(database: Database[Document], gone: Document) -> Iterator[str]:
    """Ids of listings with texts; then of those without texts that have contacts."""
    listings = database["listings"]
    yield from [each["_id"] for each in listings.find({**gone, **_WORDS}, {"_id": 1})]
    for page in pages(database["contacts"], {"portal": 1, "ref": 1}):
        known = {"_id": {"$in": list({id_of(each["portal"], each["ref"]) for each in page})}}
        yield from (each["_id"] for each in listings.find({**gone, **_NO_WORDS, **known}, {"_id": 1}))


class Maintenance:
    """Checks and repairs the database."""

    connection: Connection

    def upkeep(self) -> Iterator[Finding]:
        with self.connection.database(migrated=False) as database:
            restored = _restored(database)
        yield restored
        if restored.weight == "fault":
            return
        with self.connection.database() as database:
            yield _indexed(database)
            yield _logged(database)
            yield _erased(database)
            yield from _dropped(database)
            yield _sizes(database)


def _restored(database: Database[Document]) -> Finding:
    try:
        if finish_restore(database):
            return Finding("restore", "an interrupted restore was finished", "", "repaired")
    except StoreError as error:
        return Finding("restore", "an interrupted restore cannot be finished", str(error), "fault")
    return Finding("restore", "no unfinished restore")


def _indexed(database: Database[Document]) -> Finding:
    if made := make_indexes(database):
        return Finding("indexes", f"{', '.join(made)}: missing; built again", "", "repaired")
    return Finding("indexes", f"{sum(map(len, INDEXES.values()))} checked, none missing")


def _logged(database: Database[Document]) -> Finding:
    if recover_all(database):
        return Finding("events", "events left by killed workers were copied to the log", "", "repaired")
    return Finding("events", "all are in the log")


def _erased(database: Database[Document]) -> Finding:
    if count := finish_erasures(database):
        return Finding("erased", f"{count} interrupted erasures were finished", "", "repaired")
    return Finding("erased", "no data of erased listings is left")


def _dropped(database: Database[Document]) -> Iterator[Finding]:
    for name in left_behind(database, server_time(database) - DEAD_AFTER):
        database.drop_collection(name)
        yield Finding("restore", f"{name}: left by an interrupted restore; dropped", "", "repaired")


def _sizes(database: Database[Document]) -> Finding:
    existing = set(database.list_collection_names())
    stats = {name: database.command("collStats", name) for name in COLLECTIONS if name in existing}
    sizes = {name: each.get("storageSize", 0) + each.get("totalIndexSize", 0) for name, each in stats.items()}
    largest = sorted(sizes, key=lambda name: (-sizes[name], name))
    return Finding("sizes", ", ".join(f"{name} {sizes[name] / 1024 / 1024:.1f} MB" for name in largest))

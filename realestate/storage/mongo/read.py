"""Read listings, their history, quarantine, the index of raw pages and page validators."""

import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import islice
from statistics import median
from typing import Any

from pymongo import ReplaceOne
from pymongo.database import Database

from realestate.items import as_record
from realestate.storage.changes import OFF_THE_MARKET
from realestate.storage.contacts import Source
from realestate.storage.history import ALL_EVENTS, Event, EventFilter, PriceSeen
from realestate.storage.maintenance import InQuarantine, fault_of
from realestate.storage.mongo.change import erased_among, is_tombstone
from realestate.storage.mongo.connection import Connection, Document, bulk, pieces, server_time
from realestate.storage.mongo.documents import (
    entry_name,
    entry_of,
    event_of,
    id_of,
    ids_of_portal,
    listing_of,
    money,
    page_document,
    page_of,
    price_of,
)
from realestate.storage.mongo.event_log import Log, recover_all
from realestate.storage.snapshots import Kind, SnapshotRef
from realestate.storage.store import CardRead, JobKey, Known, MarketRow, MedianRow, Numbered, ServerState
from realestate.storage.validators import TRUSTED, PageRead, Validators

#: Documents that are read at a time, where all are wanted.
_PAGE = 1000
_LOOK_SECONDS = 1.0
#: What the search page showed of a listing when its own page was last read. Not part of a backup.
CARDS = "cards"
_HISTORY = {"events": 0, "prices": 0}
_PLACE = ("country", "city", "district", "operation", "currency")
_KIND = ("country", "city", "district", "operation", "property_type", "rent_period", "currency")
#: Without daily rents: they cannot be compared with monthly ones.
_MARKET = {
    "price": {"$ne": None},
    "status": {"$in": ["active", "reserved"]},
    "rent_period": {"$ne": "day"},
    "property_type": {"$in": ["apartment", "house"]},
}


class ListingReader:
    """Reads listings, events, prices, watermarks and market figures."""

    connection: Connection
    _looked_at = -math.inf

    def server_state(self) -> ServerState:
        """Accounts of applications may not ask for the number of connections."""
        with self.connection.database(migrated=False) as database:
            return ServerState(server_time(database))

    def size(self) -> int:
        with self.connection.database(migrated=False) as database:
            found = database.command("dbStats")
        return int(found["storageSize"] + found["indexSize"])

    def counts(self) -> dict[str, tuple[int, int]]:
        """Does not migrate: reading must not change anything. A tombstone has no portal."""
        kept = Counter[str]()
        bad = Counter[str]()
        by_portal = [{"$group": {"_id": "$portal", "count": {"$sum": 1}}}]
        with self.connection.database(migrated=False) as database:
            for name, counted in (("listings", kept), ("others", kept), ("quarantine", bad)):
                counted.update({each["_id"]: each["count"] for each in database[name].aggregate(by_portal)})
        return {portal: (kept[portal], bad[portal]) for portal in sorted({*kept, *bad} - {None})}

    def statuses(self, portal: str) -> Mapping[str, int]:
        """Does not migrate, as `counts`."""
        by_status: list[Document] = [
            {"$match": {"portal": portal}},
            {"$group": {"_id": "$status", "count": {"$sum": 1}}},
        ]
        with self.connection.database(migrated=False) as database:
            return {each["_id"]: each["count"] for each in database["listings"].aggregate(by_status)}

    def records(self, portal: str) -> Iterator[dict[str, Any]]:
        """Reads page by page, so that a slow reader holds no cursor open."""
        wanted = ids_of_portal(portal)
        while page := self._found({"_id": wanted}, _HISTORY, limit=_PAGE):
            yield from (as_record(listing_of(document)) for document in page if not is_tombstone(document))
            wanted["$gt"] = page[-1]["_id"]

    def events(self, after: int = 0, limit: int = 1000, wanted: EventFilter = ALL_EVENTS) -> Sequence[Numbered]:
        with self.connection.database() as database:
            log = Log(database)
            found = log.read(after, limit, wanted)
            if not found and self._may_look() and recover_all(database):
                found = log.read(after, limit, wanted)
            return found

    def last_event(self) -> int:
        with self.connection.database(migrated=False) as database:
            return Log(database).end() - 1

    def event_counts(self, after: int = 0) -> Mapping[JobKey, Mapping[str, int]]:
        with self.connection.database() as database:
            return Log(database).counts(after)

    def history(self, portal: str, ref: str) -> Sequence[Event]:
        if kept := self._kept(portal, ref, "events"):
            return [event_of(portal, ref, each) for each in kept]
        with self.connection.database() as database:  # an item of another kind, or none
            return Log(database).history(portal, ref)

    def prices(self, portal: str, ref: str) -> Sequence[PriceSeen]:
        found = [price_of(portal, ref, each) for each in self._kept(portal, ref, "prices")]
        return sorted(found, key=lambda seen: (seen.at, seen.revision))

    def known(self, portal: str, refs: Sequence[str]) -> Mapping[str, Known]:
        wanted = {"_id": {"$in": [id_of(portal, ref) for ref in refs]}}
        found = self._found(wanted, dict.fromkeys(("ref", "erased_at", *(each.name for each in fields(Known))), 1))
        with self.connection.database() as database:
            cards = {each["_id"]: each["card"] for each in database[CARDS].find(wanted)}
        return {each["ref"]: _known(each, cards.get(each["_id"])) for each in found if not is_tombstone(each)}

    def keep_cards(self, read: Sequence[CardRead]) -> None:
        """Cards of erased listings are deleted after the write: an erasure may happen meanwhile."""
        newest = {(each.portal, each.ref): each for each in read}
        with self.connection.database() as database:
            cards = [ReplaceOne({"_id": id_of(*key)}, {"card": each.card}, upsert=True) for key, each in newest.items()]
            bulk(database[CARDS], cards)
            drop_cards(database, [id_of(*key) for key in erased_among(database, newest)])

    def watermark(self, portal: str, scope: str) -> str | None:
        with self.connection.database() as database:
            found = database["watermarks"].find_one({"_id": f"{portal}:{scope}"})
        return found["value"] if found else None

    def set_watermark(self, portal: str, scope: str, value: str, job: str) -> None:
        with self.connection.database() as database:
            values = {"portal": portal, "scope": scope, "value": value, "job": job, "set_at": server_time(database)}
            database["watermarks"].update_one({"_id": f"{portal}:{scope}"}, {"$set": values}, upsert=True)

    def market(self, country: str | None = None) -> list[MarketRow]:
        wanted = _MARKET if country is None else {**_MARKET, "country": country}
        found = self._found(wanted, dict.fromkeys(("price", "price_per_m2", *_PLACE), 1))
        rows = [_market_row(place, documents) for place, documents in _grouped(found, _PLACE).items()]
        return sorted(rows, key=lambda row: (-row.listings, row.country, row.city, row.district, row.operation or ""))

    def medians(self) -> list[MedianRow]:
        wanted = {name: {"$ne": None} for name in ("price_per_m2", "city", "operation", "property_type")}
        offered = {**wanted, "status": {"$nin": list(OFF_THE_MARKET)}}
        found = self._found(offered, dict.fromkeys(("price_per_m2", *_KIND), 1))
        return [
            MedianRow._make((*kind, float(median(each["price_per_m2"] for each in documents)), len(documents)))
            for kind, documents in _grouped(found, _KIND).items()
        ]

    def _may_look(self) -> bool:
        """Whether it is time to search for events that killed workers left. Not at every call: readers poll often."""
        now = time.monotonic()
        is_time = now >= self._looked_at + _LOOK_SECONDS
        self._looked_at = now if is_time else self._looked_at
        return is_time

    def _kept(self, portal: str, ref: str, what: str) -> list[Document]:
        found = self._found({"_id": id_of(portal, ref)}, {what: 1})
        return found[0].get(what, []) if found else []

    def _found(self, wanted: Document, shown: Mapping[str, int], limit: int = 0) -> list[Document]:
        with self.connection.database() as database:
            found = database["listings"].find(wanted, shown)
            return list(found.sort("_id", 1).limit(limit) if limit else found)


def _known(document: Document, card: str | None) -> Known:
    price = document.get("price")
    charges = document.get("charges")
    return Known(
        status=document["status"],
        price=None if price is None else money(price),
        currency=document.get("currency"),
        price_basis=document.get("price_basis"),
        rent_period=document.get("rent_period"),
        charges=None if charges is None else money(charges),
        last_fetched_at=document["last_fetched_at"],
        updated_at=document.get("updated_at"),
        card=card,
    )


def _grouped(documents: Iterable[Document], by: Sequence[str]) -> dict[tuple[Any, ...], list[Document]]:
    groups: dict[tuple[Any, ...], list[Document]] = {}
    for document in documents:
        groups.setdefault(tuple(map(document.get, by)), []).append(document)
    return groups


def _market_row(place: tuple[Any, ...], documents: Sequence[Document]) -> MarketRow:
    country, city, district, operation, currency = place
    price = _median(documents, "price", "1")
    assert price is not None
    of_a_metre = _median(documents, "price_per_m2", "0.01")
    return MarketRow(country, city or "?", district or "?", operation, currency, len(documents), price, of_a_metre)


def _median(documents: Sequence[Document], name: str, exact: str) -> Decimal | None:
    values = [money(document[name]) for document in documents if name in document]
    return median(values).quantize(Decimal(exact), ROUND_HALF_UP) if values else None


class QuarantineAndPageIndex:
    """Quarantine, and the index of raw pages."""

    connection: Connection

    def quarantined(
        self,
        *,
        portal: str | None = None,
        ref: str | None = None,
        fault: str | None = None,
        ids: Sequence[str] | None = None,
        limit: int = 20,
    ) -> Sequence[InQuarantine]:
        asked = {"portal": portal, "ref": ref}
        with self.connection.database() as database:
            wanted: Document = {name: value for name, value in asked.items() if value is not None}
            if ids is not None:
                wanted["_id"] = {"$in": _names(database, ids)}
            found = database["quarantine"].find(wanted).sort([("quarantined_at", -1), ("_id", 1)])
            entries = (entry_of(each) for each in found)
            return list(islice((each for each in entries if fault is None or fault in _faults(each.errors)), limit))

    def faults(self, portal: str | None = None) -> Mapping[str, Mapping[str, int]]:
        found: dict[str, Counter[str]] = {}
        with self.connection.database() as database:
            wanted = {} if portal is None else {"portal": portal}
            for each in database["quarantine"].find(wanted, {"portal": 1, "errors": 1}):
                found.setdefault(each["portal"], Counter()).update(_faults(each["errors"]))
        return {name: _the_most_first(counts) for name, counts in sorted(found.items())}

    def drop_quarantined(self, ids: Sequence[str]) -> int:
        with self.connection.database() as database:
            return database["quarantine"].delete_many({"_id": {"$in": _names(database, ids)}}).deleted_count

    def snapshots(self, portal: str, ref: str) -> Sequence[SnapshotRef]:
        with self.connection.database() as database:
            found = database["snapshots"].find({"portal": portal, "ref": ref}).sort("fetched_at", -1)
            return [page_of(each) for each in found]

    def reindex(self, file: str, rows: Sequence[SnapshotRef]) -> None:
        """Write the new rows first, then delete the others: so no page is without a row meanwhile. If this is
        interrupted, rows of erased pages are left, and the file is rewritten again."""
        documents = {each["_id"]: each for each in map(page_document, rows)}
        with self.connection.database() as database:
            index = database["snapshots"]
            bulk(index, [ReplaceOne({"_id": name}, each, upsert=True) for name, each in documents.items()])
            index.delete_many({"file": file, "_id": {"$nin": list(documents)}})

    def drop_snapshots(self, files: Sequence[str]) -> None:
        with self.connection.database() as database:
            database["snapshots"].delete_many({"file": {"$in": list(files)}})

    def drop_old_pages(self, kind: Kind, days: float) -> None:
        with self.connection.database() as database:
            old = server_time(database) - timedelta(days=days)
            database["snapshots"].delete_many({"kind": kind, "fetched_at": {"$lt": old}})


def _names(database: Database[Document], ids: Sequence[str]) -> list[str]:
    """The possible `_id`s of these entries: an `_id` begins with the portal, which is not known here."""
    return [entry_name(portal, id) for portal in database["quarantine"].distinct("portal") for id in ids] if ids else []


def _faults(errors: Sequence[str]) -> set[str]:
    return {fault_of(error) for error in errors}


def _the_most_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


VALIDATORS = "validators"
_COMPARED = dict.fromkeys(("content_hash", "rent_period"), 1)


class PageValidators:
    """Keeps the validators (ETag, Last-Modified) of pages."""

    connection: Connection

    def keep_validators(self, read: Sequence[PageRead]) -> None:
        """Validators of erased listings are deleted after the write: an erasure may happen meanwhile."""
        newest = {(each.portal, each.ref): each for each in read}
        with self.connection.database() as database:
            stamp = {"kept_at": server_time(database)}
            bulk(
                database[VALIDATORS],
                [
                    ReplaceOne({"_id": id_of(*key)}, {**asdict(each), **stamp}, upsert=True)
                    for key, each in newest.items()
                ],
            )
            drop_validators(database, [id_of(*key) for key in erased_among(database, newest)])

    def validators(
        self, portal: str, refs: Sequence[str], parser_version: int, contacts: Source | None = None
    ) -> Mapping[str, Validators]:
        found: dict[str, Validators] = {}
        with self.connection.database() as database:
            since = server_time(database) - TRUSTED
            for some in pieces(refs):
                wanted = _had(database, portal, some, contacts) if contacts else some
                ids = {"_id": {"$in": [id_of(portal, ref) for ref in wanted]}}
                pages = database[VALIDATORS].find({**ids, "parser_version": parser_version, "kept_at": {"$gt": since}})
                found |= dict(_holding(database, {each["_id"]: each for each in pages}))
        return found


def drop_cards(database: Database[Document], ids: Sequence[str]) -> int:
    return database[CARDS].delete_many({"_id": {"$in": ids}}).deleted_count if ids else 0


def drop_validators(database: Database[Document], ids: Sequence[str]) -> int:
    return database[VALIDATORS].delete_many({"_id": {"$in": ids}}).deleted_count if ids else 0


def _had(database: Database[Document], portal: str, refs: Sequence[str], source: Source) -> list[str]:
    """The refs whose contacts of this source are kept. Old documents have no source: they are from the page."""
    sources: Any = {"$in": ["page", None]} if source == "page" else source
    wanted = {"portal": portal, "ref": {"$in": list(refs)}, "source": sources}
    return [each["ref"] for each in database["contacts"].find(wanted, {"ref": 1})]


def _holding(database: Database[Document], pages: Mapping[str, Document]) -> Iterator[tuple[str, Validators]]:
    """Yield the validators whose listing is on the market, has no suspect price, and is unchanged since that page."""
    if not pages:
        return
    offered = {"status": {"$nin": list(OFF_THE_MARKET)}, "suspect": None}
    for known in database["listings"].find({"_id": {"$in": list(pages)}, **offered}, _COMPARED):
        page = pages[known["_id"]]
        if known.get("content_hash") == page["content_hash"]:
            values = (page["url"], page["etag"], page["last_modified"], known.get("rent_period"))
            yield page["ref"], Validators(*values)

"""Reading: listings, their history, and what follows from them."""

import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from decimal import ROUND_HALF_UP, Decimal
from statistics import median
from typing import Any

from realestate.items import as_record
from realestate.storage.changes import OFF_THE_MARKET
from realestate.storage.history import Event, PriceSeen
from realestate.storage.mongo.connection import Connection, Document, server_time
from realestate.storage.mongo.documents import event_of, id_of, ids_of_portal, listing_of, money, price_of
from realestate.storage.mongo.erased import is_tombstone
from realestate.storage.mongo.log import Log, recover_all
from realestate.storage.store import Known, MarketRow, MedianRow, Numbered

#: Documents of one answer, where all are asked for.
_PAGE = 1000
_LOOK_SECONDS = 1.0
_HISTORY = {"events": 0, "prices": 0}
_PLACE = ("country", "city", "district", "operation", "currency")
_KIND = ("country", "city", "district", "operation", "property_type", "rent_period", "currency")
#: Daily rents would drown the monthly ones they stand beside.
_MARKET = {
    "price": {"$ne": None},
    "status": {"$in": ["active", "reserved"]},
    "rent_period": {"$ne": "day"},
    "property_type": {"$in": ["apartment", "house"]},
}


class Reading:
    """The part of the store that answers."""

    connection: Connection
    _looked_at = -math.inf

    def counts(self) -> dict[str, tuple[int, int]]:
        """Does not migrate: who only looks changes nothing. What was erased is of no portal."""
        kept, bad = Counter[str](), Counter[str]()
        by_portal = [{"$group": {"_id": "$portal", "count": {"$sum": 1}}}]
        with self.connection.database(migrated=False) as database:
            for name, counted in (("listings", kept), ("others", kept), ("quarantine", bad)):
                counted.update({each["_id"]: each["count"] for each in database[name].aggregate(by_portal)})
        return {portal: (kept[portal], bad[portal]) for portal in sorted({*kept, *bad} - {None})}

    def records(self, portal: str) -> Iterator[dict[str, Any]]:
        """In pages: who reads slowly holds up nobody."""
        wanted = ids_of_portal(portal)
        while page := self._found({"_id": wanted}, _HISTORY, limit=_PAGE):
            yield from (as_record(listing_of(document)) for document in page if not is_tombstone(document))
            wanted["$gt"] = page[-1]["_id"]

    def events(self, after: int = 0, limit: int = 1000) -> Sequence[Numbered]:
        with self.connection.database() as database:
            log = Log(database)
            found = log.read(after, limit)
            if not found and self._may_look() and recover_all(database):
                found = log.read(after, limit)
            return found

    def history(self, portal: str, ref: str) -> Sequence[Event]:
        if kept := self._kept(portal, ref, "events"):
            return [event_of(portal, ref, each) for each in kept]
        with self.connection.database() as database:  # no home, or nothing
            return Log(database).history(portal, ref)

    def prices(self, portal: str, ref: str) -> Sequence[PriceSeen]:
        return [price_of(portal, ref, each) for each in self._kept(portal, ref, "prices")]

    def known(self, portal: str, refs: Sequence[str]) -> Mapping[str, Known]:
        wanted = {"_id": {"$in": [id_of(portal, ref) for ref in refs]}}
        found = self._found(wanted, dict.fromkeys(("ref", "erased_at", *(each.name for each in fields(Known))), 1))
        return {each["ref"]: _known(each) for each in found if not is_tombstone(each)}

    def watermark(self, portal: str, scope: str) -> str | None:
        with self.connection.database() as database:
            found = database["watermarks"].find_one({"_id": f"{portal}:{scope}"})
        return found["value"] if found else None

    def set_watermark(self, portal: str, scope: str, value: str, run: str) -> None:
        with self.connection.database() as database:
            told = {"portal": portal, "scope": scope, "value": value, "run": run, "set_at": server_time(database)}
            database["watermarks"].update_one({"_id": f"{portal}:{scope}"}, {"$set": told}, upsert=True)

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
        """For what the dead left behind: not each time that somebody waits for what the living do."""
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


def _known(document: Document) -> Known:
    price = document.get("price")
    return Known(
        document["status"],
        None if price is None else money(price),
        document.get("currency"),
        document["last_fetched_at"],
        document.get("updated_at"),
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

"""Read the rows that belong to a span of events, for the lake."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from operator import attrgetter
from typing import Any

from pymongo.database import Database

from realestate.storage.export import Row, Table, row_hash
from realestate.storage.lake import LAKE_TABLES, LakeTableName, Span
from realestate.storage.mongo.change import is_tombstone
from realestate.storage.mongo.connection import Connection, Document, pieces
from realestate.storage.mongo.documents import id_of, listing_of, price_of
from realestate.storage.mongo.event_log import Log
from realestate.storage.mongo.export import listing_values
from realestate.storage.store import Numbered

#: Events that are read at a time.
_EVENTS = 2000


class Rows:
    """Rows that are in memory: see `storage.export.Export`."""

    is_snapshot = False

    def __init__(self, table: Table, values: Sequence[tuple[Any, ...]]) -> None:
        self.table = table
        places = [table.names.index(name) for name in table.identity]
        self._rows: list[Row] = [(row_hash([row[place] for place in places]), *row) for row in values]
        self.count = len(self._rows)
        self.checksum = sum(row[0] for row in self._rows)

    def rows(self) -> Iterator[Sequence[Row]]:
        if self._rows:
            yield self._rows


class LakeReader:
    """See `LakeStore`."""

    connection: Connection

    def erased_listings(self) -> Sequence[tuple[str, str]]:
        with self.connection.database() as database:
            found = database["erased"].find({"kind": "listing"}, {"what": 1})
            return [(portal, ref) for portal, _, ref in (each["what"].partition("/") for each in found)]

    @contextmanager
    def changed(self, name: LakeTableName, span: Span) -> Iterator[Rows]:
        with self.connection.database() as database:
            events = list(_events(database, span))
            table = LAKE_TABLES[name]
            if name == "events":
                values = [(each.seq, *attrgetter(*table.names[1:])(each.event)) for each in events]
            else:
                touched: dict[str, list[Numbered]] = {}
                for each in events:
                    touched.setdefault(id_of(each.event.portal, each.event.ref), []).append(each)
                read = _prices if name == "prices" else _versions
                values = sorted(read(database, touched), key=lambda row: row[0])
            yield Rows(table, values)


def _events(database: Database[Document], span: Span) -> Iterator[Numbered]:
    log = Log(database)
    after = span.after
    while found := log.read(after, _EVENTS):
        yield from (each for each in found if each.seq <= span.upto)
        after = found[-1].seq
        if after >= span.upto:
            return


def _documents(
    database: Database[Document], touched: Mapping[str, list[Numbered]], without: str
) -> Iterator[tuple[Document, list[Numbered]]]:
    for ids in pieces(touched):
        for document in database["listings"].find({"_id": {"$in": ids}}, {without: 0}).sort("_id", 1):
            if not is_tombstone(document):
                yield document, touched[document["_id"]]


def _is_same(document: Document, numbered: Numbered) -> bool:
    return (document["revision"], document["type"]) == (numbered.event.revision, numbered.event.type)


def _versions(database: Database[Document], touched: Mapping[str, list[Numbered]]) -> Iterator[tuple[Any, ...]]:
    """The listings that have no later event."""
    for document, events in _documents(database, touched, "prices"):
        if _is_same(document["events"][-1], events[-1]):
            yield events[-1].seq, max(each.event.at for each in events), *listing_values(listing_of(document))


def _prices(database: Database[Document], touched: Mapping[str, list[Numbered]]) -> Iterator[tuple[Any, ...]]:
    """The prices that are older than an event of the span, and newer than all events before it."""
    for document, events in _documents(database, touched, "photos"):
        first = next(place for place, each in enumerate(document["events"]) if _is_same(each, events[0]))
        before = document["events"][first - 1]["revision"] if first else -1
        for seen in sorted(document["prices"], key=lambda seen: int(seen["revision"])):
            seq = next((each.seq for each in events if each.event.revision >= seen["revision"]), None)
            if seen["revision"] > before and seq is not None:
                yield seq, *astuple(price_of(document["portal"], document["ref"], seen))

"""Read a whole collection for an export, and the rows of a span of events for the lake."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from datetime import date, datetime
from decimal import Decimal
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from pymongo.database import Database

from realestate.items import FIELDS, Listing
from realestate.storage.export import ALL_ROWS, DELISTED, OTHER_DECIMALS, TABLES, Row, Selection, Table, row_hash
from realestate.storage.lake import LAKE_TABLES, LakeTableName, Span
from realestate.storage.mongo.change import is_tombstone
from realestate.storage.mongo.connection import Connection, Document, pages, pieces
from realestate.storage.mongo.documents import id_of, listing_of, price_of
from realestate.storage.mongo.event_log import Log
from realestate.storage.mongo.homes import homes_of, records_of_last_run
from realestate.storage.mongo.write import OTHERS, other_of
from realestate.storage.other_kinds import StoredOther
from realestate.storage.query import Filter
from realestate.storage.store import Numbered

#: Events that are read at a time.
_EVENTS = 2000


class MongoExport:
    """See `storage.export.Export`. MongoDB without replicas has no snapshots."""

    is_snapshot = False

    def __init__(self, database: Database[Document], table: Table, is_wanted: "Wanted") -> None:
        self.table = table
        self._whole = TABLES[table.name]
        """The table with all its columns."""
        self._database = database
        self._is_wanted = is_wanted
        self.count = 0
        self.checksum = 0
        for identities in _identities(database, self._whole, is_wanted):
            self.count += len(identities)
            self.checksum += sum(map(row_hash, identities))

    def rows(self) -> Iterator[Sequence[Row]]:
        places = [self._whole.names.index(name) for name in self.table.identity]
        shown = [self._whole.names.index(name) for name in self.table.names]
        is_whole = self.table.names == self._whole.names
        for values in _VALUES[self.table.name](self._database, self._whole):
            wanted = filter(self._is_wanted, values)
            yield [
                (row_hash([row[place] for place in places]), *(row if is_whole else [row[place] for place in shown]))
                for row in wanted
            ]


Wanted = Callable[[tuple[Any, ...]], bool]
"""Gets the values of a row, and returns whether it is wanted."""


def _everything(values: tuple[Any, ...]) -> bool:
    return True


Values = Iterator[list[tuple[Any, ...]]]
_HISTORY = {"events": 0, "prices": 0}


def _listings(database: Database[Document], table: Table) -> Values:
    for page in pages(database["listings"], _HISTORY):
        yield [listing_values(listing_of(each)) for each in page if not is_tombstone(each)]


_read_listing = attrgetter(*FIELDS)
_DELISTED_AT = FIELDS.index("delisted_at")


def listing_values(listing: Listing) -> tuple[Any, ...]:
    values = list(_read_listing(listing))
    values[_DELISTED_AT : _DELISTED_AT + 1] = values[_DELISTED_AT] or [None] * len(DELISTED)
    return tuple(sorted(value) if type(value) is frozenset else value for value in values)


def _prices(database: Database[Document], table: Table) -> Values:
    for page in pages(database["listings"], {"portal": 1, "ref": 1, "prices": 1, "erased_at": 1}):
        yield [
            astuple(price_of(each["portal"], each["ref"], seen))
            for each in page
            if not is_tombstone(each)
            for seen in sorted(each["prices"], key=lambda seen: int(seen["revision"]))
        ]


def _events(database: Database[Document], table: Table) -> Values:
    log = Log(database)
    after = 0
    end = log.end()
    while found := [each for each in log.read(after, _EVENTS) if each.seq < end]:
        yield [(each.seq, *attrgetter(*table.names[1:])(each.event)) for each in found]
        after = found[-1].seq


def _others(database: Database[Document], table: Table) -> Values:
    for page in pages(database[OTHERS], {"events": 0}):
        yield [
            _other_values(other_of(each), table)
            for each in page
            if not is_tombstone(each) and each["kind"] == table.kind
        ]


def _other_values(other: StoredOther, table: Table) -> tuple[Any, ...]:
    record: Mapping[str, Any] = other.record
    return tuple(
        _typed(record[column.name], column.type) if column.name in record else getattr(other, column.name)
        for column in table.columns
    )


def _typed(value: Any, kind: type) -> Any:
    """The value of a JSON record in the type of its column."""
    if value is not None and kind is Decimal:
        exact = Decimal(str(value))
        rounded = round(exact, OTHER_DECIMALS)
        return exact if exact == rounded else rounded
    if value is not None and kind is datetime:
        return datetime.fromisoformat(value)
    return value


def _homes(database: Database[Document], table: Table) -> Values:
    for records in records_of_last_run(database, table.name):
        yield [
            tuple(value.isoformat() if type(value) is date else value for value in astuple(record))
            for record in records
        ]


_VALUES = {
    "listings": _listings,
    "prices": _prices,
    "events": _events,
    "products": _others,
    "quotes": _others,
    "homes": _homes,
    "home_listings": _homes,
    "market_weekly": _homes,
}


def _identities(database: Database[Document], table: Table, is_wanted: Wanted) -> Iterator[list[tuple[Any, ...]]]:
    """The identities of all rows, read without the rest of the documents where that is possible."""
    if table.name == "listings" and is_wanted is _everything:
        shown = dict.fromkeys(("erased_at", *table.identity), 1)
        for page in pages(database["listings"], shown):
            yield [tuple(map(each.get, table.identity)) for each in page if not is_tombstone(each)]
        return
    places = [table.names.index(name) for name in table.identity]
    for values in _VALUES[table.name](database, table):
        yield [tuple(row[place] for place in places) for row in filter(is_wanted, values)]


class ExportedCollections:
    """Exports of the store."""

    connection: Connection

    if TYPE_CHECKING:

        def matching(self, filter: Filter) -> Iterator[Listing]: ...

    @contextmanager
    def exported(self, table: Table, selection: Selection = ALL_ROWS) -> Iterator[MongoExport]:
        is_wanted = self._wanted(table, selection)
        with self.connection.database() as database:
            yield MongoExport(database, table, is_wanted)

    def _wanted(self, table: Table, selection: Selection) -> Wanted:
        if selection == ALL_ROWS:
            return _everything
        filter = selection.listings(table)
        keys: set[tuple[Any, ...]] | None = None
        if filter is not None:
            keys = {(each.portal, each.ref) for each in self.matching(filter)}
            if table.name == "homes":
                with self.connection.database() as database:
                    keys = {(home,) for home in homes_of(database, keys)}
        names = ("home",) if table.name == "homes" else ("portal", "ref")
        key = [table.names.index(name) for name in names] if keys is not None else []
        earliest = selection.earliest(table)

        def is_wanted(values: tuple[Any, ...]) -> bool:
            if keys is not None and tuple(values[place] for place in key) not in keys:
                return False
            return earliest is None or bool(values[table.names.index(earliest[0])] >= earliest[1])

        return is_wanted


#: Events that are read at a time.
_EVENTS_OF_SPAN = 2000


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
            events = list(_events_of_span(database, span))
            table = LAKE_TABLES[name]
            if name == "events":
                values = [(each.seq, *attrgetter(*table.names[1:])(each.event)) for each in events]
            else:
                touched: dict[str, list[Numbered]] = {}
                for each in events:
                    touched.setdefault(id_of(each.event.portal, each.event.ref), []).append(each)
                read = _prices_of_span if name == "prices" else _versions
                values = sorted(read(database, touched), key=lambda row: row[0])
            yield Rows(table, values)


def _events_of_span(database: Database[Document], span: Span) -> Iterator[Numbered]:
    log = Log(database)
    after = span.after
    while found := log.read(after, _EVENTS_OF_SPAN):
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


def _prices_of_span(database: Database[Document], touched: Mapping[str, list[Numbered]]) -> Iterator[tuple[Any, ...]]:
    """The prices that are older than an event of the span, and newer than all events before it."""
    for document, events in _documents(database, touched, "photos"):
        first = next(place for place, each in enumerate(document["events"]) if _is_same(each, events[0]))
        before = document["events"][first - 1]["revision"] if first else -1
        for seen in sorted(document["prices"], key=lambda seen: int(seen["revision"])):
            seq = next((each.seq for each in events if each.event.revision >= seen["revision"]), None)
            if seen["revision"] > before and seq is not None:
                yield seq, *astuple(price_of(document["portal"], document["ref"], seen))

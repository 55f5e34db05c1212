"""What leaves the store in bulk: its tables as typed columns, and how they are read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import date, datetime
from hashlib import md5
from typing import Any, Literal, Protocol, get_args, get_type_hints, runtime_checkable

from realestate.items.others import OTHERS
from realestate.storage.field_types import FIELD_TYPES, field_type
from realestate.storage.history import Event, PriceSeen
from realestate.storage.homes import Home, MarketWeek, Member
from realestate.storage.query import Comparison, Filter

TableName = Literal["listings", "events", "prices", "products", "quotes", "homes", "home_listings", "market_weekly"]
TABLE_NAMES: tuple[TableName, ...] = get_args(TableName)
#: A row: the hash of its identity (see `row_hash`), then the values of the columns. A value is of the column's type or
#: None. Times have a time zone.
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an export. The type is str, bool, int, float, Decimal, datetime, list (of texts) or dict (JSON)."""

    name: str
    type: type
    decimals: int = 2
    """Only of a Decimal."""


@dataclass(frozen=True, slots=True)
class Table:
    """What can be exported at once. `identity` are the columns of the checksum, in the order in which they are read."""

    name: TableName
    columns: tuple[Column, ...]
    order: tuple[str, ...]
    """The rows are sorted by these columns, which identify them."""
    identity: tuple[str, ...]
    kind: str | None = None
    """The kind of item, for the tables of other kinds."""
    since: str = "at"
    """The column by which rows of a time and later are chosen, of a table other than listings."""
    has_filter: bool = True
    """Whether its rows can be chosen by a filter of listings."""

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def has_place(self) -> bool:
        """Whether its rows have coordinates."""
        return "latitude" in self.names


#: The two times of `Listing.delisted_at`: when it was last seen, and when it was first known to be gone.
DELISTED = ("delisted_after", "delisted_before")
#: The price of a share may have many decimals.
OTHER_DECIMALS = 18


def _listing_columns() -> Iterator[Column]:
    for name, kind in FIELD_TYPES.items():
        if name == "delisted_at":
            yield from (Column(each, datetime) for each in DELISTED)
        else:
            yield Column(name, list if kind is frozenset else kind)


def _columns_of(kind: type, decimals: int = 2) -> Iterator[Column]:
    """The fields of a record. A day is a text, such as 2026-11-02."""
    for name, hint in get_type_hints(kind).items():
        yield Column(name, str if hint is date else field_type(hint), decimals)


def _other(name: TableName, kind: str) -> Table:
    by_the_store = (Column("revision", int), Column("first_seen_at", datetime), Column("last_seen_at", datetime))
    columns = (*_columns_of(OTHERS[kind], OTHER_DECIMALS), *by_the_store)
    return Table(name, columns, ("portal", "ref"), ("portal", "ref", "revision"), kind, "last_seen_at", False)


_MARKET = tuple(_columns_of(MarketWeek))
_SERIES = ("country", "city", "district", "operation", "property_type", "currency", "rent_period", "week")

TABLES: Mapping[TableName, Table] = {
    "listings": Table("listings", tuple(_listing_columns()), ("portal", "ref"), ("portal", "ref", "content_hash")),
    "events": Table(
        "events",
        (Column("seq", int), *_columns_of(Event)),
        ("seq",),
        ("seq", "portal", "ref", "type"),
    ),
    "prices": Table(
        "prices", tuple(_columns_of(PriceSeen)), ("portal", "ref", "revision"), ("portal", "ref", "revision")
    ),
    "products": _other("products", "product"),
    "quotes": _other("quotes", "quote"),
    "homes": Table("homes", tuple(_columns_of(Home)), ("home",), ("home", "listings"), since="last_seen_at"),
    "home_listings": Table(
        "home_listings", tuple(_columns_of(Member)), ("portal", "ref"), ("portal", "ref", "home"), since=""
    ),
    "market_weekly": Table(
        "market_weekly", _MARKET, _SERIES, (*_SERIES, "stock", "new", "gone"), since="week", has_filter=False
    ),
}


def row_hash(identity: Sequence[Any]) -> int:
    """A number of 32 bits for a row: the beginning of the MD5 of its identity, joined by slashes, None as nothing.

    The checksum of rows is the sum of these numbers, so it does not depend on their order. SQL and DuckDB can compute
    it too (docs/exports.md)."""
    text = "/".join("" if value is None else str(value) for value in identity)
    return int.from_bytes(md5(text.encode(), usedforsecurity=False).digest()[:4], "big")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rows are wanted; all by default."""

    where: Filter | None = None
    """Only rows of listings that match, and homes with such a listing. Not for items of other kinds and market
    figures."""
    since: datetime | None = None
    """Only listings that changed since then, events and prices of that time and later, items and homes that were seen
    then or later, and weeks that began then or later."""

    def listings(self, table: Table) -> Filter | None:
        """The filter of the listings whose rows are wanted; None for those of all listings."""
        if self.since is None or table.name != "listings":
            return self.where
        where = self.where or Filter(any_status=True)
        changed = Comparison("changed_at", ">=", (self.since,))
        return replace(where, conditions=(*where.conditions, changed))

    def earliest(self, table: Table) -> tuple[str, datetime | str] | None:
        """The column and its least value in the rows, of a table other than listings."""
        if self.since is None or table.name == "listings":
            return None
        return table.since, self.since.date().isoformat() if table.since == "week" else self.since


ALL_ROWS = Selection()


class Export(Protocol):
    """The rows of one table, as of one point in time where the database can do that.

    `count` and `checksum` are computed by the store, independently of reading the rows."""

    table: Table
    count: int
    checksum: int
    is_snapshot: bool
    """Whether the rows are as of one point in time. If not, others may change the table while it is read."""

    def rows(self) -> Iterator[Sequence[Row]]:
        """The rows, some at a time."""


@runtime_checkable
class CopiedAsCsv(Protocol):
    """An export whose database can write CSV by itself."""

    def copy_csv(self, write: Callable[[bytes], object]) -> None:
        """Call `write` for each row of CSV: the row's hash, a comma, its values, a line feed. Texts that a spreadsheet
        would take for a formula begin with a quotation mark, as `starts_formula` says."""


@runtime_checkable
class ReadAsArrow(Protocol):
    """An export whose database can be read as Arrow."""

    def record_batches(self) -> Iterator[Any]:
        """Record batches (pyarrow) of all columns, the hash first. Decimals and JSON may be text."""


@runtime_checkable
class ExportStore(Protocol):
    """The method of a store for exports."""

    def exported(self, table: Table, selection: Selection = ALL_ROWS) -> AbstractContextManager[Export]:
        """The rows of a table. Others may read and write meanwhile."""


#: A text that begins with one of these may be taken for a formula by a spreadsheet, also the wide forms.
FORMULA_STARTS = "=+-@\t\r\n＝＋－＠"


def starts_formula(text: str) -> bool:
    return text[:1] in FORMULA_STARTS and bool(text)

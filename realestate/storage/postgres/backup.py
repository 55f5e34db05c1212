"""Read the whole store in one snapshot, and load it in one transaction."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from typing import Any

from realestate.items import FIELDS, as_record
from realestate.storage import records
from realestate.storage.history import Event, PriceSeen, Suspect
from realestate.storage.maintenance import InQuarantine, NotEmpty
from realestate.storage.orders import StoredOrder
from realestate.storage.other_kinds import StoredOther
from realestate.storage.postgres.connection import Statements
from realestate.storage.postgres.jobs import order_of, order_row
from realestate.storage.postgres.read import INDEX, in_quarantine, page_of
from realestate.storage.postgres.rows import (
    CLOCK,
    COLUMNS,
    SEARCHED,
    array,
    copy,
    encoded,
    fields_of,
    listing_of,
    searched,
)
from realestate.storage.records import PARTS, SealedContacts, StoredJob, StoredListing
from realestate.storage.snapshots import SnapshotRef
from realestate.storage.store import Job, Numbered

#: Rows that are read or written at a time.
_TOGETHER = 1000

_BESIDE = ("revision", "last_job", "suspect_price", "suspect_job", "price_sighted_at")
_UNHURRIED = "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0"
_NUMBERING = "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('events', 'seq')::regclass), 0)"
#: Continue after the highest number that was ever used, also if its event was erased.
_RENUMBER = """
    SELECT setval(pg_get_serial_sequence('events', 'seq'), last) FROM (
        SELECT greatest(%s, (SELECT max(seq) FROM events)) AS last
    ) AS numbers WHERE last > 0
"""


@dataclass(frozen=True, slots=True)
class _Table:
    """The table of a part, and how its records are read and written."""

    name: str
    columns: Sequence[str]
    read: Callable[[tuple[Any, ...]], Any]
    write: Callable[[Any], Iterable[Any]]
    order: str

    @property
    def listed(self) -> str:
        return ", ".join(f'"{column}"' for column in self.columns)

    @property
    def select(self) -> str:
        return f"SELECT {self.listed} FROM {self.name} ORDER BY {self.order}"

    @property
    def copy(self) -> str:
        return f"COPY {self.name} ({self.listed}) FROM STDIN"


def _names(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


def _plain(name: str, kind: Any, order: str) -> _Table:
    """A table whose columns are the record's fields."""
    return _Table(name, _names(kind), lambda row: kind(*row), attrgetter(*_names(kind)), order)


def _read_listing(row: tuple[Any, ...]) -> StoredListing:
    *columns, revision, last_job, price, job, price_sighted_at = row
    listing = as_record(listing_of(tuple(columns)))
    suspect = None if price is None else Suspect(price, job)
    return StoredListing(listing, revision, last_job, suspect, price_sighted_at)


def _write_listing(stored: StoredListing) -> Iterable[Any]:
    listing = records.listing_of(stored.listing)
    suspect = stored.suspect
    doubt = (suspect.price, suspect.job) if suspect else (None, None)
    return (
        *fields_of(listing),
        *attrgetter(*CLOCK)(listing),
        stored.revision,
        stored.last_job,
        *doubt,
        stored.price_sighted_at,
        *searched(listing),
    )


def _write_event(numbered: Numbered) -> Iterable[Any]:
    *values, data = attrgetter(*_names(Event))(numbered.event)
    return numbered.seq, *values, encoded(data).decode()


def _write_quarantined(entry: InQuarantine) -> Iterable[Any]:
    values = (entry.id, entry.portal, entry.ref, entry.url, encoded(entry.errors).decode())
    return *values, encoded(entry.record).decode(), entry.at


def _read_contacts(row: tuple[Any, ...]) -> SealedContacts:
    portal, ref, sealed, *others = row
    return SealedContacts(portal, ref, bytes(sealed), *others)


def _write_contacts(contacts: SealedContacts) -> Iterable[Any]:
    sealed = f"\\x{contacts.sealed.hex()}"
    lookups = array(contacts.lookups)
    return contacts.portal, contacts.ref, sealed, lookups, contacts.expires_at, contacts.source


def _write_other(other: StoredOther) -> Iterable[Any]:
    return [encoded(value).decode() if name == "data" else value for name, value in asdict(other).items()]


_QUARANTINE = ("fingerprint", "portal", "ref", "url", "errors", "record", "quarantined_at")
_TABLES: Mapping[str, _Table] = {
    "others": _Table("others", _names(StoredOther), lambda row: StoredOther(*row), _write_other, "portal, ref"),
    "events": _Table(
        "events", ("seq", *_names(Event)), lambda row: Numbered(row[0], Event(*row[1:])), _write_event, "seq"
    ),
    "prices": _plain("prices", PriceSeen, "portal, ref, revision"),
    "jobs": _Table(
        "jobs",
        (*_names(Job), "offered"),
        lambda row: StoredJob(Job(*row[:-1]), row[-1]),
        lambda stored: (*attrgetter(*_names(Job))(stored.job), stored.offered),
        "portal, job",
    ),
    "job_orders": _Table("job_orders", _names(StoredOrder), order_of, order_row, "job"),
    "departures": _plain("departures", records.Departure, "portal, job, ref, evidence"),
    "parts": _plain("parts", records.PlannedPart, "portal, job, search"),
    "watermarks": _plain("watermarks", records.Watermark, "portal, scope"),
    "quarantine": _Table("quarantine", _QUARANTINE, in_quarantine, _write_quarantined, "portal, fingerprint"),
    "snapshots": _Table(
        "snapshots", tuple(INDEX.values()), page_of, attrgetter(*_names(SnapshotRef)), 'file, "offset"'
    ),
    "contacts": _Table("contacts", _names(SealedContacts), _read_contacts, _write_contacts, "portal, ref, source"),
    "erased": _plain("erased", records.ErasedMark, "kind, what"),
}
#: Its columns are read in another order than they are written in.
_LISTINGS = _Table("listings", (*FIELDS, *_BESIDE), _read_listing, _write_listing, "portal, ref")
_COPY_LISTINGS = f"COPY listings ({', '.join((*COLUMNS, *CLOCK, *_BESIDE, *SEARCHED))}) FROM STDIN"


class BackupTables(Statements):
    """Backup and restore."""

    def everything(self) -> Iterator[tuple[str, Any]]:
        with self.connection.cursor(watched=False) as cursor:
            cursor.execute(f"BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; {_UNHURRIED}")
            cursor.execute(_NUMBERING)
            yield "numbering", records.Numbering(cursor.fetchone()[0])
            for part, table in {"listings": _LISTINGS, **_TABLES}.items():
                cursor.execute(f"DECLARE everything CURSOR FOR {table.select}")
                yield from ((part, table.read(row)) for row in _fetched(cursor))
                cursor.execute("CLOSE everything")
            cursor.execute("COMMIT")

    def restore(self, records: Iterable[tuple[str, Any]]) -> None:
        with self.connection.cursor(watched=False) as cursor:
            cursor.execute(f"BEGIN; {_UNHURRIED}")
            cursor.execute(f"LOCK TABLE {', '.join(['listings', *_TABLES])} IN SHARE ROW EXCLUSIVE MODE")
            _demand_empty(cursor)
            last_seq = 0
            for part, some in groupby(records, itemgetter(0)):
                if part == "numbering":
                    last_seq = max(each.last_seq for _, each in some)
                else:
                    _copy(cursor, part, (each for _, each in some))
            cursor.execute(_RENUMBER, (last_seq,))
            cursor.execute("COMMIT")
            cursor.execute("ANALYZE")


def _fetched(cursor: Any) -> Iterator[tuple[Any, ...]]:
    while True:
        cursor.execute(f"FETCH {_TOGETHER} FROM everything")
        if not (rows := cursor.fetchall()):
            return
        yield from rows


def _demand_empty(cursor: Any) -> None:
    tables = ["listings", *_TABLES]
    cursor.execute(f"SELECT {', '.join(f'EXISTS (SELECT FROM {table})' for table in tables)}")
    if full := [table for table, some in zip(tables, cursor.fetchone(), strict=True) if some]:
        raise NotEmpty(f"the store is not empty: it has {', '.join(full)}; restore into an empty database")


def _copy(cursor: Any, part: str, entries: Iterator[Any]) -> None:
    """Copy the entries piece by piece, so that an error of `entries` is raised here and not within a COPY."""
    table, statement = (_LISTINGS, _COPY_LISTINGS) if part == "listings" else (_TABLES[part], _TABLES[part].copy)
    while some := list(islice(entries, _TOGETHER)):
        copy(cursor, statement, [tuple(table.write(each)) for each in some])


assert {"numbering", "listings", *_TABLES} == set(PARTS)

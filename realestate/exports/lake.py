"""The lake: Apache Iceberg tables that follow the events of the store.

Each table of the lake is brought up to date by itself, some thousand events at a time. One commit of Iceberg adds their
rows and, as a property of the snapshot, the number of the last event. So a sync that is killed anywhere continues with
each row exactly once: what was not committed does not exist for readers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.expressions import And, EqualTo, In
from pyiceberg.table import Table as IcebergTable
from pyiceberg.transforms import MonthTransform
from sqlalchemy.exc import SQLAlchemyError

from realestate.exports.arrow import parts, schema_of
from realestate.exports.errors import ExportError, WrongExport
from realestate.storage.lake import LAKE_TABLE_NAMES, LAKE_TABLES, LakeStore, LakeTableName, Span

NAMESPACE = "realestate"
#: The catalog of a lake in a folder: an SQLite database in it.
CATALOG_FILE = "catalog.db"
#: Properties of a snapshot: the number of the last event in it, and a digest of the listings that were erased.
LAST_EVENT = "realestate.last-event"
ERASED = "realestate.erased"
#: A commit that comes too late must fail: pyiceberg would append its rows behind those of the other sync, which are the
#: same.
_PROPERTIES = {"commit.retry.num-retries": "0"}
#: Events of one commit. Their rows are in memory together; larger commits make fewer files.
EVENTS_AT_ONCE = 20_000
#: The column whose month is a partition.
_TIMES = {"events": "at", "prices": "at", "versions": "changed_at"}

Show = Callable[[str, int, int], object]
"""Called with the name of a table, the number of the last event it contains, and that of the newest event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """What a sync did to one table."""

    table: str
    first_event: int
    """It continued after this event."""
    last_event: int
    rows: int
    erased_rows: int


def sync(store: LakeStore, lake: "Lake", show: Show = lambda table, done, all: None) -> list[Synced]:
    """Bring all tables of the lake up to the newest event of the store."""
    newest = store.last_event()
    erased = _erased(store)
    return [_sync(store, lake.table(name), name, newest, erased, show) for name in LAKE_TABLE_NAMES]


def _sync(
    store: LakeStore, table: IcebergTable, name: LakeTableName, newest: int, erased: "Erased", show: Show
) -> Synced:
    first = _last_event(table)
    if first > newest:
        raise ExportError(
            f"the lake has events up to {first}, but the store only up to {newest}: is it the lake of another store?"
        )
    digest = _digest_of(table)
    after = first
    rows = 0
    while after < newest:
        span = Span(after, min(after + EVENTS_AT_ONCE, newest))
        added = _read(store, name, span)
        with _committing(table):
            table.append(added, snapshot_properties=_properties(span.upto, digest))
        rows += added.num_rows
        after = span.upto
        show(name, after, newest)
    deleted = 0 if erased.digest == digest else _erase(table, erased, after)
    return Synced(table=name, first_event=first, last_event=after, rows=rows, erased_rows=deleted)


def _read(store: LakeStore, name: LakeTableName, span: Span) -> pa.Table:
    with store.changed(name, span) as source:
        batches = [part.batch for part in parts(source)]
    return pa.Table.from_batches(batches, schema_of(LAKE_TABLES[name]))


def _properties(last_event: int, erased: str) -> dict[str, str]:
    return {LAST_EVENT: str(last_event), ERASED: erased}


@contextmanager
def _committing(table: IcebergTable) -> Iterator[None]:
    try:
        yield
    except CommitFailedException as error:
        raise ExportError(
            f"another program has written to {'.'.join(table.name())} meanwhile: nothing was written twice; sync again"
        ) from error


def _snapshot_properties(table: IcebergTable) -> Iterator[dict[str, str]]:
    """The properties of the present snapshot and those before it. A snapshot of another program, such as one that
    merges small files, does not have ours."""
    snapshot = table.current_snapshot()
    while snapshot is not None:
        if snapshot.summary is not None:
            yield snapshot.summary.additional_properties
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else table.snapshot_by_id(parent)


def _last_event(table: IcebergTable) -> int:
    for properties in _snapshot_properties(table):
        if LAST_EVENT in properties:
            return int(properties[LAST_EVENT])
    if table.current_snapshot() is not None:
        raise ExportError(
            f"no snapshot of {'.'.join(table.name())} has the property {LAST_EVENT}: were all that this program made"
            " expired? Sync into a new folder"
        )
    return 0


def _digest_of(table: IcebergTable) -> str:
    return next((each[ERASED] for each in _snapshot_properties(table) if ERASED in each), "")


# ----- erased listings


@dataclass(frozen=True, slots=True)
class Erased:
    """The listings that were erased from the store, by portal."""

    refs: Mapping[str, Sequence[str]]

    @property
    def digest(self) -> str:
        return blake2b(repr(sorted(self.refs.items())).encode(), digest_size=8).hexdigest() if self.refs else ""


def _erased(store: LakeStore) -> Erased:
    refs: dict[str, list[str]] = {}
    for portal, ref in sorted(store.erased_listings()):
        refs.setdefault(portal, []).append(ref)
    return Erased(refs)


def _erase(table: IcebergTable, erased: Erased, last_event: int) -> int:
    """Delete the rows of erased listings, and return how many there were. Called only if more were erased since the
    last time: all files of their portals are read."""
    deleted = 0
    for portal, refs in erased.refs.items():
        theirs = And(EqualTo("portal", portal), In("ref", refs))
        count = table.scan(row_filter=theirs, selected_fields=("ref",)).to_arrow().num_rows
        if count:
            with _committing(table):
                table.delete(theirs, snapshot_properties=_properties(last_event, ""))
        deleted += count
    nothing = schema_of(LAKE_TABLES[_name_of(table)]).empty_table()
    with _committing(table):
        table.append(nothing, snapshot_properties=_properties(last_event, erased.digest))
    return deleted


# ----- the catalog


class Lake:
    """The tables of a lake: files in a folder or a bucket, and an SQL catalog that says which of them are valid."""

    def __init__(self, to: str, catalog_url: str | None = None, s3_endpoint: str | None = None) -> None:
        """`to` is a folder or s3://bucket/prefix. Without the URL of a catalog, it is a file in the folder. The
        endpoint is the address of an S3 server that is not Amazon's."""
        warehouse, folder = _place(to)
        if folder is None and catalog_url is None:
            raise WrongExport("a lake in a bucket needs a catalog: set LAKE_CATALOG (docs/lake.md)")
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise WrongExport(f"the folder {folder} cannot be made: {error.strerror}") from error
        try:
            uri = catalog_url or f"sqlite:///{folder}/{CATALOG_FILE}"
            server = {"s3.endpoint": s3_endpoint} if s3_endpoint else {}
            self._catalog = SqlCatalog(NAMESPACE, uri=uri, warehouse=warehouse, **server)
            self._catalog.create_namespace_if_not_exists(NAMESPACE)
        except SQLAlchemyError as error:
            line = str(error).partition("\n")[0]
            raise ExportError(f"the catalog of the lake cannot be used: {line}") from error

    def table(self, name: LakeTableName) -> IcebergTable:
        """The table. It is created if it does not exist."""
        identifier = (NAMESPACE, name)
        try:
            return self._catalog.load_table(identifier)
        except NoSuchTableError:
            schema = schema_of(LAKE_TABLES[name])
            with (
                self._catalog.create_table_transaction(identifier, schema, properties=_PROPERTIES) as creation,
                creation.update_spec() as partitions,
            ):
                partitions.add_identity("portal")
                partitions.add_field(_TIMES[name], MonthTransform(), "month")
            return self._catalog.load_table(identifier)


def _name_of(table: IcebergTable) -> LakeTableName:
    return next(name for name in LAKE_TABLE_NAMES if name == table.name()[-1])


def _place(to: str) -> tuple[str, Path | None]:
    """The URL of the warehouse, and the folder if it is on this machine."""
    if to.startswith("s3://"):
        if not urlsplit(to).netloc:
            raise WrongExport(f"--to {to}: s3://bucket/prefix is needed")
        return to.rstrip("/"), None
    if "://" in to:
        raise WrongExport(f"--to begins with {to.partition('://')[0]!r}: a folder or s3://bucket/prefix is needed")
    folder = Path(to).absolute()
    if folder.exists() and not folder.is_dir():
        raise WrongExport(f"--to {to} is a file: a folder or s3://bucket/prefix is needed")
    return folder.as_uri(), folder

"""Export one table of the store into one file."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import msgspec

from realestate import __version__
from realestate.exports.destinations import destination
from realestate.exports.errors import ExportError, WrongExport
from realestate.exports.formats import FORMATS, FormatName
from realestate.exports.sink import Sink, Totals
from realestate.storage.export import ALL_ROWS, TABLES, ExportStore, Selection, TableName

Show = Callable[[int, int], object]
"""Called with the number of rows that are written, and of all rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """How many rows, and the sum of their hashes: see `storage.export.row_hash`."""

    count: int
    checksum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was exported: the manifest."""

    file: str
    table: TableName
    format: FormatName
    made_at: datetime
    made_by: str
    written: Rows
    stored: Rows
    """The same, as the store counted them by itself when the export began."""
    is_snapshot: bool
    """Whether all rows are as of one point in time. Only MongoDB has no such view: there the two may differ if workers
    write meanwhile."""
    shortened_texts: int
    """Texts that were cut because the format has a limit."""
    size_bytes: int
    sha256: str
    columns: list[str]
    where: str | None
    """The filter of the listings."""
    since: datetime | None

    @property
    def is_complete(self) -> bool:
        return self.written == self.stored

    def as_json(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def export(
    store: ExportStore,
    table: TableName,
    format: FormatName,
    out: str,
    now: datetime,
    show: Show = lambda done, all: None,
    selection: Selection = ALL_ROWS,
) -> Exported:
    """Write the table to `out`: a file, `-` for the standard output, or s3://bucket/name. Return the manifest.

    A file gets its name when it is complete and its rows are those that the store counted, and replaces an older file
    of that name. Raises ExportError, and WrongExport for something that cannot be exported this way."""
    form = FORMATS[format]
    form.check(TABLES[table])
    if selection.where is not None and not TABLES[table].has_filter:
        raise WrongExport(f"a filter is for listings, their events and prices, and homes, not for {table}")
    if selection.since is not None and not TABLES[table].since:
        raise WrongExport(f"--since is not for {table}: its rows have no time")
    place = destination(out, form.media_type, is_text=form.is_text)
    with store.exported(TABLES[table], selection) as source:
        form.check_count(source.count)
        with place.opened() as file:
            sink = Sink(file)
            totals = Totals(lambda done: show(done, source.count))
            form.write(source, sink, totals)
            exported = Exported(
                file=out,
                table=table,
                format=format,
                made_at=now,
                made_by=f"realestate {__version__}",
                written=Rows(count=totals.count, checksum=totals.checksum),
                stored=Rows(count=source.count, checksum=source.checksum),
                is_snapshot=source.is_snapshot,
                shortened_texts=totals.shortened,
                size_bytes=sink.size,
                sha256=sink.sha256,
                columns=source.table.names,
                where=None if selection.where is None else selection.where.text,
                since=selection.since,
            )
            if source.is_snapshot and not exported.is_complete:
                raise ExportError(
                    f"{totals.count:,} rows were written with checksum {totals.checksum}, but the store has"
                    f" {source.count:,} with checksum {source.checksum}: nothing was exported; please report this"
                )
            place.finish(file, exported.as_json())
    return exported

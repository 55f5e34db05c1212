"""The formats, by name. Each is a module with a function `write`, imported when it is used."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePosixPath
from typing import Literal, get_args

from realestate.exports.errors import MissingExtra, WrongExport
from realestate.exports.sink import Sink, Totals
from realestate.storage.export import Export, Table

FormatName = Literal["csv", "jsonl", "parquet", "geojson", "geoparquet", "xlsx"]
FORMAT_NAMES: tuple[FormatName, ...] = get_args(FormatName)
Write = Callable[[Export, Sink, Totals], None]
"""Writes all rows into the sink and adds them to the totals."""

#: The libraries of the extra `realestate[analysis]`.
_OF_THE_EXTRA = frozenset({"pyarrow", "numpy", "adbc_driver_manager", "adbc_driver_postgresql", "rustpy_xlsxwriter"})


@dataclass(frozen=True, slots=True)
class Format:
    """A format of files. The last of its suffixes is the most exact one."""

    name: FormatName
    suffixes: tuple[str, ...]
    media_type: str
    is_text: bool
    needs_place: bool = False
    most_rows: int | None = None
    too_many: str = ""
    """What to do with more than `most_rows` rows."""

    def check(self, table: Table) -> None:
        """WrongExport if it cannot hold this table."""
        if self.needs_place and not table.has_place:
            raise WrongExport(f"{self.name} is for listings: {table.name} have no coordinates; use csv or parquet")

    def check_count(self, count: int) -> None:
        if self.most_rows is not None and count > self.most_rows:
            raise WrongExport(
                f"{count:,} rows do not fit: a sheet of {self.name} holds {self.most_rows:,} and a header;"
                f" {self.too_many}"
            )

    def write(self, source: Export, sink: Sink, totals: Totals) -> None:
        """Raises MissingExtra if its libraries are not installed."""
        try:
            write: Write = import_module(f"realestate.exports.{self.name}").write
            write(source, sink, totals)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] not in _OF_THE_EXTRA:
                raise
            raise MissingExtra(f"--format {self.name}") from error


#: Rows of a sheet of Excel, without the header.
XLSX_ROWS = 1_048_575

FORMATS: Mapping[FormatName, Format] = {
    each.name: each
    for each in (
        Format("csv", (".csv",), "text/csv", is_text=True),
        Format("jsonl", (".jsonl", ".ndjson"), "application/x-ndjson", is_text=True),
        Format("parquet", (".parquet",), "application/vnd.apache.parquet", is_text=False),
        Format("geojson", (".geojson",), "application/geo+json", is_text=True, needs_place=True),
        Format("geoparquet", (".geoparquet",), "application/vnd.apache.parquet", is_text=False, needs_place=True),
        Format(
            "xlsx",
            (".xlsx",),
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            is_text=False,
            most_rows=XLSX_ROWS,
            too_many="export csv or parquet instead, or fewer rows",
        ),
    )
}


def format_of(out: str) -> FormatName:
    """The format that the name of the file says; csv for the standard output. WrongExport if it says none."""
    if out == "-":
        return "csv"
    suffix = PurePosixPath(out).suffix.lower()
    for each in FORMATS.values():
        if suffix in each.suffixes:
            return each.name
    known = ", ".join(suffix for each in FORMATS.values() for suffix in each.suffixes)
    raise WrongExport(f"the format of {out!r} is not clear: give --format, or a name that ends with {known}")

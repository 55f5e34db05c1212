"""A workbook of Excel with one sheet. Texts are cells of the type text, so that no formula is ever calculated.

A sheet has limits: about a million rows (`formats.XLSX_ROWS`), 32,767 characters in a cell, and times without a zone,
to the second. Times are in UTC. Longer texts are cut, and the manifest says how many. Lists and objects are JSON.
"""

import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import rustpy_xlsxwriter

from realestate.exports.csv import as_json
from realestate.exports.sink import Sink, Totals
from realestate.storage.export import Export

_LONGEST = 32_767


def write(source: Export, sink: Sink, totals: Totals) -> None:
    records = _records(source, totals) if source.count else _no_records(source)
    with TemporaryDirectory(prefix="realestate-export-") as folder:
        made = Path(folder) / "export.xlsx"
        rustpy_xlsxwriter.write_worksheet(
            records,
            made,
            sheet_name=source.table.name,
            freeze_row=1,
            bold_headers=True,
            datetime_format="yyyy-mm-dd hh:mm:ss",
        )
        with made.open("rb") as file:
            shutil.copyfileobj(file, sink, 1024 * 1024)


def _no_records(source: Export) -> pa.Table:
    """From no record at all the library would not write a header."""
    return pa.table({name: pa.array([], pa.string()) for name in source.table.names})


def _records(source: Export, totals: Totals) -> Iterator[dict[str, Any]]:
    names = source.table.names
    convert = [_CELLS.get(column.type, _as_it_is) for column in source.table.columns]
    for rows in source.rows():
        for row in rows:
            values = [
                None if value is None else make(value, totals) for make, value in zip(convert, row[1:], strict=True)
            ]
            yield dict(zip(names, values, strict=True))
        totals.add_rows(rows)


def _as_it_is(value: Any, totals: Totals) -> Any:
    return value


def _text(value: str, totals: Totals) -> str:
    if "\r" in value:  # in a cell of Excel, a line ends with a line feed
        value = value.replace("\r\n", "\n").replace("\r", "\n")
    if len(value) <= _LONGEST // 2:
        return value
    # Excel counts characters beyond the basic plane twice.
    if len(value.encode("utf-16-le")) // 2 <= _LONGEST:
        return value
    totals.shortened += 1
    cut = value.encode("utf-16-le")[: 2 * (_LONGEST - 1)].decode("utf-16-le", "ignore")
    return f"{cut}…"


def _json(value: Any, totals: Totals) -> str:
    return _text(as_json(value), totals)


def _time(value: datetime, totals: Totals) -> datetime:
    return value.astimezone(UTC).replace(tzinfo=None)


_CELLS: dict[type, Callable[[Any, Totals], Any]] = {str: _text, list: _json, dict: _json, datetime: _time}

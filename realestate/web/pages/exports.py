"""The download of a selection of listings: exactly what `realestate export` writes, sent while it is written."""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from threading import Thread
from typing import IO

from realestate.exports import FORMATS, FormatName
from realestate.exports.sink import Sink, Totals
from realestate.storage import FullStore
from realestate.storage.export import TABLES, Selection
from realestate.storage.query import Filter
from realestate.web.pages.site import Ask

#: The formats of the page: name, label, and the library without which it cannot be written.
OFFERED: tuple[tuple[FormatName, str, str], ...] = (
    ("csv", "CSV", ""),
    ("geojson", "GeoJSON", ""),
    ("xlsx", "Excel", "rustpy_xlsxwriter"),
    ("parquet", "Parquet", "pyarrow"),
)
_PART = 256 * 1024


def offered() -> list[tuple[FormatName, str]]:
    """The formats that can be written here, with their labels."""
    return [(name, label) for name, label, library in OFFERED if not library or find_spec(library)]


def streamed(ask: Ask, filter: Filter, format: FormatName) -> Iterator[bytes]:
    """The bytes of the export. Raises what went wrong, also in the middle: then the download is broken, and no browser
    takes it for complete."""
    reading, writing = os.pipe()
    problems: list[Exception] = []

    def write() -> None:
        try:
            with os.fdopen(writing, "wb") as file:
                ask(lambda store: _write(store, filter, format, file))
        except Exception as error:  # raised again below; one of these is that the reader has gone
            problems.append(error)

    thread = Thread(target=write, name="export", daemon=True)
    thread.start()
    with os.fdopen(reading, "rb", buffering=0) as file:
        while part := file.read(_PART):
            yield part
    thread.join()
    if problems:
        raise problems[0]


def _write(store: FullStore, filter: Filter, format: FormatName, file: IO[bytes]) -> None:
    with store.exported(TABLES["listings"], Selection(filter)) as source:
        FORMATS[format].check_count(source.count)
        FORMATS[format].write(source, Sink(file), Totals(lambda done: None))

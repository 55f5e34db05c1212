"""Pages for tests, and a process that writes them until it is killed."""

import json
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from realestate.storage.snapshots import Page, SnapshotRef, SnapshotWriter

NOON = datetime(2026, 11, 4, 12, 0, 0, 123456, tzinfo=UTC)
_PAGE = Page(
    portal="immoweb",
    url="https://www.immoweb.be/en/classified/21000001",
    status=200,
    headers=(("Content-Type", "text/html; charset=utf-8"), ("X-Served-By", "a"), ("X-Served-By", "b")),
    body=b"<html>\r\n\r\nHTTP/1.1 200 OK\r\n\r\nWARC/1.1\r\n</html>",
    fetched_at=NOON,
    kind="failed",
    stage="extract",
    ref="21000001",
    job="j1",
    hints={"rent_period": "month", "seen": [1, None, {"a": "ə"}]},
)


def a_page(**changes: Any) -> Page:
    return replace(_PAGE, **changes)


def a_writer(url: str | Path, **changes: Any) -> SnapshotWriter:
    return SnapshotWriter(str(url), **{"worker": "host:1:abc", "max_bytes": 1 << 20, "max_seconds": 3600.0, **changes})


def numbered(number: int) -> Page:
    """A page of random bytes, which do not compress: most of the time is spent writing."""
    body = Random(number).randbytes(300_000)
    return a_page(url=f"https://www.immoweb.be/en/classified/{number}", ref=str(number), body=body)


def as_json(ref: SnapshotRef) -> str:
    return json.dumps(asdict(ref), default=str)


def write_for_ever(url: str, spool: str) -> None:
    """Write pages without end. Print the row of each page when the page is on disk."""
    writer = a_writer(url, spool=Path(spool), max_bytes=1 << 30)
    for number in range(10**9):
        ref = writer.write(numbered(number))
        writer.flush()
        print(as_json(ref), flush=True)


if __name__ == "__main__":
    write_for_ever(*sys.argv[1:])

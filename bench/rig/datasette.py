"""Datasette over HTTP on the same rows: `summaries` in SQLite, with an index on each column that a question uses."""

import csv
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path

import httpx

from bench import DoesNotCount
from bench.rig.context import Context
from bench.rig.database import Database

_COLUMNS = (
    "portal, ref, url, country, operation, property_type, status, price, currency, price_per_m2, area_m2, rooms, city,"
    " district, latitude, longitude, title, seller_type, first_seen_at, changed_at"
)
_INDEXES = ("portal", "country", "status", "price", "city", "rooms", "property_type", "first_seen_at")
#: By default it gives up after a second, and facets after a fifth of one. Here it may finish.
_SETTINGS = {"sql_time_limit_ms": 60_000, "facet_time_limit_ms": 60_000, "suggest_facets": "off"}
_START_SECONDS = 60


def is_installed() -> bool:
    return find_spec("datasette") is not None


@contextmanager
def datasette(context: Context, stored: Database) -> Iterator[httpx.Client]:
    """Copy the listings on the market, and yield a client of Datasette."""
    file = context.folder / "market.db"
    _copy(stored, file, context.folder / "market.csv")
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    settings = [part for name, value in _SETTINGS.items() for part in ("--setting", name, str(value))]
    command = [sys.executable, "-m", "datasette", "serve", "--immutable", str(file), "--port", str(port), *settings]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
            _wait_for(client)
            yield client
    finally:
        process.terminate()
        process.wait(30)


def _copy(stored: Database, file: Path, between: Path) -> None:
    with stored.transaction() as cursor, between.open("wb") as out:
        cursor.copy_expert(f"COPY (SELECT {_COLUMNS} FROM summaries WHERE on_market) TO STDOUT (FORMAT csv)", out)
    with closing(sqlite3.connect(file)) as target, between.open(newline="", encoding="utf-8") as rows:
        target.execute(f"CREATE TABLE listings ({_COLUMNS}, PRIMARY KEY (portal, ref))")
        places = ", ".join("?" * (_COLUMNS.count(",") + 1))
        made = ([value or None for value in row] for row in csv.reader(rows))
        target.executemany(f"INSERT INTO listings VALUES ({places})", made)
        target.execute("UPDATE listings SET price = CAST(price AS REAL), rooms = CAST(rooms AS INTEGER)")
        for column in _INDEXES:
            target.execute(f"CREATE INDEX by_{column} ON listings ({column})")
        target.execute("ANALYZE")
        target.commit()
    between.unlink()


def _wait_for(client: httpx.Client) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        try:
            if client.get("/-/versions.json").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise DoesNotCount("Datasette did not start")

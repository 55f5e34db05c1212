"""The data going out: exports beside the obvious script of psycopg2 and pandas, and the lake.

Each export and each script is a process of its own, whose time and largest memory are measured from outside.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench import Context, DoesNotCount, Goal, Measure, Samples, in_turns
from bench.rig.adverts import Adverts
from bench.rig.database import Database, database
from bench.store import write

#: Listings that are exported. A quick run has a fifth.
MANY = 1_000_000
#: Different listings, from which the others are made.
PATTERNS = 1_000
MEGABYTE = 1_000_000
#: The obvious script. `extra` and `delisted_at` as text, because Parquet has no such types.
SCRIPT = """
import sys, warnings
import pandas, psycopg2
warnings.simplefilter("ignore")
url, out = sys.argv[1:]
connection = psycopg2.connect(url)
query = '''SELECT {columns} FROM listings ORDER BY portal, ref'''
frame = pandas.read_sql(query, connection)
frame.to_csv(out, index=False) if out.endswith("csv") else frame.to_parquet(out)
"""
#: The same work in the same number of columns.
FORMATS = {"parquet": 2.5, "csv": 2.0}


class Run(NamedTuple):
    rows_per_second: float
    megabytes: float
    """The largest memory of the process."""


def measures(context: Context) -> Iterator[Measure]:
    many = context.sized(MANY, least=200)
    with database(context, "bench_out") as stored:
        write(stored.store, Adverts(min(many, PATTERNS)).new(min(many, PATTERNS)))
        stored.ask("ALTER TABLE listings DISABLE TRIGGER USER")  # what searches compare is not exported
        stored.fill(many)
        count = stored.count("listings")
        yield from exporting(context, stored, count)
        yield lake(context, stored)


# ----- exports


def exporting(context: Context, stored: Database, count: int) -> Iterator[Measure]:
    for format, minimum in FORMATS.items():
        ours, script = context.folder / f"ours.{format}", context.folder / f"script.{format}"
        ways = {
            "ours": [sys.executable, "-m", "realestate", "export", "listings", "--out", str(ours)],
            "script": [sys.executable, "-c", _script(), stored.url, str(script)],
        }
        found = in_turns({name: partial(_run, way, stored, count) for name, way in ways.items()}, context.rounds)
        _check(ours, script)
        rates = {name: Samples([run.rows_per_second for run in runs]) for name, runs in found.items()}
        memory = {name: Samples([run.megabytes for run in runs]) for name, runs in found.items()}
        name = f"exporting {count:,} listings to {format}"
        goal = Goal(of="ratio", minimum=minimum)
        yield Measure.of(name, "rows/s", goal, rates["ours"], "psycopg2 and pandas", rates["script"])
        goal = Goal(maximum=300)
        yield Measure.of(f"{name}: memory", "MB", goal, memory["ours"], "psycopg2 and pandas", memory["script"])


def _script() -> str:
    from realestate.items import FIELDS

    as_text = ("extra", "delisted_at")
    return SCRIPT.format(columns=", ".join(f"{name}::text" if name in as_text else name for name in FIELDS))


def _run(command: list[str], stored: Database, count: int) -> Run:
    environment = {**os.environ, "STORE_URL": stored.url, "REDIS_URL": "redis://127.0.0.1:1/0"}
    began = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise DoesNotCount(f"{command[1:3]} failed with {process.returncode}")
    return Run(count / seconds, usage.ru_maxrss * 1024 / MEGABYTE)


def _check(ours: Path, script: Path) -> None:
    """Both files have the same rows."""
    import duckdb

    seen = [duckdb.sql(f"SELECT count(*), sum(price) FROM '{path}'").fetchall() for path in (ours, script)]
    if seen[0] != seen[1]:
        raise DoesNotCount(f"the files differ: {seen}")


# ----- the lake


def lake(context: Context, stored: Database) -> Measure:
    from realestate.exports.lake import Lake, sync

    began = time.perf_counter()
    synced = sync(stored.store, Lake(str(context.folder / "lake")))
    seconds = time.perf_counter() - began
    rows = sum(each.rows for each in synced)
    expected = 2 * stored.count("events") + stored.count("listings")
    if rows != expected:
        raise DoesNotCount(f"the lake got {rows} rows of {expected}")
    return Measure(name=f"the lake: {rows:,} rows", value=rows / seconds, unit="rows/s", goal=Goal())

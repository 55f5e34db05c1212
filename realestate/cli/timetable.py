"""`realestate timetable`: jobs and housekeeping at their times."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from realestate.cli.help_page import command_group
from realestate.cli.options import JsonFlag

if TYPE_CHECKING:
    from realestate.jobs.timetable.entries import Entry
    from realestate.storage.occurrences import Occurrence

app = command_group("The timetable: run it, list its entries, see what comes next.")
FileOption = Annotated[
    Path | None, typer.Option("--file", help="The timetable; by default TIMETABLE, or timetable.toml in this folder.")
]


@app.command(epilog="Example: realestate timetable run --file timetable.toml")
def run(file: FileOption = None) -> None:
    """Start jobs and housekeeping at their times, until SIGTERM. Any number of processes may run the same timetable:
    each occurrence starts one job. A changed file is read at once; if it has an error, the last good one goes on."""
    from realestate import environment, settings
    from realestate.cli.job_desk import checked
    from realestate.jobs.timetable.process import run as run_on
    from realestate.monitoring.logs import start_logging

    entries = _entries(file)  # first: a wrong file is named also where nothing runs
    addresses = _addresses()
    start_logging(settings.LOG_LEVEL, as_json=settings.LOG_JSON)
    print(f"{len(entries)} entries of {_path(file)}; `realestate timetable next` shows what comes", flush=True)
    env = environment.changed(REDIS_URL=addresses.redis_url, STORE_URL=addresses.store_url)
    checked(
        lambda: run_on(
            _path(file), addresses.redis_url, addresses.store_url, settings.SIMULATOR_URL, env, settings.NOTIFY_URLS
        ),
    )


@app.command("list", epilog="Example: realestate timetable list")
def list_entries(file: FileOption = None, json: JsonFlag = False) -> None:
    """List the entries: when each is due next, and what became of its last occurrence."""
    from realestate.cli import terminal
    from realestate.cli.job_desk import job_desk
    from realestate.queue import keys
    from realestate.storage.occurrences import last_of

    entries = _entries(file)
    with job_desk() as desk:
        last = {each.name: last_of(desk.store, each.name) for each in entries}
        error: Any = desk.server.get(keys.TIMETABLE_ERROR)
    now = datetime.now(UTC)
    if json:
        terminal.print_json([_fields(each, now, last[each.name]) for each in entries], indent=0)
    else:
        rows = [
            [
                each.name,
                each.cron,
                str(each.zone),
                f"{next(each.due_after(now)).astimezone(each.zone):%Y-%m-%d %H:%M}",
                each.what,
                one.outcome if (one := last[each.name]) else "-",
            ]
            for each in entries
        ]
        terminal.print_columns(["entry", "cron", "zone", "next", "does", "last"], rows, left=6)
    if error is not None:
        from realestate.cli.errors import print_warning

        print_warning(f"the running timetable is an older one: {error.decode()}")


@app.command("next", epilog="Example: realestate timetable next --count 20")
def next_occurrences(
    file: FileOption = None,
    count: Annotated[int, typer.Option(min=1, max=10_000, help="How many occurrences.")] = 10,
    json: JsonFlag = False,
) -> None:
    """Show the next occurrences of all entries, in the zone of each. Needs neither Redis nor the store."""
    from realestate.cli import terminal
    from realestate.jobs.timetable.entries import coming

    found = coming(_entries(file), datetime.now(UTC), count)
    if json:
        terminal.print_json([{"due_at": due, "entry": entry.name, "does": entry.what} for due, entry in found])
        return
    rows = [[f"{due.astimezone(entry.zone):%Y-%m-%d %H:%M %Z}", entry.name, entry.what] for due, entry in found]
    terminal.print_columns(["due", "entry", "does"], rows, left=3)


def _path(file: Path | None) -> Path:
    from realestate import settings

    return file or settings.TIMETABLE


def _entries(file: Path | None) -> "tuple[Entry, ...]":
    from realestate import settings
    from realestate.cli.job_desk import checked
    from realestate.jobs.timetable.entries import read_timetable

    return checked(lambda: read_timetable(_path(file), settings.SIMULATOR_URL))


def _addresses() -> Any:
    from realestate.cli.connections import running_addresses

    return running_addresses()


def _fields(entry: "Entry", now: datetime, last: "Occurrence | None") -> dict[str, Any]:
    return {
        "entry": entry.name,
        "cron": entry.cron,
        "zone": str(entry.zone),
        "next": next(entry.due_after(now)),
        "does": entry.what,
        "overlap": entry.overlap,
        "catch_up": entry.catch_up,
        "last": None if last is None else {"due_at": last.due_at, "outcome": last.outcome, "job": last.job},
    }

"""The `realestate` command. One module per group of commands; each asks the other rooms and prints the result.

Commands import the rooms only when they run: `realestate --help` must not wait for Scrapy.
"""

import gc
import sys
from typing import Annotated

import typer

from realestate import __version__
from realestate.cli import (
    crawl,
    database,
    deadletters,
    demo,
    doctor,
    export,
    exporter,
    homes,
    jobs,
    lake,
    listings,
    maintenance,
    market,
    mcp,
    notifications,
    portal,
    quarantine,
    reparse,
    search,
    serve,
    submit,
    timetable,
    up,
)
from realestate.cli import status as status_commands
from realestate.cli import watch as watch_commands
from realestate.cli.help_page import AUTHOR, DATA, FLEET, KEEP, START, GroupedCommands

#: New objects after which Python looks for garbage. Python's own default is 700.
GARBAGE_EVERY = 20_000

NOT_ON_WINDOWS = (
    "realestate: Windows itself is not supported: run `wsl --install` once, open WSL, and install realestate there"
)

app = typer.Typer(
    name="realestate",
    cls=GroupedCommands,
    help="Collect property listings of many portals, with their history.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command(rich_help_panel=START, epilog="Example: realestate demo --listings 500")(demo.demo)
app.command(rich_help_panel=START, epilog="Example: realestate crawl immoweb --city gent --operation rent --limit 100")(
    crawl.crawl
)
app.command(rich_help_panel=START, epilog="Example: realestate status --json")(status_commands.status)
app.command(rich_help_panel=START, epilog="Example: realestate portals")(portal.portals)
app.command(rich_help_panel=START, epilog="Example: realestate db -- --command 'SELECT count(*) FROM listings'")(
    database.db
)
app.command(rich_help_panel=START, epilog="Example: realestate doctor")(doctor.doctor)
app.command(rich_help_panel=DATA, epilog="Example: realestate history emlak 840001")(listings.history)
app.command(rich_help_panel=DATA, epilog="Example: realestate events --after 1500 --json")(listings.events)
app.command(rich_help_panel=DATA, epilog="Example: realestate market baku --operation sale --weeks 26")(market.market)
app.add_typer(homes.app, name="homes", rich_help_panel=DATA, epilog="Example: realestate homes show bina/6150445")
app.command(rich_help_panel=DATA, epilog="Example: realestate serve --port 8080")(serve.serve)
app.command(rich_help_panel=DATA, epilog="Example: realestate mcp --demo")(mcp.mcp)
app.command(rich_help_panel=FLEET, epilog="Example: realestate work immoweb emlak")(crawl.work)
app.command(rich_help_panel=DATA, epilog="Example: realestate export listings --out listings.parquet")(export.export)
app.add_typer(
    search.app,
    name="search",
    rich_help_panel=DATA,
    epilog="Example: realestate search list",
)
app.add_typer(lake.app, name="lake", rich_help_panel=DATA, epilog="Example: realestate lake sync --to /data/lake")
app.command(rich_help_panel=FLEET, epilog="Example: realestate up --workers auto")(up.up)
app.command(rich_help_panel=FLEET, epilog="Example: realestate autoscale --explain")(up.autoscale)
app.command(rich_help_panel=FLEET, epilog="Example: realestate submit bina --operation sale --city baku --deadline 2h")(
    submit.submit
)
app.add_typer(jobs.app, name="jobs", rich_help_panel=FLEET, epilog="Example: realestate jobs list --portal emlak")
app.add_typer(
    timetable.app, name="timetable", rich_help_panel=FLEET, epilog="Example: realestate timetable next --count 20"
)
app.add_typer(jobs.old_app, name="runs", hidden=True)
app.command(rich_help_panel=FLEET, epilog="Example: realestate pause immoweb --reason 'new layout'")(
    status_commands.pause
)
app.command(rich_help_panel=FLEET, epilog="Example: realestate resume immoweb")(status_commands.resume)
app.add_typer(
    deadletters.app,
    name="deadletters",
    rich_help_panel=FLEET,
    epilog="Example: realestate deadletters list immoweb",
)
app.command(rich_help_panel=FLEET, epilog="Example: realestate exporter --port 9400")(exporter.exporter)
app.command(rich_help_panel=FLEET, epilog="Example: realestate health --json")(exporter.health)
app.command(rich_help_panel=FLEET, epilog="Example: realestate watch --every 30")(watch_commands.watch)
app.add_typer(watch_commands.app, name="alerts", rich_help_panel=FLEET, epilog="Example: realestate alerts list")
app.add_typer(
    notifications.app,
    name="notifications",
    rich_help_panel=FLEET,
    epilog="Example: realestate notifications test",
)
app.add_typer(
    quarantine.app,
    name="quarantine",
    rich_help_panel=KEEP,
    epilog="Example: realestate quarantine list --portal immoweb",
)
app.command(rich_help_panel=KEEP, epilog="Example: realestate reparse --portal immoweb --since 2026-11-01 --dry-run")(
    reparse.reparse
)
app.command(rich_help_panel=KEEP, epilog="Example: realestate retain --delisted-days 180 --dry-run")(maintenance.retain)
app.command(rich_help_panel=KEEP, epilog="Example: realestate erase --ref emlak/840001")(maintenance.erase)
app.command(rich_help_panel=KEEP, epilog="Example: realestate upkeep --json")(maintenance.upkeep)
app.command(rich_help_panel=KEEP, epilog="Example: realestate migrate")(maintenance.migrate)
app.command(rich_help_panel=KEEP, epilog="Example: realestate backup realestate-2026-11-01.zip")(maintenance.backup)
app.command(rich_help_panel=KEEP, epilog="Example: realestate restore realestate-2026-11-01.zip")(maintenance.restore)
app.command(rich_help_panel=AUTHOR, epilog="Example: realestate init homes")(portal.init)
app.add_typer(
    portal.app, name="portal", rich_help_panel=AUTHOR, epilog="Example: realestate portal new example --kind jsonld"
)
app.command(
    rich_help_panel=AUTHOR,
    epilog="Example: realestate simulate --port 8800 --listings 2000 --adversary strict --proxies 8",
)(demo.simulate)


def main() -> None:
    """Run the command and exit: 0 for success, 2 for a wrong argument, 1 for any other error."""
    from realestate.cli import errors

    if sys.platform == "win32":
        sys.exit(NOT_ON_WINDOWS)
    # A command imports tens of thousands of objects and makes hardly any garbage. With Python's default threshold,
    # looking for garbage took a tenth of the start.
    gc.set_threshold(GARBAGE_EVERY)
    sys.exit(errors.run(app))


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        print(f"realestate {__version__}")
        raise typer.Exit


@app.command(hidden=True, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def bench() -> None:
    """Say where the measurements are now. Removed in version 0.3."""
    print("realestate: `realestate bench` is now `python -m bench`, run from a checkout", file=sys.stderr)
    raise typer.Exit(2)

"""The `realestate` command. One module per group of commands; each asks the other rooms and prints the result.

Commands import the rooms only when they run: `realestate --help` must not wait for Scrapy.
"""

import gc
import sys
from typing import Annotated

import typer

from realestate import __version__
from realestate.cli import crawl, deadletters, demo, doctor, jobs, listings, maintenance, portal, quarantine, reparse
from realestate.cli import status as status_commands

#: New objects after which Python looks for garbage. Python's own default is 700.
GARBAGE_EVERY = 20_000

NOT_ON_WINDOWS = (
    "realestate: Windows itself is not supported: run `wsl --install` once, open WSL, and install realestate there"
)

app = typer.Typer(
    name="realestate",
    help="Collect property listings of many portals, with their history.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command(epilog="Example: realestate demo --listings 500")(demo.demo)
app.command(epilog="Example: realestate simulate --port 8800 --listings 2000 --adversary strict --proxies 8")(
    demo.simulate
)
app.command(epilog="Example: realestate crawl immoweb --limit 100")(crawl.crawl)
app.command(epilog="Example: realestate work immoweb emlak")(crawl.work)
app.command(epilog="Example: realestate submit immoweb")(crawl.submit)
app.command(epilog="Example: realestate status --json")(status_commands.status)
app.command(epilog="Example: realestate pause immoweb")(status_commands.pause)
app.command(epilog="Example: realestate resume immoweb")(status_commands.resume)
app.add_typer(jobs.app, name="jobs", epilog="Example: realestate jobs list --portal emlak")
app.add_typer(jobs.old_app, name="runs", hidden=True)
app.add_typer(deadletters.app, name="deadletters", epilog="Example: realestate deadletters list immoweb")
app.add_typer(quarantine.app, name="quarantine", epilog="Example: realestate quarantine list --portal immoweb")
app.command(epilog="Example: realestate history emlak 840001")(listings.history)
app.command(epilog="Example: realestate events --after 1500 --json")(listings.events)
app.command(epilog="Example: realestate reparse --portal immoweb --since 2026-11-01 --dry-run")(reparse.reparse)
app.command(epilog="Example: realestate retain --delisted-days 180 --dry-run")(maintenance.retain)
app.command(epilog="Example: realestate erase --ref emlak/840001")(maintenance.erase)
app.command(epilog="Example: realestate upkeep --json")(maintenance.upkeep)
app.command(epilog="Example: realestate backup realestate-2026-11-01.zip")(maintenance.backup)
app.command(epilog="Example: realestate restore realestate-2026-11-01.zip")(maintenance.restore)
app.command(epilog="Example: realestate init homes")(portal.init)
app.add_typer(portal.app, name="portal", epilog="Example: realestate portal new example --kind jsonld")
app.command(epilog="Example: realestate doctor")(doctor.doctor)


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

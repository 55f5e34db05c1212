"""The `realestate` command: parses arguments, calls a room, prints.

Rooms are imported inside the commands: `realestate --help` must not wait for Scrapy.
"""

import gc
import sys
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from realestate import __version__
from realestate.cli import deadletters, history, keeping, portal, quarantine

#: New objects after which Python looks which of them are garbage; by itself it does after 700.
GARBAGE_EVERY = 20_000


class Mode(StrEnum):
    """How thoroughly a crawl reads."""

    full = "full"
    sweep = "sweep"
    incremental = "incremental"
    refresh = "refresh"


class Opponent(StrEnum):
    """Who stands before the simulated pages."""

    gentle = "gentle"
    normal = "normal"
    strict = "strict"
    hostile = "hostile"


app = typer.Typer(
    name="realestate",
    help="Collect property listings of many portals, with their history.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(deadletters.app, name="deadletters")
app.add_typer(quarantine.app, name="quarantine")
app.add_typer(history.runs, name="runs")
app.add_typer(portal.app, name="portal")
app.command(epilog="Example: realestate history emlak 840001")(history.history)
app.command(epilog="Example: realestate events --after 1500 --json")(history.events)
app.command(epilog="Example: realestate retain --delisted-days 180 --dry-run")(keeping.retain)
app.command(epilog="Example: realestate erase --ref emlak/840001")(keeping.erase)
app.command(epilog="Example: realestate upkeep --json")(keeping.upkeep)
app.command(epilog="Example: realestate backup realestate-2026-11-01.zip")(keeping.backup)
app.command(epilog="Example: realestate restore realestate-2026-11-01.zip")(keeping.restore)

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
ModeOption = Annotated[
    Mode,
    typer.Option(
        help="full: every listing; sweep: all search pages, and what is new, changed or missing; "
        "incremental: what is new since the last time; refresh: known listings that are due."
    ),
]


def main() -> None:
    """One line to a person for anything that can go wrong, 2 for a wrong argument, 1 for the rest."""
    from realestate.cli import failures

    # A command imports tens of thousands of objects and hardly any garbage: looking for it took a tenth of the time.
    gc.set_threshold(GARBAGE_EVERY)
    sys.exit(failures.run(app))


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        print(f"realestate {__version__}")
        raise typer.Exit


@app.command(epilog="Example: realestate demo --listings 500")
def demo(
    listings: Annotated[int, typer.Option(min=1, help="Listings on each simulated portal.")] = 2000,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 2,
    seed: Annotated[int, typer.Option(help="Seed of the simulated world.")] = 7,
    json: Annotated[Path | None, typer.Option(help="Write the outcome to this file too.")] = None,
) -> None:
    """Crawl simulated portals into a real database, and compare what is stored with the truth."""
    from realestate import demo as room

    with room.starting(listings=listings, workers=workers, seed=seed) as run:
        from realestate.cli import show  # which takes about as long as what has just been started

        with show.live() as progress:
            outcome = run(progress)
    show.demo(outcome)
    if json is not None:
        json.write_text(outcome.as_json())
    raise typer.Exit(0 if outcome.right else 1)


@app.command(epilog="Example: realestate simulate --port 8800 --listings 2000 --adversary strict --proxies 8")
def simulate(
    port: Annotated[int, typer.Option(min=0, max=65000, help="Control address; the portals follow. 0: any.")] = 8800,
    listings: Annotated[int, typer.Option(min=1, help="Listings on each portal.")] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the world.")] = 7,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    adversary: Annotated[Opponent | None, typer.Option(help="Who stands before the pages; without: nobody.")] = None,
    proxies: Annotated[int, typer.Option(min=0, max=200, help="Forward proxies, leaving from 127.0.0.2 on.")] = 0,
    proxy_password: Annotated[
        str | None, typer.Option(help="The proxies want it, of the user `simulator`; without it they answer 407.")
    ] = None,
) -> None:
    """Serve portals of our own, shaped like the real ones, with the truth at /_truth/<portal>.

    A day passes by `POST /_day/advance`; what a perfect daily crawler would have recorded is at
    /_truth/<portal>/events. `POST /_weather/<portal>` with {"kind": "down"} makes bad days: blocked, error_page,
    all_404, all_redirected, half_empty, half_pages, slow_search; "fine" ends them.
    `POST /_latency/<portal>` with {"seconds": 1.3} makes every answer take so long.

    An adversary allows each client address so many requests a second (gentle 20, normal 5, strict 1, hostile 0.5),
    answers more with 429 or a ban, and all but the gentle one inject faults; /_adversary tells what it did. Which of
    the proxies are dead, slow or lying follows from it and from the seed.
    """
    from realestate import simulator

    def ready(addresses: dict[str, str]) -> None:
        for name, address in addresses.items():
            print(f"{name:<10} {address}", flush=True)
        exits = [address for name, address in addresses.items() if name.startswith("proxy")]
        if exits:
            print(f"export PROXIES='{','.join(exits)}'", flush=True)
        print(f"export SIMULATOR_URL={addresses['control']}   (Ctrl-C stops)", flush=True)

    adversity = simulator.Adversity(profile=adversary, proxies=proxies, proxy_password=proxy_password)
    simulator.serve(port=port, listings=listings, seed=seed, host=host, ready=ready, adversity=adversity)


@app.command(epilog="Example: realestate crawl immoweb --limit 100")
def crawl(
    portal: Annotated[str, typer.Argument(help="The portal's name; `scrapy list` names all.")],
    urls: Annotated[list[str] | None, typer.Argument(help="Begin here instead of with all its searches.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop when about so many listings are stored.")] = None,
    mode: ModeOption = Mode.full,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    json: JsonFlag = False,
) -> None:
    """Crawl one portal on this machine, with progress; run it again to go on where it stopped."""
    from realestate.cli import local, show

    with show.live(quiet=json) as progress:
        outcome = local.crawl(portal, urls or [], mode=mode, limit=limit, workers=workers, show=progress)
    show.crawl(outcome, as_json=json)


@app.command(epilog="Example: realestate work immoweb emlak")
def work(
    portals: Annotated[list[str] | None, typer.Argument(help="Portals to serve; all by default.")] = None,
    until_done: Annotated[bool, typer.Option("--until-done", help="End when nothing is left to do.")] = False,
) -> None:
    """Be a worker of the fleet: serve the portals' queues until SIGTERM."""
    from realestate.cli import local

    raise typer.Exit(0 if local.work(portals or [], until_done=until_done) else 1)


@app.command(epilog="Example: realestate submit immoweb")
def submit(
    portal: Annotated[str, typer.Argument(help="The portal's name; `scrapy list` names all.")],
    urls: Annotated[list[str] | None, typer.Argument(help="Addresses; all its searches by default.")] = None,
    mode: ModeOption = Mode.full,
    priority: Annotated[int, typer.Option(help="Higher is sooner.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Ask the running fleet for a crawl; the same as `redis-cli lpush <portal>:start_urls …`."""
    from realestate.cli import local, show

    show.submitted(local.submit(portal, urls or [], mode, priority), as_json=json)


@app.command(epilog="Example: realestate status --json")
def status(json: JsonFlag = False) -> None:
    """What is queued, in work and stored, per portal."""
    from realestate.cli import local, show

    show.status(local.status(), as_json=json)


@app.command(epilog="Example: realestate pause immoweb")
def pause(portals: Annotated[list[str], typer.Argument(help="Portals to stop everywhere at once.")]) -> None:
    """Stop a portal on all workers: nothing more is sent to it until `resume`."""
    from realestate.cli import queues

    print(f"paused: {', '.join(queues.pause(portals))}")


@app.command(epilog="Example: realestate resume immoweb")
def resume(portals: Annotated[list[str], typer.Argument(help="Portals to go on with.")]) -> None:
    """Go on with a paused portal."""
    from realestate.cli import queues

    print(f"resumed: {', '.join(queues.resume(portals))}")


@app.command(epilog="Example: realestate reparse --portal immoweb --since 2026-11-01 --dry-run")
def reparse(
    portal: Annotated[str, typer.Option(help="The portal's name; `scrapy list` names all.")],
    since: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"], help="Pages fetched since, in UTC.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be corrected.")] = False,
    json: JsonFlag = False,
) -> None:
    """Read kept pages with today's parser, without a request, and correct what is stored."""
    from realestate.cli import report, show, snapshots

    with report.counting("page") as progress:
        told = snapshots.reparse(portal, since, progress, dry_run=dry_run)
    show.reparsed(told, dry_run=dry_run, as_json=json)


@app.command(hidden=True, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def bench() -> None:
    """Say where the measurements are now. To be removed in the next version."""
    print("realestate: `realestate bench` is now `python -m bench`, run from a checkout", file=sys.stderr)
    raise typer.Exit(2)


@app.command(epilog="Example: realestate doctor")
def doctor(json: JsonFlag = False) -> None:
    """What is configured, reachable, missing; each fault with its remedy."""
    from realestate import doctor as room
    from realestate.cli import show

    findings = room.examine()
    show.doctor(findings, as_json=json)
    raise typer.Exit(0 if all(finding.ok for finding in findings) else 1)

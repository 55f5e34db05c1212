"""`realestate demo` and `realestate simulate`: simulated portals, with or without a crawl of them."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from realestate.cli.serve import PORT

if TYPE_CHECKING:
    from rich.table import Table

    from realestate.demo.crawl import Outcome

#: Wrong fields, and places of a market, that the demo prints. The file of --json has all.
_FAULTS_PRINTED = 15
_MARKETS_PRINTED = 4
#: They open an export in pandas. Ids and postal codes are texts, although they look like numbers.
PANDAS_LINES = (
    "import pandas",
    'listings = pandas.read_csv("listings.csv", dtype={"ref": str, "postal_code": str}, low_memory=False)',
)


class Adversary(StrEnum):
    """How hard the simulated portals defend themselves."""

    gentle = "gentle"
    normal = "normal"
    strict = "strict"
    hostile = "hostile"


def demo(
    listings: Annotated[int, typer.Option(min=1, help="Listings on each simulated portal.")] = 2000,
    workers: Annotated[int, typer.Option(min=1, help="Number of worker processes.")] = 2,
    seed: Annotated[int, typer.Option(help="Seed of the simulated world.")] = 7,
    json: Annotated[Path | None, typer.Option(help="Also write the outcome to this file.")] = None,
) -> None:
    """Crawl simulated portals into a real database, and compare what is stored with the truth."""
    from realestate import demo as room
    from realestate import settings

    home = settings.REALESTATE_HOME / "demo"
    with room.starting(home, listings=listings, workers=workers, seed=seed) as run:
        # Imported only here: the services and the simulator start in the meantime.
        from realestate.cli import terminal

        with terminal.crawl_progress() as show:
            outcome = run(show)
    _print_outcome(outcome)
    if json is not None:
        json.write_text(outcome.as_json())
    _print_next_commands(home, outcome)
    raise typer.Exit(0 if outcome.right else 1)


def _print_next_commands(home: Path, outcome: "Outcome") -> None:
    """What can be done with the data now, as commands to copy."""
    program = _program()
    first = f"REALESTATE_HOME={_as_typed(home)} {program}"
    print("\nThe data is kept. Look at a listing and its history, at the last events, or at the database:")
    if outcome.example is not None:
        portal, ref = outcome.example
        print(f"  {first} history {portal} {ref}")
    print(f"  {first} events --limit 5")
    print(f"  {first} db")
    print("\nExport the listings, and open them in pandas:")
    print(f"  {first} export listings --out listings.csv")
    for line in PANDAS_LINES:
        print(f"  >>> {line}")
    print(f"\nSee the market on a map, each listing and its history at http://127.0.0.1:{PORT} while this runs:")
    print(f"  {_home_of_project()}{program} serve --demo")


def _program() -> str:
    """This command, as one would type it here."""
    started = Path(sys.argv[0])
    if started.name == "__main__.py":
        return f"{_as_typed(Path(sys.executable))} -m realestate"
    return _as_typed(started)


def _home_of_project() -> str:
    """The variable to set before a command, if it is set now."""
    from realestate import settings

    home = str(settings.REALESTATE_HOME)
    return "" if home == ".realestate" else f"REALESTATE_HOME={_as_typed(Path(home))} "


def _as_typed(path: Path) -> str:
    """The path as one would type it here."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def simulate(
    port: Annotated[
        int, typer.Option(min=0, max=65000, help="Port of the control address; the portals follow. 0: any free port.")
    ] = 8800,
    listings: Annotated[int, typer.Option(min=1, help="Listings on each portal.")] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the simulated world.")] = 7,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    adversary: Annotated[
        Adversary | None, typer.Option(help="How hard the portals defend themselves; by default not at all.")
    ] = None,
    proxies: Annotated[
        int, typer.Option(min=0, max=200, help="Number of forward proxies, with the addresses 127.0.0.2 and up.")
    ] = 0,
    proxy_password: Annotated[
        str | None,
        typer.Option(help="Password that the proxies require, for the user `simulator`. Without it they return 407."),
    ] = None,
    traps: Annotated[
        bool, typer.Option("--traps", help="Make homes hard to link: blocks of alike flats, wrong floors, rewording.")
    ] = False,
    drift: Annotated[
        float, typer.Option(help="With --traps: change of the price level in a week, in percent.", min=-5, max=5)
    ] = 0.0,
    hostile_texts: Annotated[
        bool, typer.Option("--hostile-texts", help="Some titles and descriptions are script, markup or 10 kB long.")
    ] = False,
) -> None:
    """Serve simulated portals, shaped like the real ones, with the truth at /_truth/<portal>.

    `POST /_day/advance` ends a day; /_truth/<portal>/events is what a perfect daily crawler would have recorded.
    `POST /_weather/<portal>` with {"kind": "down"} makes a portal fail: down, blocked, error_page, all_404,
    all_redirected, half_empty, half_pages, slow_search, new_layout; "fine" ends it. `POST /_latency/<portal>` with
    {"seconds": 1.3} delays every response.

    An adversary limits the requests per second of each client address (gentle 20, normal 5, strict 1, hostile 0.5).
    It answers more with 429 or a ban. All but the gentle one also inject faults. /_adversary shows what it did. The
    adversary and the seed decide which proxies are dead, slow or dishonest.

    With --traps, /_truth/homes says which adverts of the Azerbaijani portals are the same home.
    """
    from realestate import simulator
    from realestate.cli.errors import UsageError

    if drift and not traps:
        raise UsageError("--drift needs --traps")

    adversity = simulator.Adversity(profile=adversary, proxies=proxies, proxy_password=proxy_password)
    simulator.serve(
        port=port,
        listings=listings,
        seed=seed,
        host=host,
        ready=_print_addresses,
        adversity=adversity,
        traps=simulator.Traps(drift / 100) if traps else None,
        hostile_texts=hostile_texts,
    )


def _print_addresses(addresses: dict[str, str]) -> None:
    for name, address in addresses.items():
        print(f"{name:<12} {address}", flush=True)
    proxies = [address for name, address in addresses.items() if name.startswith("proxy")]
    if proxies:
        print(f"export PROXIES='{','.join(proxies)}'", flush=True)
    print(f"export SIMULATOR_URL={addresses['control']}   (Ctrl-C stops)", flush=True)


def _print_outcome(outcome: "Outcome") -> None:
    from realestate.cli import terminal

    terminal.console.print(_market_table(outcome))
    table = terminal.number_table("portal", "stored", "expected", "missing", "surplus", "fields wrong", "quarantine")
    for portal, found in outcome.portals.items():
        numbers = terminal.number_cells(
            found.stored,
            found.expected,
            len(found.missing),
            len(found.unexpected),
            len(found.wrong),
            found.quarantined,
        )
        table.add_row(portal, *numbers)
    terminal.console.print(table)
    for found in outcome.portals.values():
        for fault in found.wrong[:_FAULTS_PRINTED]:
            terminal.console.print(f"wrong: {fault}", highlight=False, markup=False)
    rate = outcome.pages / outcome.seconds if outcome.seconds else 0
    print(f"{outcome.pages} pages in {outcome.seconds:.1f} s by {outcome.workers} workers: {rate:.0f} pages/s")
    print(outcome.last_line)


def _market_table(outcome: "Outcome") -> "Table":
    from rich.table import Table

    from realestate.cli import terminal

    table = Table(title="The market: median asking prices", title_justify="left")
    for name in ("city", "district", "operation"):
        table.add_column(name, overflow="fold")
    for name in ("listings", "price", "per m²"):
        table.add_column(name, justify="right", overflow="fold")
    groups = sorted({(row.country, row.operation) for row in outcome.market}, reverse=True)
    for group in groups:
        rows = [row for row in outcome.market if (row.country, row.operation) == group]
        for row in rows[:_MARKETS_PRINTED]:
            price = f"{row.median_price:,.0f} {row.currency}"
            per_m2 = f"{row.median_price_per_m2 or 0:,.2f}"
            table.add_row(row.city, row.district, row.operation, *terminal.number_cells(row.listings), price, per_m2)
        table.add_section()
    return table

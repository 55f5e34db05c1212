"""The commands that tell what happened: `realestate history`, `events` and `runs`."""

from typing import Annotated, Any

import typer

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
LimitOption = Annotated[int, typer.Option("--limit", min=1, help="No more than so many.")]

runs = typer.Typer(help="Crawls, and what they found gone.", no_args_is_help=True, rich_markup_mode=None)


def history(
    portal: Annotated[str, typer.Argument(help="The portal's name; `scrapy list` names all.")],
    ref: Annotated[str, typer.Argument(help="The portal's id of the listing.")],
    json: JsonFlag = False,
) -> None:
    """Everything that happened to one listing, and each price it ever had."""
    from realestate.cli import local, tell
    from realestate.cli.failures import UsageError

    with local.opened_store() as store:
        events, prices = store.history(portal, ref), store.prices(portal, ref)
    if not events:
        raise UsageError(f"{portal} has no listing {ref!r}")
    tell.history(events, prices, as_json=json)


def events(
    after: Annotated[int, typer.Option(help="The last number you have seen.")] = 0,
    limit: LimitOption = 100,
    json: JsonFlag = False,
) -> None:
    """What happened on all portals, in order. Ask again with the last number: you miss nothing."""
    from realestate.cli import local, tell

    with local.opened_store() as store:
        tell.events(store.events(after, limit), as_json=json)


@runs.command("list", epilog="Example: realestate runs list --portal emlak")
def list_runs(
    portal: Annotated[str | None, typer.Option(help="Only this portal's.")] = None,
    limit: LimitOption = 20,
    json: JsonFlag = False,
) -> None:
    """The newest crawls: were they complete, and was what they found gone believed?"""
    from realestate.cli import local, tell

    with local.opened_store() as store:
        tell.runs(store.jobs(portal, limit), as_json=json)


@runs.command(epilog="Example: realestate runs parts 5f0c1d2e3a4b")
def parts(run: Annotated[str, typer.Argument(help="A run, as `list` names it.")], json: JsonFlag = False) -> None:
    """The searches of a run and the parts they were split into: did it look everywhere?"""
    from realestate.cli import local, tell
    from realestate.cli.failures import UsageError

    with local.opened_store() as store:
        found = store.parts(run)
    if not found:
        raise UsageError(f"no searches of a run {run!r} are known")
    tell.parts(found, as_json=json)


@runs.command(epilog="Example: realestate runs apply 5f0c1d2e3a4b")
def apply(
    run: Annotated[str, typer.Argument(help="A run whose verdict is `withheld`.")], json: JsonFlag = False
) -> None:
    """Delist what a run found gone, although it was too much to be believed."""
    from realestate.cli import local, tell

    with local.opened_store() as store:
        conclusion: Any = store.conclude(run, force=True)
    tell.conclusion(conclusion, as_json=json)

"""`realestate quarantine`: what failed validation, and what to do with it."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="What failed validation: look, let pass, throw away.", no_args_is_help=True, rich_markup_mode=None
)

Ids = Annotated[list[str], typer.Argument(help="As `list` shows them.")]
PortalOption = Annotated[str | None, typer.Option("--portal", help="Only this portal's.")]
RefOption = Annotated[str | None, typer.Option("--ref", help="Only of the listing with this id of the portal's.")]
FaultOption = Annotated[str | None, typer.Option("--fault", help="Only with this field or rule among the errors.")]
LimitOption = Annotated[int, typer.Option("--limit", min=1, help="No more than so many, the newest first.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


@app.command("list", epilog="Example: realestate quarantine list --portal immoweb --fault price")
def list_entries(
    portal: PortalOption = None,
    ref: RefOption = None,
    fault: FaultOption = None,
    limit: LimitOption = 20,
    json: JsonFlag = False,
) -> None:
    """How often each field or rule failed, and the newest entries."""
    from realestate.cli import house, report

    with house.opened() as store:
        counts = store.faults(portal)
        found = store.quarantined(portal=portal, ref=ref, fault=fault, limit=limit)
    report.quarantine(counts, found, as_json=json)


@app.command(epilog="Example: realestate quarantine show 5f0c1d2e3a4b5c6d7e8f901234567890 --page page.html")
def show(
    id: Annotated[str, typer.Argument(help="As `list` shows it.")],
    page: Annotated[Path | None, typer.Option(help="Write the raw page to this file, if it was kept.")] = None,
) -> None:
    """Everything that is known of one: its errors, what was read, and where its raw page is."""
    from realestate.cli import house, report

    with house.opened() as store:
        entry, kept = house.entry_with_page(store, id)
    if page is not None:
        house.save_page(kept, page)
    report.quarantined(entry, kept)


@app.command(epilog="Example: realestate quarantine release 5f0c1d2e3a4b5c6d7e8f901234567890 --dry-run")
def release(ids: Ids, dry_run: DryRun = False, json: JsonFlag = False) -> None:
    """Store these as they are: you have looked, and they are right. They carry the flag `released`."""
    from realestate.cli import house, report

    with house.opened() as store:
        outcomes = house.release(store, ids, dry_run=dry_run)
    report.released(outcomes, dry_run=dry_run, as_json=json)
    raise typer.Exit(0 if all(outcome.stored for outcome in outcomes) else 1)


@app.command(epilog="Example: realestate quarantine drop --portal immoweb --fault price --dry-run")
def drop(
    ids: Annotated[list[str] | None, typer.Argument(help="As `list` shows them.")] = None,
    portal: PortalOption = None,
    ref: RefOption = None,
    fault: FaultOption = None,
    limit: LimitOption = 1000,
    dry_run: DryRun = False,
) -> None:
    """Throw these away for good, or all that fit."""
    from realestate.cli import house
    from realestate.cli.failures import UsageError

    if not (ids or portal or ref or fault):
        raise UsageError("say which: ids, --portal, --ref or --fault")
    with house.opened() as store:
        found = [each.id for each in store.quarantined(portal=portal, ref=ref, fault=fault, ids=ids, limit=limit)]
        count = len(found) if dry_run else store.drop_quarantined(found)
    print(f"{'would drop' if dry_run else 'dropped'} {count}")

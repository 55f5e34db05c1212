"""`realestate quarantine`: listings that failed validation. List, show, release or drop them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from realestate.cli.help_page import command_group
from realestate.cli.options import DryRunFlag, JsonFlag, NewestOption, PortalOption

if TYPE_CHECKING:
    from realestate.jobs.release import Outcome
    from realestate.storage.maintenance import FullStore, InQuarantine

app = command_group("Listings that failed validation: list, show, release, drop.")

#: The beginning of an id is looked up among this many ids, the newest.
MANY = 100_000
RefOption = Annotated[str | None, typer.Option("--ref", help="Only the listing with this id of the portal.")]
FaultOption = Annotated[str | None, typer.Option("--fault", help="Only with this field or rule among the errors.")]


@app.command("list", epilog="Example: realestate quarantine list --portal immoweb --fault price")
def list_entries(
    portal: PortalOption = None,
    ref: RefOption = None,
    fault: FaultOption = None,
    limit: NewestOption = 20,
    json: JsonFlag = False,
) -> None:
    """Show how often each field or rule failed, and the newest entries."""
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store

    with opened_store() as store:
        counts = store.faults(portal)
        entries = store.quarantined(portal=portal, ref=ref, fault=fault, limit=limit)
    if json:
        terminal.print_json({"faults": counts, "entries": entries}, indent=0)
    else:
        _print_entries(counts, entries)


@app.command(epilog="Example: realestate quarantine show 5f0c1d2e3a4b5c6d7e8f901234567890 --page page.html")
def show(
    id: Annotated[str, typer.Argument(help="The id of an entry, as `list` shows it, or its beginning.")],
    page: Annotated[Path | None, typer.Option(help="Write the raw page to this file, if it was kept.")] = None,
) -> None:
    """Show all about one entry: its errors, the values that were read, and where its raw page is."""
    from realestate import settings
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store, spool_folder
    from realestate.cli.errors import UsageError
    from realestate.jobs.release import page_of
    from realestate.private_files import owner_only
    from realestate.storage.snapshots import read

    with opened_store() as store:
        (entry,) = _entries(store, [id])
        raw_page = page_of(entry, store.snapshots(entry.portal, entry.ref))
    if page is not None:
        if raw_page is None:
            raise UsageError(f"the raw page of entry {id!r} was not kept")
        with open(page, "wb", opener=owner_only) as file:
            file.write(read(settings.SNAPSHOTS_URL, raw_page, spool=spool_folder()).body)
    terminal.print_json({**asdict(entry), "page": raw_page})


@app.command(epilog="Example: realestate quarantine release 5f0c1d2e3a4b5c6d7e8f901234567890 --dry-run")
def release(
    ids: Annotated[list[str], typer.Argument(help="Ids of entries, as `list` shows them, or their beginnings.")],
    dry_run: DryRunFlag = False,
    json: JsonFlag = False,
) -> None:
    """Store entries as they are, because a person checked that they are right. They get the flag `released`."""
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store
    from realestate.jobs.release import release_entries

    with opened_store() as store:
        outcomes = release_entries(store, _entries(store, ids), dry_run=dry_run)
    if json:
        terminal.print_json(outcomes, indent=0)
    else:
        _print_outcomes(outcomes, dry_run=dry_run)
    raise typer.Exit(0 if all(outcome.stored for outcome in outcomes) else 1)


@app.command(epilog="Example: realestate quarantine drop --portal immoweb --fault price --dry-run")
def drop(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Ids of entries, as `list` shows them, or their beginnings.")
    ] = None,
    portal: PortalOption = None,
    ref: RefOption = None,
    fault: FaultOption = None,
    limit: NewestOption = 1000,
    dry_run: DryRunFlag = False,
) -> None:
    """Delete entries for good: those with the ids, or all that match the options."""
    from realestate.cli.connections import opened_store
    from realestate.cli.errors import UsageError

    if not (ids or portal or ref or fault):
        raise UsageError("nothing to drop: give ids, --portal, --ref or --fault")
    with opened_store() as store:
        whole = [each.id for each in _entries(store, ids)] if ids else None
        found = [each.id for each in store.quarantined(portal=portal, ref=ref, fault=fault, ids=whole, limit=limit)]
        count = len(found) if dry_run else store.drop_quarantined(found)
    print(f"{'would drop' if dry_run else 'dropped'} {count}")


def _entries(store: "FullStore", ids: Sequence[str]) -> "list[InQuarantine]":
    """The entries with these ids or beginnings of ids, each once. A UsageError if one is missing."""
    from realestate.cli.options import whole_id

    found = {entry.id: entry for entry in store.quarantined(ids=ids, limit=len(ids))}
    if rest := [id for id in ids if id not in found]:
        every = {entry.id: entry for entry in store.quarantined(limit=MANY)}
        found |= {id: every[whole_id(id, every, "entry in quarantine")] for id in rest}
    return list({found[id].id: found[id] for id in ids}.values())


def _print_entries(counts: Mapping[str, Mapping[str, int]], entries: "Sequence[InQuarantine]") -> None:
    from realestate.cli import terminal

    for portal, faults in counts.items():
        listed = ", ".join(f"{fault} {count}" for fault, count in faults.items())
        print(f"{portal}: {listed}")
    rows = [
        [entry.id, f"{entry.at:%Y-%m-%d %H:%M}", f"{entry.portal}/{entry.ref}", "; ".join(entry.errors)]
        for entry in entries
    ]
    terminal.print_columns(["id", "at", "listing", "errors"], rows, left=3, empty="no entry in quarantine matches")


def _print_outcomes(outcomes: "Sequence[Outcome]", *, dry_run: bool) -> None:
    for outcome in outcomes:
        if not outcome.stored:
            result = f"not stored: {outcome.why}"
        elif dry_run:
            result = "would be stored"
        else:
            result = "stored"
        print(f"{outcome.id}  {outcome.portal}/{outcome.ref}  {result}")

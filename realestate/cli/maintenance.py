"""The commands that keep house: `realestate retain`, `erase`, `upkeep`, `backup` and `restore`."""

from pathlib import Path
from typing import Annotated

import typer

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


def _days(what: str, setting: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(min=0, help=f"{what}; 0 is for ever.", show_default=setting)
    return option


def retain(
    failed_days: Annotated[
        float | None, _days("Raw pages whose parser or listing failed", "RETAIN_FAILED_DAYS")
    ] = None,
    sampled_days: Annotated[float | None, _days("Raw pages of the sample", "RETAIN_SAMPLED_DAYS")] = None,
    all_days: Annotated[float | None, _days("Raw pages, where all are kept", "RETAIN_ALL_DAYS")] = None,
    quarantine_days: Annotated[float | None, _days("What failed validation", "RETAIN_QUARANTINE_DAYS")] = None,
    delisted_days: Annotated[
        float | None, _days("Texts of listings that left the market; their history stays", "RETAIN_DELISTED_DAYS")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    json: JsonFlag = False,
) -> None:
    """Let go what is past its days: raw pages, quarantine, contacts, and the texts of what left long ago."""
    from realestate.cli import house, report

    days = house.days(
        failed=failed_days,
        sampled=sampled_days,
        all=all_days,
        quarantine=quarantine_days,
        delisted=delisted_days,
    )
    with house.opened() as store:
        gone = house.retain(store, days, dry_run=dry_run)
    report.retained(gone, dry_run=dry_run, as_json=json)
    raise typer.Exit(0 if gone.erased.is_over else 1)


def erase(
    ref: Annotated[list[str] | None, typer.Option(help="portal/ref of a listing; as often as needed.")] = None,
    phone: Annotated[list[str] | None, typer.Option(help="All listings with this telephone, as +994…")] = None,
    email: Annotated[list[str] | None, typer.Option(help="All listings with this e-mail address.")] = None,
    scan: Annotated[
        bool, typer.Option("--scan", help="Read every raw page of the portals, not only those in the index.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Remove a listing with its history and its raw pages for good. No later crawl stores it again."""
    from realestate.cli import house, report
    from realestate.cli.failures import UsageError

    if not (ref or phone or email):
        raise UsageError("say what: --ref portal/ref, --phone or --email")
    keys, marks = house.keys_of(ref or []), house.marks_of([*(phone or []), *(email or [])])
    with house.opened() as store, report.counting("file") as progress:
        erased, raw = house.erase(store, keys, marks, scan=scan, progress=progress)
    report.erased(erased, raw, as_json=json)
    raise typer.Exit(0 if raw.is_over else 1)


def upkeep(json: JsonFlag = False) -> None:
    """Look after the database: statistics, indexes, dead rows, sizes. Mends what it safely can."""
    from realestate.cli import house, report

    with house.opened() as store:
        is_well = report.upkeep(store.upkeep(), as_json=json)
    raise typer.Exit(0 if is_well else 1)


def backup(
    file: Annotated[Path, typer.Argument(help="A new file, such as realestate-2026-11-01.zip.")], json: JsonFlag = False
) -> None:
    """Write all that is stored into one file, as it is at one moment, while workers go on."""
    from realestate.cli import house, report

    with house.opened() as store, report.counting("record") as progress:
        header = house.backup(store, file, progress)
    report.backed_up(header, file, "written", as_json=json)


def restore(
    file: Annotated[Path, typer.Argument(help="As `realestate backup` wrote it.")], json: JsonFlag = False
) -> None:
    """Put a backup into an empty store, wholly or not at all."""
    from realestate.cli import house, report

    with house.opened() as store, report.counting("record") as progress:
        header = house.restore(store, file, progress)
    report.backed_up(header, file, "restored", as_json=json)

"""`realestate retain`, `erase`, `upkeep`, `migrate`, `backup` and `restore`: maintenance of the stored data."""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from realestate.cli.options import DryRunFlag, JsonFlag

if TYPE_CHECKING:
    from realestate.storage.backup import Header
    from realestate.storage.erasure import RawPages
    from realestate.storage.maintenance import Erased, Finding
    from realestate.storage.retention import Days, Retained

_LABELS = {"fine": "ok ", "repaired": "ok ", "advice": "   ", "fault": "BAD"}


def _days_option(what: str, setting: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        min=0, help=f"Days to keep {what}; 0 keeps them for ever.", show_default=setting
    )
    return option


def retain(
    failed_days: Annotated[
        float | None, _days_option("raw pages that could not be parsed or validated", "RETAIN_FAILED_DAYS")
    ] = None,
    sampled_days: Annotated[float | None, _days_option("sampled raw pages", "RETAIN_SAMPLED_DAYS")] = None,
    all_days: Annotated[float | None, _days_option("raw pages where all are kept", "RETAIN_ALL_DAYS")] = None,
    quarantine_days: Annotated[float | None, _days_option("entries in quarantine", "RETAIN_QUARANTINE_DAYS")] = None,
    delisted_days: Annotated[
        float | None, _days_option("the texts of delisted listings; their history stays", "RETAIN_DELISTED_DAYS")
    ] = None,
    dry_run: DryRunFlag = False,
    json: JsonFlag = False,
) -> None:
    """Delete what is older than its retention time: raw pages, quarantine, contacts, texts of delisted listings."""
    from realestate import settings
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store, spool_folder
    from realestate.storage import retention

    days = retention_days(
        failed=failed_days,
        sampled=sampled_days,
        all=all_days,
        quarantine=quarantine_days,
        delisted=delisted_days,
    )
    with opened_store() as store:
        deleted = retention.retain(
            store, days, settings.SNAPSHOTS_URL, datetime.now(UTC), spool=spool_folder(), dry_run=dry_run
        )
    if json:
        terminal.print_json({"dry_run": dry_run, **asdict(deleted)}, indent=0)
    else:
        _print_retained(deleted, dry_run=dry_run)
    raise typer.Exit(0 if deleted.erased.is_over else 1)


def retention_days(**given: float | None) -> "Days":
    """The given days, or else those of the settings. 0 means for ever, which is None in the result."""
    from realestate import settings
    from realestate.storage.retention import Days

    configured = {
        "failed": settings.RETAIN_FAILED_DAYS,
        "sampled": settings.RETAIN_SAMPLED_DAYS,
        "all": settings.RETAIN_ALL_DAYS,
        "quarantine": settings.RETAIN_QUARANTINE_DAYS,
        "delisted": settings.RETAIN_DELISTED_DAYS,
    }
    days = {name: configured[name] if value is None else value for name, value in given.items()}
    return Days(**{name: value or None for name, value in days.items()})


def erase(
    ref: Annotated[list[str] | None, typer.Option(help="A listing, as portal/ref. May be repeated.")] = None,
    phone: Annotated[
        list[str] | None, typer.Option(help="All listings with this telephone number, such as +994501234567.")
    ] = None,
    email: Annotated[list[str] | None, typer.Option(help="All listings with this e-mail address.")] = None,
    scan: Annotated[
        bool, typer.Option("--scan", help="Read every raw page of the portals, not only those in the index.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Delete listings with their history and raw pages for good. No later crawl stores them again."""
    from realestate import settings
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store, spool_folder
    from realestate.cli.errors import UsageError
    from realestate.storage import erasure

    if not (ref or phone or email):
        raise UsageError("nothing to erase: give --ref portal/ref, --phone or --email")
    keys = _listing_keys(ref or [])
    hashes = _contact_hashes([*(phone or []), *(email or [])])
    with opened_store() as store, terminal.counter("file") as show_count:
        files = 0

        def count_file(file: str) -> None:
            nonlocal files
            files += 1
            show_count("raw pages", files)

        erased = erasure.erase(store, keys, hashes)
        portals = sorted({each.portal for each in erased}) if scan else ()
        raw_pages = erasure.erase_pages(
            store, settings.SNAPSHOTS_URL, spool=spool_folder(), scan=portals, progress=count_file
        )
    if json:
        terminal.print_json({"erased": erased, "raw_pages": raw_pages}, indent=0)
    else:
        _print_erased(erased, raw_pages)
    raise typer.Exit(0 if raw_pages.is_over else 1)


def _listing_keys(names: Sequence[str]) -> list[tuple[str, str]]:
    """The (portal, ref) of each `portal/ref`."""
    from realestate.cli.connections import check_portals
    from realestate.cli.errors import UsageError

    keys = []
    for name in names:
        portal, slash, ref = name.partition("/")
        if not slash or not ref:
            raise UsageError(f"--ref is {name!r}: portal/ref is needed, such as emlak/840001")
        check_portals([portal])
        keys.append((portal, ref))
    return keys


def _contact_hashes(contacts: Sequence[str]) -> list[str]:
    """The keyed hashes by which stored contacts are found without being decrypted."""
    normalised = [_normalised(contact) for contact in contacts]
    if not normalised:
        return []
    lookup = contact_hash()
    return [lookup(contact) for contact in normalised]


def contact_hash() -> Callable[[str], str]:
    """The function that makes the keyed hash of a contact."""
    from realestate import settings
    from realestate.cli.errors import UsageError
    from realestate.storage.vault import Vault

    if not settings.CONTACTS_KEYS:
        raise UsageError("CONTACTS_KEYS is not set: without the key no contact can be looked up; erase by --ref")
    return Vault(settings.CONTACTS_KEYS).lookup


def _normalised(contact: str) -> str:
    from realestate.cli.errors import UsageError

    if "@" in contact:
        return contact.strip().lower()
    digits = re.sub(r"[\s().-]", "", contact)
    if not re.fullmatch(r"\+\d{6,15}", digits):
        raise UsageError(f"{contact!r} is not a telephone number with its country code, such as +994501234567")
    return digits


def upkeep(json: JsonFlag = False) -> None:
    """Check the database: statistics, indexes, dead rows, sizes. Repairs what is safe to repair."""
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store

    with opened_store() as store:
        if json:
            findings = list(store.upkeep())
            terminal.print_json(findings, indent=0)
        else:
            findings = _print_findings(store.upkeep())
    raise typer.Exit(1 if any(finding.weight == "fault" for finding in findings) else 0)


def migrate(json: JsonFlag = False) -> None:
    """Bring the tables up to date. Other roles then need only to read and write rows."""
    from realestate.cli import terminal
    from realestate.cli.connections import store_address
    from realestate.storage import open_store

    with store_address() as url, closing(open_store(url)) as store:
        before = store.schema_version()
        store.migrate()
        after = store.schema_version()
    if json:
        terminal.print_json({"before": before, "after": after}, indent=0)
    else:
        print(f"schema {after}: " + ("up to date already" if before == after else f"migrated from {before}"))


def backup(
    file: Annotated[Path, typer.Argument(help="A new file, such as realestate-2026-11-01.zip.")], json: JsonFlag = False
) -> None:
    """Write the whole store into one file, as it is at one point in time. Workers may go on."""
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store
    from realestate.storage import backup as backups

    with opened_store() as store, terminal.counter("record") as show_count:
        header = backups.backup(store, file, datetime.now(UTC), show_count)
    _print_backup(header, file, "written", as_json=json)


def restore(
    file: Annotated[Path, typer.Argument(help="A file that `realestate backup` wrote.")], json: JsonFlag = False
) -> None:
    """Restore a backup into an empty store: all of it, or nothing if it fails."""
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store
    from realestate.storage import backup as backups

    with opened_store() as store, terminal.counter("record") as show_count:
        header = backups.restore(store, file, show_count)
    _print_backup(header, file, "restored", as_json=json)


# ----- output


def _print_retained(deleted: "Retained", *, dry_run: bool) -> None:
    verb = "would be deleted" if dry_run else "deleted"
    kinds = ", ".join(f"{count} {kind}" for kind, count in deleted.files.items())
    print(f"raw pages: {sum(deleted.files.values())} files {verb}{f' ({kinds})' if kinds else ''}")
    print(f"quarantine: {deleted.expired.quarantined} entries {verb}")
    print(f"contacts: {deleted.expired.contacts} {verb}")
    print(f"delisted: texts of {deleted.expired.trimmed} listings {verb}; their history stays")
    _print_raw_pages(deleted.erased)


def _print_erased(erased: "Sequence[Erased]", raw_pages: "RawPages") -> None:
    for each in erased:
        counts = ", ".join(f"{count} {what}" for what, count in each.removed.items() if count)
        print(f"{each.portal}/{each.ref}: {counts or 'nothing was stored'}; it will not be stored again")
    if not erased:
        print("no listing has that contact; a later listing is stored without it")
    _print_raw_pages(raw_pages)


def _print_raw_pages(raw_pages: "RawPages") -> None:
    if raw_pages.erased:
        print(f"raw pages: {raw_pages.erased} erased in {raw_pages.files} files")
    for file in raw_pages.in_use:
        print(f"a worker still writes to this file, run the command again later: {file}")
    for file in raw_pages.missing:
        print(f"this file is not here, run the command on the machine that has it: {file}")


def _print_findings(findings: "Iterable[Finding]") -> "list[Finding]":
    """Print each finding as it is made, and return them all."""
    found = []
    for finding in findings:
        found.append(finding)
        print(f"{_LABELS[finding.weight]}  {finding.what:<12} {finding.found}")
        if finding.remedy:
            print(f"     {'':<12} -> {finding.remedy}")
    return found


def _print_backup(header: "Header", file: Path, verb: str, *, as_json: bool) -> None:
    from realestate.cli import terminal

    if as_json:
        terminal.print_json({"file": str(file), **asdict(header)}, indent=0)
        return
    counts = ", ".join(f"{count:,} {part}" for part, count in header.counts.items() if count and part != "numbering")
    print(f"{verb}: {file}, made {header.made_at:%Y-%m-%d %H:%M} UTC: {counts or 'nothing was stored'}")

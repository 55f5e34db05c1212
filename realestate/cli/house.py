"""What the commands that keep house ask of the rooms."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from realestate import settings
from realestate.cli import local
from realestate.cli.failures import UsageError
from realestate.jobs.release import Outcome, let_pass, page_of
from realestate.storage import backup as backups
from realestate.storage import erasure, retention
from realestate.storage.maintenance import Erased, FullStore, InQuarantine
from realestate.storage.snapshots import SnapshotRef, read

Progress = Callable[[str, int], object]

opened = local.opened_store


# ----- quarantine


def entries(store: FullStore, ids: Sequence[str]) -> list[InQuarantine]:
    """Those with these ids, if all are there."""
    found = {entry.id: entry for entry in store.quarantined(ids=ids, limit=len(ids))}
    for id in ids:
        if id not in found:
            raise UsageError(f"nothing in quarantine has the id {id!r}")
    return [found[id] for id in dict.fromkeys(ids)]


def entry_with_page(store: FullStore, id: str) -> tuple[InQuarantine, SnapshotRef | None]:
    (entry,) = entries(store, [id])
    return entry, page_of(entry, store.snapshots(entry.portal, entry.ref))


def save_page(kept: SnapshotRef | None, path: Path) -> None:
    if kept is None:
        raise UsageError("its raw page was not kept")
    path.write_bytes(read(settings.SNAPSHOTS_URL, kept, spool=_spool()).body)


def release(store: FullStore, ids: Sequence[str], *, dry_run: bool) -> list[Outcome]:
    return let_pass(store, entries(store, ids), dry_run=dry_run)


# ----- what goes


def days(**wanted: float | None) -> retention.Days:
    """As asked for, or else as configured; 0 is for ever."""
    usual = {
        "failed": settings.RETAIN_FAILED_DAYS,
        "sampled": settings.RETAIN_SAMPLED_DAYS,
        "all": settings.RETAIN_ALL_DAYS,
        "quarantine": settings.RETAIN_QUARANTINE_DAYS,
        "delisted": settings.RETAIN_DELISTED_DAYS,
    }
    chosen = {name: usual[name] if given is None else given for name, given in wanted.items()}
    return retention.Days(**{name: each or None for name, each in chosen.items()})


def retain(store: FullStore, kept: retention.Days, *, dry_run: bool) -> retention.Retained:
    now = datetime.now(UTC)
    return retention.retain(store, kept, settings.SNAPSHOTS_URL, now, spool=_spool(), dry_run=dry_run)


def erase(
    store: FullStore,
    keys: Sequence[tuple[str, str]],
    marks: Sequence[str],
    *,
    scan: bool,
    progress: Progress,
) -> tuple[list[Erased], erasure.RawPages]:
    done = erasure.erase(store, keys, marks)
    files = 0

    def tell(file: str) -> None:
        nonlocal files
        files += 1
        progress("raw pages", files)

    portals = sorted({each.portal for each in done}) if scan else ()
    raw = erasure.erase_pages(store, settings.SNAPSHOTS_URL, spool=_spool(), scan=portals, progress=tell)
    return done, raw


def keys_of(names: Sequence[str]) -> list[tuple[str, str]]:
    """Of `portal/ref`."""
    found = []
    for name in names:
        portal, slash, ref = name.partition("/")
        if not slash or not ref:
            raise UsageError(f"--ref is {name!r}: portal/ref is needed, such as emlak/840001")
        local.known([portal])
        found.append((portal, ref))
    return found


def marks_of(contacts: Sequence[str]) -> list[str]:
    """The marks by which contacts are found without being stored."""
    spelt = [_spelt(contact) for contact in contacts]
    return list(map(contact_mark(), spelt)) if spelt else []


def contact_mark() -> Callable[[str], str]:
    """The vault's keyed mark, under which contacts are found without being opened."""
    from realestate.storage.vault import Vault

    if not settings.CONTACTS_KEYS:
        raise UsageError("CONTACTS_KEYS is not set: without the key no telephone can be looked up; erase by --ref")
    return Vault(settings.CONTACTS_KEYS).lookup


def _spelt(contact: str) -> str:
    if "@" in contact:
        return contact.strip().lower()
    digits = re.sub(r"[\s().-]", "", contact)
    if not re.fullmatch(r"\+\d{6,15}", digits):
        raise UsageError(f"{contact!r} is no telephone with its country, such as +994501234567")
    return digits


# ----- the whole


def backup(store: FullStore, file: Path, progress: Progress) -> backups.Header:
    return backups.backup(store, file, datetime.now(UTC), progress)


def restore(store: FullStore, file: Path, progress: Progress) -> backups.Header:
    return backups.restore(store, file, progress)


def _spool() -> Path:
    return settings.REALESTATE_HOME / "spool"

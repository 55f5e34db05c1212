"""How keeping house looks on a terminal."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from realestate.jobs.release import Outcome
from realestate.storage.backup import Header
from realestate.storage.erasure import RawPages
from realestate.storage.maintenance import Erased, Finding, InQuarantine
from realestate.storage.retention import Retained
from realestate.storage.snapshots import SnapshotRef

_console = Console()
#: Progress goes where it disturbs no pipe; without a terminal a line now and then is enough.
_progress = Console(stderr=True)
_LINE_SECONDS = 5.0
_WEIGHT = {"fine": "ok ", "mended": "ok ", "advice": "   ", "fault": "BAD"}


@contextmanager
def counting(what: str) -> Iterator[Callable[[str, int], None]]:
    """Says how many of what are done."""
    last = time.monotonic()

    def tell(part: str, count: int) -> None:
        nonlocal last
        if status is not None:
            status.update(f"{part}: {count:,} {what}s")
        elif time.monotonic() - last >= _LINE_SECONDS:
            last = time.monotonic()
            print(f"{part}: {count:,} {what}s", file=sys.stderr)

    if not _progress.is_terminal:
        status = None
        yield tell
        return
    with _progress.status("…") as status:
        yield tell


# ----- quarantine


def quarantine(counts: Mapping[str, Mapping[str, int]], found: Sequence[InQuarantine], *, as_json: bool) -> None:
    if as_json:
        _json({"faults": counts, "entries": found})
        return
    for portal, faults in counts.items():
        told = ", ".join(f"{fault} {count}" for fault, count in faults.items())
        _console.print(f"{portal}: {told}", highlight=False, markup=False)
    table = Table("id", "at", "listing", "errors", box=None, header_style="dim")
    for each in found:
        what = f"{each.portal}/{each.ref}"
        table.add_row(each.id, f"{each.at:%Y-%m-%d %H:%M}", escape(what), escape("\n".join(each.errors)))
    _console.print(table if found else "nothing is in quarantine that fits")


def quarantined(entry: InQuarantine, kept: SnapshotRef | None) -> None:
    _json({**asdict(entry), "page": kept}, indent=2)


def released(outcomes: Sequence[Outcome], *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        _json(outcomes)
        return
    for each in outcomes:
        done = ("would be stored" if dry_run else "stored") if each.stored else f"stays: {each.why}"
        print(f"{each.id}  {each.portal}/{each.ref}  {done}")


# ----- what goes


def retained(gone: Retained, *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        _json({"dry_run": dry_run, **asdict(gone)})
        return
    files = ", ".join(f"{count} {kind}" for kind, count in gone.files.items())
    verb = "would go" if dry_run else "went"
    print(f"raw pages: {sum(gone.files.values())} files {verb}{f' ({files})' if files else ''}")
    print(f"quarantine: {gone.expired.quarantined} {verb}")
    print(f"contacts: {gone.expired.contacts} {verb}")
    print(f"delisted: the texts of {gone.expired.trimmed} listings {verb}; their history stays")
    _raw(gone.erased)


def erased(found: Sequence[Erased], raw: RawPages, *, as_json: bool) -> None:
    if as_json:
        _json({"erased": found, "raw_pages": raw})
        return
    for each in found:
        told = ", ".join(f"{count} {what}" for what, count in each.removed.items() if count)
        print(f"{each.portal}/{each.ref}: {told or 'nothing was stored'}; it stays away from now on")
    if not found:
        print("no listing has that contact; a later one is stored without it")
    _raw(raw)


def _raw(raw: RawPages) -> None:
    if raw.erased:
        print(f"raw pages: {raw.erased} erased in {raw.files} files")
    for file in raw.in_use:
        print(f"still written to, so run this again later: {file}")
    for file in raw.missing:
        print(f"not here, so run this where it is: {file}")


# ----- health, and the whole


def upkeep(findings: Iterable[Finding], *, as_json: bool) -> bool:
    """Told as they are found; whether no fault is among them."""
    found = []
    for finding in findings:
        found.append(finding)
        if not as_json:
            print(f"{_WEIGHT[finding.weight]}  {finding.what:<12} {finding.found}")
            if finding.remedy:
                print(f"     {'':<12} -> {finding.remedy}")
    if as_json:
        _json(found)
    return all(finding.weight != "fault" for finding in found)


def backed_up(header: Header, file: Path, done: str, *, as_json: bool) -> None:
    if as_json:
        _json({"file": str(file), **asdict(header)})
        return
    told = ", ".join(f"{count:,} {part}" for part, count in header.counts.items() if count and part != "numbering")
    print(f"{done}: {file}, made {header.made_at:%Y-%m-%d %H:%M} UTC: {told or 'nothing was stored'}")


def _json(value: Any, indent: int = 0) -> None:
    text = msgspec.json.encode(value, enc_hook=str)
    print((msgspec.json.format(text, indent=indent) if indent else text).decode())

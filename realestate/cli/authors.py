"""What the commands for authors ask of the rooms, and how it looks on a terminal."""

import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from realestate import settings
from realestate.authoring import coverage, documents, project, recording, starting
from realestate.authoring.reading import Stage
from realestate.cli.failures import UsageError
from realestate.cli.local import known
from realestate.jobs.work import refusal

_ENCODER = msgspec.json.Encoder(decimal_format="number")


def new(name: str, kind: str, **facts: str | None) -> None:
    written = starting.start(name, kind, datetime.now(UTC).date(), **facts)
    for path in written:
        print(path.relative_to(project.root()))
    print(f"now: realestate portal record {name} <url> --as listing-flat, and docs/adding-a-portal.md")


def record(portal: str, url: str, name: str) -> None:
    known([portal])
    if reason := refusal(portal, url, settings.SIMULATOR_URL):
        raise UsageError(reason)
    made = recording.record(portal, url, name)
    for path in (made.page, made.expectation):
        print(path.relative_to(project.root()))
    if made.why_unread:
        print(f"the parser cannot read it yet: {made.why_unread}")
    print("look through both: persons' names in texts are not found by machines")


def parse(portal: str, file: Path, *, url: str | None, stage: Stage | None, hints: str | None) -> None:
    known([portal])
    parsed = documents.parse(portal, file.read_bytes(), url=url, stage=stage, hints=_hints(hints), file_name=file.name)
    if parsed.is_made_up:
        print(f"realestate: the document does not tell its address; made up: {parsed.url}", file=sys.stderr)
    _print_json(parsed.told)


def check(portal: str, pages: int, *, as_json: bool) -> bool:
    """Whether the live pages could be read, and tell what the recorded ones tell."""
    known([portal])
    found = coverage.check(portal, pages)
    if as_json:
        _print_json(asdict(found))
    else:
        _show(found)
    return bool(found.live) and not found.unread


def _show(found: coverage.Coverage) -> None:
    table = Table("field", "recorded %", "live %", "", box=None, header_style="dim")
    for share in found.shares:
        table.add_row(share.name, _percent(share.recorded), _percent(share.live), "lost?" if share.is_lost else "")
    Console().print(table)
    for line in found.unread:
        print(f"not read: {line}")
    print(f"{found.portal}: {found.live} live listings, {found.recorded} recorded")


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0f}"


def _hints(text: str | None) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any]) if text else {}
    except msgspec.MsgspecError as error:
        raise UsageError(f"--hints: a JSON object is needed: {error}") from error


def _print_json(told: Any) -> None:
    print(msgspec.json.format(_ENCODER.encode(told), indent=1).decode())

"""`realestate reparse`: parse raw pages again with the current parser."""

import reprlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from realestate.cli.options import DryRunFlag, JsonFlag

if TYPE_CHECKING:
    from realestate.jobs.reparse import Reparsed

T = TypeVar("T")

#: Corrections, and pages that still cannot be parsed, that are printed. `--json` has more.
_PRINTED_MAX = 20


def reparse(
    portal: Annotated[str, typer.Option(help="The portal's name; `realestate portals` shows all.")],
    since: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"], help="Only pages fetched since then, in UTC."),
    ] = None,
    dry_run: DryRunFlag = False,
    json: JsonFlag = False,
) -> None:
    """Parse the kept raw pages with the current parser and correct the stored listings. Nothing is fetched."""
    from realestate import settings
    from realestate.cli import terminal
    from realestate.cli.connections import check_portals, opened_store, spool_folder
    from realestate.jobs.reparse import reparse as parse_again
    from realestate.storage.snapshots import pages

    check_portals([portal])
    with terminal.counter("page") as show_count:
        raw_pages = pages(
            settings.SNAPSHOTS_URL,
            portal,
            since=since.replace(tzinfo=UTC) if since else None,
            spool=spool_folder(),
        )
        with opened_store() as store:
            result = parse_again(portal, _counted(raw_pages, portal, show_count), store, dry_run=dry_run)
    print_result(result, dry_run=dry_run, as_json=json)


def _counted(items: Iterable[T], portal: str, show_count: Callable[[str, int], object]) -> Iterator[T]:
    for count, item in enumerate(items, start=1):
        show_count(portal, count)
        yield item


def print_result(result: "Reparsed", *, dry_run: bool, as_json: bool) -> None:
    from realestate.cli import terminal

    if as_json:
        values = {
            "portal": result.portal,
            "job": result.job,
            "run": result.job,  # the name of version 0.1, removed in 0.3
            "dry_run": dry_run,
            "pages": dict(result.pages),
            "listings": dict(result.listings),
            "fields": dict(result.fields),
            "changes": result.changes,
            "broken": result.broken,
        }
        terminal.print_json(values)
        return
    for change in result.changes[:_PRINTED_MAX]:
        print(f"{change.ref}: {change.name}: {reprlib.repr(change.old)} -> {reprlib.repr(change.new)}")
    for url, reason in result.broken[:_PRINTED_MAX]:
        print(f"still cannot be parsed: {url}: {reason}")
    print(f"{result.portal}: {result.pages.total()} pages: {_counts(result.pages)}")
    condition = ", if it were not a dry run" if dry_run else ""
    print(f"listings{condition}: {_counts(result.listings)}")
    if result.fields:
        print(f"fields: {', '.join(f'{name} {count}' for name, count in result.fields.most_common())}")


def _counts(counter: "Counter[str]") -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in counter.most_common()) or "none"

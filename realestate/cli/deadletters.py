"""`realestate deadletters`: requests that failed for good. List, show, replay or drop them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from realestate.cli.options import DryRunFlag, JsonFlag, NewestOption, PortalArgument

if TYPE_CHECKING:
    from realestate.queue.dead_letters import DeadLetter

app = typer.Typer(
    help="Requests that failed for good: list, show, replay, drop.", no_args_is_help=True, rich_markup_mode=None
)

ReasonOption = Annotated[
    str | None, typer.Option("--reason", help="Only with this reason: http, download, parse, seed …")
]
JobOption = Annotated[str | None, typer.Option("--job", help="Only of this job.")]


@app.command("list", epilog="Example: realestate deadletters list immoweb --reason http")
def list_dead_letters(
    portal: PortalArgument,
    reason: ReasonOption = None,
    job: JobOption = None,
    limit: NewestOption = 20,
    json: JsonFlag = False,
) -> None:
    """List the newest dead letters of a portal."""
    found = _newest(portal, reason=reason, job=job, limit=limit)
    if json:
        _print_json(found)
    else:
        _print_table(found)


@app.command(epilog="Example: realestate deadletters show immoweb 5f0c1d2e3a4b5c6d7e8f")
def show(portal: PortalArgument, id: Annotated[str, typer.Argument(help="An id, as `list` shows it.")]) -> None:
    """Show everything that is known of one dead letter."""
    from realestate.cli.errors import UsageError

    found = [each for each in _newest(portal, limit=10**9) if each.id.hex() == id]
    if not found:
        raise UsageError(f"{portal} has no dead letter {id!r}")
    _print_json(found)


@app.command(epilog="Example: realestate deadletters replay immoweb --reason http --rate 2")
def replay(
    portal: PortalArgument,
    reason: ReasonOption = None,
    job: JobOption = None,
    limit: NewestOption = 1000,
    rate: Annotated[float, typer.Option(min=0.01, help="Requests per second to put into the queue.")] = 5.0,
    dry_run: DryRunFlag = False,
) -> None:
    """Put the requests of dead letters into the queue again."""
    from realestate.cli.queues import with_queue
    from realestate.queue.dead_letters import DeadLetters

    ids = [each.id for each in _newest(portal, reason=reason, job=job, limit=limit)]
    if dry_run:
        print(f"would replay {len(ids)} of {portal}")
    else:
        count = with_queue(portal, lambda queue: DeadLetters(queue).replay(ids, rate))
        print(f"replayed {count} of {portal}")


@app.command(epilog="Example: realestate deadletters drop immoweb --reason seed")
def drop(
    portal: PortalArgument,
    reason: ReasonOption = None,
    job: JobOption = None,
    limit: NewestOption = 1000,
    dry_run: DryRunFlag = False,
) -> None:
    """Delete dead letters for good."""
    from realestate.cli.queues import with_queue
    from realestate.queue.dead_letters import DeadLetters

    ids = [each.id for each in _newest(portal, reason=reason, job=job, limit=limit)]
    if dry_run:
        print(f"would drop {len(ids)} of {portal}")
    else:
        count = with_queue(portal, lambda queue: DeadLetters(queue).drop(ids))
        print(f"dropped {count} of {portal}")


def _newest(portal: str, *, reason: str | None = None, job: str | None = None, limit: int) -> "list[DeadLetter]":
    from realestate.cli.queues import with_queue
    from realestate.queue.dead_letters import DeadLetters

    return with_queue(portal, lambda queue: DeadLetters(queue).newest(limit, reason=reason, job=job))


def _print_json(found: "Sequence[DeadLetter]") -> None:
    from realestate.cli import terminal

    terminal.print_json([{"id": each.id.hex(), "at": each.at.isoformat(), **each.details} for each in found])


def _print_table(found: "Sequence[DeadLetter]") -> None:
    from rich.markup import escape
    from rich.table import Table

    from realestate.cli import terminal

    table = Table()
    for name in ("id", "at", "reason", "error", "what"):
        table.add_column(name, overflow="fold")
    for each in found:
        what = each.details.get("url") or each.details.get("seed") or each.details.get("value") or ""
        at = each.at.isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
        table.add_row(each.id.hex(), at, each.details["reason"], escape(each.details["error"]), escape(what))
    terminal.console.print(table)

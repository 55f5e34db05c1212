"""`realestate deadletters`: requests that failed for good. List, show, replay or drop them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from realestate.cli.help_page import command_group
from realestate.cli.options import DryRunFlag, JsonFlag, NewestOption, PortalArgument

if TYPE_CHECKING:
    from realestate.queue.dead_letters import DeadLetter

app = command_group("Requests that failed for good: list, show, replay, drop.")

ReasonOption = Annotated[
    str | None, typer.Option("--reason", help="Only with this reason: http, download, parse, seed …")
]
JobOption = Annotated[str | None, typer.Option("--job", help="Only of this job; the beginning of its id is enough.")]
IdsArgument = Annotated[
    list[str] | None,
    typer.Argument(help="Ids, as `list` shows them, or their beginnings; by default all that match the options."),
]


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
def show(
    portal: PortalArgument, id: Annotated[str, typer.Argument(help="An id, as `list` shows it, or its beginning.")]
) -> None:
    """Show everything that is known of one dead letter."""
    _print_json(_with_ids(portal, [id]))


@app.command(epilog="Example: realestate deadletters replay immoweb --reason http --rate 2")
def replay(
    portal: PortalArgument,
    ids: IdsArgument = None,
    reason: ReasonOption = None,
    job: JobOption = None,
    limit: NewestOption = 1000,
    rate: Annotated[float, typer.Option(min=0.01, help="Requests per second to put into the queue.")] = 5.0,
    dry_run: DryRunFlag = False,
) -> None:
    """Put the requests of dead letters into the queue again."""
    from realestate.cli.queues import with_queue
    from realestate.queue.dead_letters import DeadLetters

    chosen = _chosen(portal, ids, reason=reason, job=job, limit=limit)
    if dry_run:
        print(f"would replay {len(chosen)} of {portal}")
    else:
        count = with_queue(portal, lambda queue: DeadLetters(queue).replay(chosen, rate))
        print(f"replayed {count} of {portal}")


@app.command(epilog="Example: realestate deadletters drop immoweb --reason seed")
def drop(
    portal: PortalArgument,
    ids: IdsArgument = None,
    reason: ReasonOption = None,
    job: JobOption = None,
    limit: NewestOption = 1000,
    dry_run: DryRunFlag = False,
) -> None:
    """Delete dead letters for good."""
    from realestate.cli.queues import with_queue
    from realestate.queue.dead_letters import DeadLetters

    chosen = _chosen(portal, ids, reason=reason, job=job, limit=limit)
    if dry_run:
        print(f"would drop {len(chosen)} of {portal}")
    else:
        count = with_queue(portal, lambda queue: DeadLetters(queue).drop(chosen))
        print(f"dropped {count} of {portal}")


def _chosen(portal: str, ids: Sequence[str] | None, *, reason: str | None, job: str | None, limit: int) -> list[bytes]:
    """The dead letters with these ids; without ids, the newest that match the options."""
    found = _with_ids(portal, ids) if ids else _newest(portal, reason=reason, job=job, limit=limit)
    return [each.id for each in found if each.matches(reason, job)]


def _with_ids(portal: str, ids: Sequence[str]) -> "list[DeadLetter]":
    """The dead letters with these ids or beginnings of ids, each once."""
    from realestate.cli.options import whole_id

    every = {each.id.hex(): each for each in _newest(portal, limit=10**9)}
    whole = [whole_id(id, every, f"dead letter of {portal}") for id in ids]
    return [every[id] for id in dict.fromkeys(whole)]


def _newest(portal: str, *, reason: str | None = None, job: str | None = None, limit: int) -> "list[DeadLetter]":
    from realestate.cli.queues import with_queue
    from realestate.queue.dead_letters import DeadLetters

    return with_queue(portal, lambda queue: DeadLetters(queue).newest(limit, reason=reason, job=job))


def _print_json(found: "Sequence[DeadLetter]") -> None:
    from realestate.cli import terminal

    terminal.print_json([{"id": each.id.hex(), "at": each.at.isoformat(), **each.details} for each in found])


def _print_table(found: "Sequence[DeadLetter]") -> None:
    """One line per dead letter, never cut: ids and URLs can be copied."""
    from realestate.cli import terminal

    rows = [
        [
            each.id.hex(),
            each.at.isoformat(sep=" ", timespec="seconds").removesuffix("+00:00"),
            str(each.details["reason"]),
            f"{_one_line(_what(each))}: {_one_line(each.details['error'])}".removeprefix(": "),
        ]
        for each in found
    ]
    terminal.print_columns(["id", "at", "reason", "what and error"], rows, left=3, empty="no dead letter matches")


def _what(letter: "DeadLetter") -> str:
    return str(letter.details.get("url") or letter.details.get("seed") or letter.details.get("value") or "")


def _one_line(text: str) -> str:
    return " ".join(str(text).split())

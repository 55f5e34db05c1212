"""`realestate jobs`: the crawls of the past and what they found. `realestate runs` is its old name."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from realestate.cli.options import JsonFlag, NewestOption, PortalOption

if TYPE_CHECKING:
    from realestate.items import Part
    from realestate.storage.store import Job, Store

app = typer.Typer(
    help="Jobs: list them, see their searches, apply what one found gone.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
JobArgument = Annotated[str, typer.Argument(help="The name of a job, as `realestate jobs list` shows it.")]
PortalOfJobOption = Annotated[
    str | None, typer.Option("--portal", help="The job's portal; needed if two portals have a job of this name.")
]


@app.command("list", epilog="Example: realestate jobs list --portal emlak")
def list_jobs(portal: PortalOption = None, limit: NewestOption = 20, json: JsonFlag = False) -> None:
    """List the newest jobs: whether each was complete, and whether the listings it found gone were delisted."""
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store

    with opened_store() as store:
        jobs = store.jobs(portal, limit)
    if json:
        terminal.print_json([_fields(each) for each in jobs], indent=0)
    else:
        print_jobs(jobs)


@app.command(epilog="Example: realestate jobs parts 5f0c1d2e3a4b")
def parts(job: JobArgument, portal: PortalOfJobOption = None, json: JsonFlag = False) -> None:
    """Show the searches of a job and the parts they were split into, with the number of results of each."""
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store
    from realestate.cli.errors import UsageError

    with opened_store() as store:
        found = store.parts(job, portal or _portal_of(store, job))
    if not found:
        raise UsageError(f"no searches of a job {job!r} are stored; `realestate jobs list` shows the jobs")
    if json:
        terminal.print_json([asdict(each) for each in found], indent=0)
    else:
        print_parts(found)


@app.command(epilog="Example: realestate jobs apply 5f0c1d2e3a4b")
def apply(job: JobArgument, portal: PortalOfJobOption = None, json: JsonFlag = False) -> None:
    """Delist the listings that a job found gone, although they were too many to be believed (verdict `withheld`)."""
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store

    with opened_store() as store:
        conclusion = store.conclude(job, portal or _portal_of(store, job), force=True)
    if json:
        terminal.print_json(asdict(conclusion), indent=0)
    else:
        print(
            f"{conclusion.delisted} listings delisted:"
            f" the job found {conclusion.found} gone, of {conclusion.offered} offered"
        )


def _portal_of(store: "Store", job: str) -> str:
    """The portal of the only job with this name."""
    from realestate.cli.errors import UsageError

    found = sorted({each.portal for each in store.jobs(job=job, limit=1000)})
    if not found:
        raise UsageError(f"there is no job {job!r}; `realestate jobs list` shows the jobs")
    if len(found) > 1:
        raise UsageError(f"{', '.join(found)} each have a job {job!r}: add --portal, such as --portal {found[0]}")
    return found[0]


# ----- the old name, removed in 0.3

old_app = typer.Typer(help="The old name of `realestate jobs`.", no_args_is_help=True, rich_markup_mode=None)
old_app.command("list")(list_jobs)
old_app.command()(parts)
old_app.command()(apply)


@old_app.callback()
def _warn() -> None:
    from realestate.cli.errors import print_warning

    print_warning("`realestate runs` was renamed to `realestate jobs`; the old name will stop working in version 0.3")


# ----- output


def _fields(job: "Job") -> dict[str, Any]:
    values = asdict(job)
    # `run` is the name of version 0.1. It is removed in 0.3.
    return {**values, "run": values["job"]}


def print_jobs(jobs: "Sequence[Job]") -> None:
    from realestate.cli import terminal

    table = terminal.plain_table("job", "portal", "mode", "started", "complete", "gone", "verdict", "why")
    for job in jobs:
        complete = {None: "", True: "yes", False: "no"}[job.complete]
        table.add_row(
            job.job,
            job.portal,
            job.mode,
            f"{job.started_at:%m-%d %H:%M}",
            complete,
            str(job.departures or ""),
            job.verdict or "",
            job.reason or "",
        )
    terminal.console.print(table)


def print_parts(parts: "Sequence[Part]") -> None:
    """Print each search with its parts below it, and the sum of their results."""
    from realestate.cli import terminal

    children: dict[str | None, list[Part]] = {}
    for part in parts:
        children.setdefault(part.parent, []).append(part)
    table = terminal.plain_table("search", "results", "in parts")

    def add(part: "Part", depth: int) -> None:
        below = children.get(part.search, [])
        results = "?" if part.total is None else str(part.total)
        in_parts = str(sum(each.total or 0 for each in below)) if part.is_split else ""
        table.add_row("  " * depth + part.search, results, in_parts)
        for each in below:
            add(each, depth + 1)

    for part in children.get(None, []):
        add(part, 0)
    terminal.console.print(table)

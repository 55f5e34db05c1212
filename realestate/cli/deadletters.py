"""`realestate deadletters`: what was given up, and what to do with it."""

from typing import Annotated

import typer

app = typer.Typer(help="What was given up: look, replay, drop.", no_args_is_help=True, rich_markup_mode=None)

Portal = Annotated[str, typer.Argument(help="The portal's name; `scrapy list` names all.")]
ReasonOption = Annotated[str | None, typer.Option("--reason", help="Only these: http, download, parse, seed …")]
JobOption = Annotated[str | None, typer.Option("--job", help="Only those of this job.")]
LimitOption = Annotated[int, typer.Option("--limit", min=1, help="No more than so many, the newest first.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


@app.command("list", epilog="Example: realestate deadletters list immoweb --reason http")
def list_letters(
    portal: Portal, reason: ReasonOption = None, job: JobOption = None, limit: LimitOption = 20, json: JsonFlag = False
) -> None:
    """The newest dead letters of a portal."""
    from realestate.cli import queues, show

    show.letters(queues.letters(portal, reason=reason, job=job, limit=limit), as_json=json)


@app.command(epilog="Example: realestate deadletters show immoweb 5f0c1d2e3a4b5c6d7e8f")
def show(portal: Portal, id: Annotated[str, typer.Argument(help="As `list` shows it.")]) -> None:
    """Everything that is known of one."""
    from realestate.cli import queues
    from realestate.cli import show as screen

    screen.letters([queues.letter(portal, id)], as_json=True)


@app.command(epilog="Example: realestate deadletters replay immoweb --reason http --rate 2")
def replay(
    portal: Portal,
    reason: ReasonOption = None,
    job: JobOption = None,
    limit: LimitOption = 1000,
    rate: Annotated[float, typer.Option(min=0.01, help="So many a second.")] = 5.0,
    dry_run: DryRun = False,
) -> None:
    """Put them into the queue again."""
    from realestate.cli import queues

    found = queues.letters(portal, reason=reason, job=job, limit=limit)
    count = len(found) if dry_run else queues.replay(portal, [each.id for each in found], rate)
    print(f"{'would replay' if dry_run else 'replayed'} {count} of {portal}")


@app.command(epilog="Example: realestate deadletters drop immoweb --reason seed")
def drop(
    portal: Portal,
    reason: ReasonOption = None,
    job: JobOption = None,
    limit: LimitOption = 1000,
    dry_run: DryRun = False,
) -> None:
    """Throw them away for good."""
    from realestate.cli import queues

    found = queues.letters(portal, reason=reason, job=job, limit=limit)
    count = len(found) if dry_run else queues.drop(portal, [each.id for each in found])
    print(f"{'would drop' if dry_run else 'dropped'} {count} of {portal}")

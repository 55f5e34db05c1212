"""`realestate submit`: gives the running fleet a job."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from realestate.cli.options import JsonFlag, PortalArgument


def submit(
    portal: PortalArgument,
    urls: Annotated[
        list[str] | None,
        typer.Argument(help="Start URLs, for example a search copied from the browser; all searches by default."),
    ] = None,
    operation: Annotated[str | None, typer.Option(help="Only homes for sale, or only for rent: sale, rent.")] = None,
    type: Annotated[
        str | None, typer.Option("--type", help="Only homes of this type: apartment, house, land, commercial …")
    ] = None,
    city: Annotated[
        str | None, typer.Option(help="Only homes in this city, in the portal's spelling or in English.")
    ] = None,
    mode: Annotated[
        str, typer.Option(help="full, sweep, incremental or refresh; see `realestate crawl --help`.")
    ] = "full",
    priority: Annotated[int, typer.Option(help="A higher number comes sooner.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after this many listings.")] = None,
    deadline: Annotated[str | None, typer.Option(help="Cancel the job after this time, such as 90m or 2h.")] = None,
    key: Annotated[
        str | None, typer.Option(help="A name for the job: submitting it again with the same key is the same job.")
    ] = None,
    pages: Annotated[str | None, typer.Option(help="Only these pages of each search, such as 1-50.")] = None,
    page_size: Annotated[int | None, typer.Option(min=1, help="Results per page, where the portal can.")] = None,
    then: Annotated[
        list[str] | None,
        typer.Option(help='What follows: `report`, or another job as JSON, such as \'{"portal": "bina"}\' or @file.'),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show its progress until it has ended.")] = False,
    json: JsonFlag = False,
) -> None:
    """Give the running fleet a job, and print its id at once."""
    from realestate import settings
    from realestate.cli import job_desk, jobs, terminal

    fields = {
        "portal": portal,
        "urls": list(urls or ()) or None,
        "operation": operation,
        "type": type,
        "city": city,
        "mode": mode,
        "priority": priority,
        "limit": limit,
        "deadline": deadline,
        "key": key,
        "pages": pages,
        "page_size": page_size,
        "then": [_follower(each) for each in then or ()] or None,
    }
    job_desk.check_is_name(portal, "submit")
    order = job_desk.read_checked(fields)
    job_desk.check(order, settings.SIMULATOR_URL)  # also where no fleet runs: a wrong argument is named first
    with job_desk.running_desk() as desk:
        submitted = job_desk.checked(lambda: desk.submit(order))
        job_desk.say_what_is_checked_later(order.portal, submitted.checked_later)
        if json:
            terminal.print_json(asdict(submitted))
        else:
            jobs.print_submitted(submitted)
        if watch:
            jobs.watch_job(desk, submitted.job, submitted.portal, json=json)


def _follower(text: str) -> dict[str, Any]:
    import msgspec

    from realestate.cli.errors import UsageError

    if text == "report":
        return {"report": True}
    try:
        content = Path(text[1:]).read_bytes() if text.startswith("@") else text.encode()
        return {"submit": msgspec.json.decode(content, type=dict[str, Any])}
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(f"--then {text[:80]!r} is neither `report` nor a job as JSON: {error}") from error

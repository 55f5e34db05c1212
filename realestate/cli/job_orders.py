"""`realestate submit`, and `realestate jobs show|cancel|pause|resume|retry`."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from realestate.cli.options import JsonFlag, PortalArgument

if TYPE_CHECKING:
    from realestate.cli.connections import Addresses
    from realestate.jobs.manage import JobDesk, Submitted
    from realestate.jobs.order import CheckedOrder, JobOrder
    from realestate.jobs.state import JobState

T = TypeVar("T")
#: How often `--watch` looks.
WATCH_SECONDS = 1.0

JobArgument = Annotated[
    str, typer.Argument(help="The id of a job, as `realestate jobs list` shows it, or its beginning.")
]
PortalOfJobOption = Annotated[
    str | None, typer.Option("--portal", help="The job's portal; needed if two portals have a job of this name.")
]


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
    limit: Annotated[int | None, typer.Option(min=1, help="Fetch at most this many listings.")] = None,
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
    from realestate.cli import terminal

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
    order = read_checked(fields)
    check(order, settings.SIMULATOR_URL)  # also where no fleet runs: a wrong argument is named first
    with running_desk() as desk:
        submitted = _submitted(desk, order)
        if json:
            terminal.print_json(asdict(submitted))
        else:
            _print_submitted(submitted)
        if watch:
            _watch(desk, submitted.job, submitted.portal, json=json)


def show(
    job: JobArgument,
    portal: PortalOfJobOption = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show the progress until it has ended.")] = False,
    json: JsonFlag = False,
) -> None:
    """Show one job: its state, its pages by stage, what it found, its rate, the time left and its cost."""
    with job_desk() as desk:
        job, portal = _found(desk, job, portal)
        if watch:
            _watch(desk, job, portal, json=json)
        else:
            _print_state(checked(lambda: desk.show(job, portal)), json=json)


def cancel(
    jobs: Annotated[list[str], typer.Argument(help="The ids of jobs, or their beginnings.")],
    reason: Annotated[str, typer.Option(help="Why; `show` shows it.")] = "cancelled",
    portal: PortalOfJobOption = None,
    json: JsonFlag = False,
) -> None:
    """Cancel jobs: no further request of theirs is sent. What they have found stays stored."""
    from realestate.cli import terminal

    with job_desk() as desk:
        for each in jobs:
            job, of_portal = _found(desk, each, portal)
            with terminal.counter("request") as count:
                state = checked(lambda: desk.cancel(job, reason, portal=of_portal, removed=_counted(count)))  # noqa: B023
            if json:
                _print_state(state, json=True)
            else:
                print(f"cancelled: {state.job} ({state.portal}); {_on_their_way(state.left)}")


def _on_their_way(left: int) -> str:
    return f"{left} requests are on their way and will be finished" if left else "nothing of it is left in the queue"


def _counted(count: "Callable[[str, int], None]") -> Callable[[int, int], None]:
    return lambda removed, left: count("removed", removed)


def pause(job: JobArgument, portal: PortalOfJobOption = None, json: JsonFlag = False) -> None:
    """Pause one job: none of its requests is sent until `resume`. Other jobs of the portal go on."""
    with job_desk() as desk:
        job, portal = _found(desk, job, portal)
        state = checked(lambda: desk.pause(job, portal))
        _print_changed(state, f"paused: {state.job}; `realestate jobs resume {state.job}` continues it", json=json)


def resume(job: JobArgument, portal: PortalOfJobOption = None, json: JsonFlag = False) -> None:
    """Continue a paused job."""
    with job_desk() as desk:
        job, portal = _found(desk, job, portal)
        state = checked(lambda: desk.resume(job, portal))
        _print_changed(state, f"resumed: {state.job}", json=json)


def retry(job: JobArgument, portal: PortalOfJobOption = None, json: JsonFlag = False) -> None:
    """Submit a job that has ended again, as a new job."""
    from realestate.cli import terminal

    with job_desk() as desk:
        job, portal = _found(desk, job, portal)
        submitted = checked(lambda: desk.retry(job, portal))
        if json:
            terminal.print_json(asdict(submitted))
        else:
            _print_submitted(submitted)


# ----- the desk


@contextmanager
def job_desk() -> "Iterator[JobDesk]":
    """The jobs that are kept, also while nothing runs: the embedded services are started for the moment."""
    from realestate.cli.connections import kept

    with kept() as addresses, _desk_at(addresses) as desk:
        yield desk


@contextmanager
def running_desk() -> "Iterator[JobDesk]":
    """The jobs of the fleet that is configured, or that runs on this machine. Starts nothing: services that were
    started for a job alone would stop with this command."""
    from realestate.cli.connections import running_addresses

    with _desk_at(running_addresses()) as desk:
        yield desk


@contextmanager
def _desk_at(addresses: "Addresses") -> "Iterator[JobDesk]":
    from realestate import settings
    from realestate.cli.connections import connect_redis
    from realestate.jobs.manage import JobDesk
    from realestate.storage import open_store

    store = open_store(addresses.store_url)
    try:
        with connect_redis(addresses.redis_url) as server:
            yield JobDesk(store, server, settings.SIMULATOR_URL)
    finally:
        store.close()


def checked(act: Callable[[], T]) -> T:
    """Do it; a UsageError if it cannot be done."""
    from realestate.cli.errors import UsageError
    from realestate.jobs.manage import JobConflict, NoSuchJobId
    from realestate.jobs.order import BadOrder
    from realestate.jobs.timetable.entries import BadTimetable

    try:
        return act()
    except (BadOrder, BadTimetable, JobConflict, NoSuchJobId) as error:
        raise UsageError(str(error)) from error


def read_checked(order: Mapping[str, Any]) -> "JobOrder":
    """The order in a JSON value; a UsageError if it is not one."""
    from realestate.jobs.order import read_order

    return checked(lambda: read_order(order))


def check(order: "JobOrder", simulator: str | None) -> "CheckedOrder":
    """The order with its start URLs; a UsageError if its portal cannot do it."""
    from realestate.cli.connections import check_portals
    from realestate.jobs.order import check_order

    check_portals([order.portal])
    return checked(lambda: check_order(order, simulator))


def say_what_is_checked_later(portal: str, parts: Sequence[str]) -> None:
    """Say which parts of the scope the site cannot apply: they cost requests."""
    from realestate.cli.errors import print_note

    if parts:
        rest = " or ".join(parts)
        print_note(f"{portal} cannot search by {rest}: each result is checked instead, which takes longer")


def _submitted(desk: "JobDesk", order: "JobOrder") -> "Submitted":
    submitted = checked(lambda: desk.submit(order))
    say_what_is_checked_later(order.portal, submitted.checked_later)
    return submitted


def _found(desk: "JobDesk", job: str, portal: str | None) -> tuple[str, str | None]:
    """The whole id of which the beginning was given. A whole id is found without reading other jobs."""
    from realestate.cli.ids import whole_id
    from realestate.jobs.manage import NoSuchJobId

    try:
        return job, _checked_portal(desk, job, portal)
    except NoSuchJobId:
        states = desk.ids(portal)
        return whole_id(job, states, "job"), portal


def _checked_portal(desk: "JobDesk", job: str, portal: str | None) -> str:
    from realestate.cli.errors import UsageError
    from realestate.jobs.manage import JobConflict

    try:
        return desk.portal_of(job, portal)
    except JobConflict as error:
        raise UsageError(f"{error}: add --portal") from error


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


# ----- output


def _print_submitted(submitted: "Submitted") -> None:
    if submitted.is_new:
        print(
            f"job {submitted.job}: {submitted.seeds} seeds for {submitted.portal};"
            f" `realestate jobs show {submitted.job} --watch` shows the progress"
        )
    else:
        print(f"job {submitted.job}: submitted before with the same key; `realestate jobs show {submitted.job}`")


def state_fields(state: "JobState") -> dict[str, Any]:
    """A job as JSON."""
    return {**asdict(state), "done": state.done, "failed": state.failed}


def _print_changed(state: "JobState", line: str, *, json: bool) -> None:
    if json:
        _print_state(state, json=True)
    else:
        print(line)


def _print_state(state: "JobState", *, json: bool) -> None:
    from realestate.cli import terminal

    if json:
        terminal.print_json(state_fields(state), indent=0)
        return
    paused = " (paused)" if state.paused and not state.is_over else ""
    print(f"job {state.job}: {state.portal}, {state.mode}, {state.state}{paused}")
    if state.reason:
        print(f"  {state.reason}")
    times = [("submitted", state.submitted_at), ("started", state.started_at), ("ended", state.ended_at)]
    print("  " + ", ".join(f"{name} {at:%Y-%m-%d %H:%M:%S}" for name, at in times if at is not None))
    if state.deadline_at is not None and not state.is_over:
        print(f"  deadline {state.deadline_at:%Y-%m-%d %H:%M:%S}")
    if state.order is not None:
        print("  order: " + ", ".join(f"{name}={value}" for name, value in sorted(state.order.items())))
    rows = [
        [stage, f"{each.found:,}", f"{each.done:,}", f"{each.failed:,}"]
        for stage, each in state.pages.items()
        if each.found
    ]
    if rows:
        print()
        terminal.print_columns(["pages", "found", "done", "failed"], rows)
        print()
    print(f"  listings: {state.new:,} new, {state.changed:,} changed, {state.gone:,} gone")
    if state.rate is not None:
        left = f", about {duration(state.seconds_left)} left" if state.seconds_left is not None else ""
        print(f"  {state.rate:.1f} pages/s, {state.left:,} requests left{left}")
    proxied = f", {state.proxy_requests:,} through proxies" if state.proxy_requests else ""
    print(f"  cost: {state.requests:,} requests{proxied}, {state.bytes / 1e6:,.1f} MB")


def duration(seconds: float) -> str:
    """In hours, minutes and seconds: 1:02:03."""
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}"


def _watch(desk: "JobDesk", job: str, portal: str | None, *, json: bool) -> None:
    """Show the progress until the job has ended. With JSON, one line for each look."""
    from realestate.cli import terminal

    with terminal.job_progress(quiet=json) as update:
        while True:
            state = checked(lambda: desk.show(job, portal))
            if json:
                terminal.print_json(state_fields(state), indent=0)
            update(state)
            if state.is_over:
                break
            time.sleep(WATCH_SECONDS)
    if not json:
        _print_state(state, json=False)
    raise typer.Exit(0 if state.state == "finished" else 1)

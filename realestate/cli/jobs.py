"""`realestate jobs`: the jobs, what they do and what they found. `realestate runs` is its old name."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from realestate.cli.help_page import command_group
from realestate.cli.options import JsonFlag, NewestOption, PortalOption

if TYPE_CHECKING:
    from realestate.items import Part
    from realestate.jobs.manage import JobDesk, Submitted
    from realestate.jobs.state import JobState
    from realestate.storage.orders import StoredOrder
    from realestate.storage.store import Job, JobKey, Store

app = command_group(
    "Jobs: list, show, cancel, pause, resume and retry them; see their searches; apply what one found gone."
)
JobArgument = Annotated[
    str, typer.Argument(help="The id of a job, as `realestate jobs list` shows it, or its beginning.")
]
PortalOfJobOption = Annotated[
    str | None, typer.Option("--portal", help="The job's portal; needed if two portals have a job of this name.")
]
#: How often `--watch` looks.
WATCH_SECONDS = 1.0
#: So begin the reasons of a job that was asked for a part of its portal.
_PARTIAL = ("at most ", "only ")
#: The beginning of an id is looked up among this many ids, the newest.
MANY = 100_000


@app.command("list", epilog="Example: realestate jobs list --portal emlak")
def list_jobs(portal: PortalOption = None, limit: NewestOption = 20, json: JsonFlag = False) -> None:
    """List the newest jobs: how long each took, what it found, and what an unfinished one is doing."""
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store
    from realestate.storage.event_counts import counts_of

    with opened_store() as store:
        orders = {_key(each): each for each in store.orders(portal, limit)}
        jobs = _with_unopened(store.jobs(portal, limit), list(orders.values()))[:limit]
        counts = counts_of(store, jobs)
        doing = _doing([each for each in jobs if _is_unfinished(each) and not _has_ended(orders.get(_key(each)))])
    doing.update({key: _outcome(order) for key, order in orders.items() if order.outcome not in (None, "finished")})
    if json:
        terminal.print_json([_fields(each, counts[_key(each)], doing.get(_key(each))) for each in jobs], indent=0)
    else:
        print_jobs(jobs, counts, doing)


@app.command(epilog="Example: realestate jobs show 5f0c1d2e3a4b --watch")
def show(
    job: JobArgument,
    portal: PortalOfJobOption = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show the progress until it has ended.")] = False,
    json: JsonFlag = False,
) -> None:
    """Show one job: its state, its pages by stage, what it found, its rate, the time left and its cost."""
    from realestate.cli.job_desk import checked, job_desk

    with job_desk() as desk:
        job, portal = _found(desk, job, portal)
        if watch:
            watch_job(desk, job, portal, json=json)
        else:
            state = checked(lambda: desk.show(job, portal))
            _print_state(state, json=json)
            if not json and not state.is_over:
                _print_why_it_waits(desk, state)


@app.command(epilog="Example: realestate jobs cancel 5f0c1d2e3a4b --reason 'wrong city'")
def cancel(
    jobs: Annotated[list[str], typer.Argument(help="The ids of jobs, or their beginnings.")],
    reason: Annotated[str, typer.Option(help="Why; `show` shows it.")] = "cancelled",
    portal: PortalOfJobOption = None,
    json: JsonFlag = False,
) -> None:
    """Cancel jobs: no further request of theirs is sent. What they have found stays stored."""
    from realestate.cli import terminal
    from realestate.cli.job_desk import checked, job_desk

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


def _counted(count: Callable[[str, int], None]) -> Callable[[int, int], None]:
    return lambda removed, left: count("removed", removed)


@app.command(epilog="Example: realestate jobs pause 5f0c1d2e3a4b")
def pause(job: JobArgument, portal: PortalOfJobOption = None, json: JsonFlag = False) -> None:
    """Pause one job: none of its requests is sent until `resume`. Other jobs of the portal go on."""
    from realestate.cli.job_desk import checked, job_desk

    with job_desk() as desk:
        job, portal = _found(desk, job, portal)
        state = checked(lambda: desk.pause(job, portal))
        _print_changed(state, f"paused: {state.job}; `realestate jobs resume {state.job}` continues it", json=json)


@app.command(epilog="Example: realestate jobs resume 5f0c1d2e3a4b")
def resume(job: JobArgument, portal: PortalOfJobOption = None, json: JsonFlag = False) -> None:
    """Continue a paused job."""
    from realestate.cli.job_desk import checked, job_desk

    with job_desk() as desk:
        job, portal = _found(desk, job, portal)
        state = checked(lambda: desk.resume(job, portal))
        _print_changed(state, f"resumed: {state.job}", json=json)


@app.command(epilog="Example: realestate jobs retry 5f0c1d2e3a4b")
def retry(job: JobArgument, portal: PortalOfJobOption = None, json: JsonFlag = False) -> None:
    """Submit a job that has ended again, as a new job."""
    from realestate.cli import terminal
    from realestate.cli.job_desk import checked, job_desk

    with job_desk() as desk:
        job, portal = _found(desk, job, portal)
        submitted = checked(lambda: desk.retry(job, portal))
        if json:
            terminal.print_json(asdict(submitted))
        else:
            print_submitted(submitted)


@app.command(epilog="Example: realestate jobs parts 5f0c1d2e3a4b")
def parts(job: JobArgument, portal: PortalOfJobOption = None, json: JsonFlag = False) -> None:
    """Show the searches of a job and the parts they were split into, with the number of results of each."""
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store
    from realestate.cli.errors import UsageError

    with opened_store() as store:
        job, portal = _job_and_portal(store, job, portal)
        found = store.parts(job, portal)
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
        job, portal = _job_and_portal(store, job, portal)
        conclusion = store.conclude(job, portal, force=True)
    if json:
        terminal.print_json(asdict(conclusion), indent=0)
    else:
        print(
            f"{conclusion.delisted} listings delisted:"
            f" the job found {conclusion.found} gone, of {conclusion.offered} offered"
        )


def _found(desk: "JobDesk", job: str, portal: str | None) -> tuple[str, str | None]:
    """The whole id of which the beginning was given. A whole id is found without reading other jobs."""
    from realestate.cli.options import whole_id
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


def _with_unopened(jobs: "Sequence[Job]", orders: "Sequence[StoredOrder]") -> "list[Job]":
    """The jobs, and those of the orders that no worker has opened: the newest first."""
    from realestate.storage.store import Job

    known = {_key(each) for each in jobs}
    unopened = [
        Job(each.job, each.portal, str(each.content.get("mode", "full")), "", each.submitted_at, reason=each.reason)
        for each in orders
        if _key(each) not in known
    ]
    return sorted([*jobs, *unopened], key=lambda each: (each.started_at, each.job), reverse=True)


def _has_ended(order: "StoredOrder | None") -> bool:
    return order is not None and order.ended_at is not None


def _job_and_portal(store: "Store", job: str, portal: str | None) -> tuple[str, str]:
    """The whole name of the job, of which the beginning was given, and its portal."""
    from realestate.cli.options import whole_id

    if not store.jobs(portal, 1, job=job):
        job = whole_id(job, (each.job for each in store.jobs(portal, MANY)), "job")
    return job, portal or _portal_of(store, job)


def _portal_of(store: "Store", job: str) -> str:
    """The portal of the only job with this name."""
    from realestate.cli.errors import UsageError

    found = sorted({each.portal for each in store.jobs(job=job, limit=1000)})
    if len(found) > 1:
        raise UsageError(f"{', '.join(found)} each have a job {job!r}: add --portal, such as --portal {found[0]}")
    return found[0]


# ----- the old name, removed in 0.3

old_app = command_group("The old name of `realestate jobs`.")
old_app.command("list")(list_jobs)
old_app.command()(parts)
old_app.command()(apply)


@old_app.callback()
def _warn() -> None:
    from realestate.cli.errors import print_warning

    print_warning("`realestate runs` was renamed to `realestate jobs`; the old name will stop working in version 0.3")


# ----- output


def _key(job: "Job | StoredOrder") -> "JobKey":
    from realestate.storage.store import JobKey

    return JobKey(job.portal, job.job)


def _is_unfinished(job: "Job") -> bool:
    return job.verdict is None and job.concluded_at is None


def _doing(jobs: "Sequence[Job]") -> "dict[JobKey, str]":
    """What these jobs are doing; why it is not known while Redis is away."""
    from realestate.cli.connections import connect_redis, redis_address
    from realestate.cli.errors import UsageError
    from realestate.jobs.fleet import job_progress
    from realestate.queue.redis_client import REDIS_ERRORS

    if not jobs:
        return {}
    try:
        with redis_address() as url:
            server = connect_redis(url)
            return {_key(each): str(job_progress(server, each.portal, each.job)) for each in jobs}
    except (*REDIS_ERRORS, UsageError):
        return {_key(each): "unknown: Redis is not available" for each in jobs}


def _seconds(job: "Job") -> float | None:
    ended = job.concluded_at
    return (ended - job.started_at).total_seconds() if ended else None


def _took(job: "Job") -> str:
    seconds = _seconds(job)
    return "-" if seconds is None else duration(seconds)


def _fields(job: "Job", counts: Mapping[str, int], doing: str | None) -> dict[str, Any]:
    values = asdict(job)
    # `run` is the name of version 0.1. It is removed in 0.3.
    return {**values, "run": values["job"], "seconds": _seconds(job), "events": counts, "doing": doing}


def print_jobs(
    jobs: "Sequence[Job]", counts: "Mapping[JobKey, Mapping[str, int]]", doing: "Mapping[JobKey, str]"
) -> None:
    from realestate.cli import terminal
    from realestate.storage.event_counts import EVENT_GROUPS

    header = ["job", "portal", "mode", "started", "ended", "took", *EVENT_GROUPS, "result"]
    rows = [
        [
            job.job,
            job.portal,
            job.mode,
            f"{job.started_at:%Y-%m-%d %H:%M}",
            f"{job.concluded_at:%H:%M}" if job.concluded_at else "-",
            _took(job),
            *(str(sum(counts[_key(job)].get(type, 0) for type in types)) for types in EVENT_GROUPS.values()),
            doing.get(_key(job)) or _result(job),
        ]
        for job in jobs
    ]
    terminal.print_columns(header, rows, left=4, empty="no jobs yet; `realestate crawl <portal>` starts one")


def _outcome(order: "StoredOrder") -> str:
    """How an order ended that did not finish, and why."""
    reason = order.reason if order.reason != order.outcome else None
    return ": ".join(filter(None, [order.outcome, reason]))


def _result(job: "Job") -> str:
    """Whether it was complete, what it decided about listings that are gone, and why."""
    words = [{None: "", True: "complete", False: "not complete"}[job.complete]]
    if job.complete is False and (job.reason or "").startswith(_PARTIAL):
        words = ["finished"]  # that it read only a part is what was asked for
    if job.departures and job.verdict:
        words.append(f"{job.departures} gone {job.verdict}")
    return ", ".join(filter(None, [*words, job.reason]))


def print_parts(parts: "Sequence[Part]") -> None:
    """Print each search with its parts below it, and the sum of their results."""
    from realestate.cli import terminal

    children: dict[str | None, list[Part]] = {}
    for part in parts:
        children.setdefault(part.parent, []).append(part)
    rows: list[list[str]] = []

    def add(part: "Part", depth: int) -> None:
        below = children.get(part.search, [])
        results = "?" if part.total is None else str(part.total)
        in_parts = str(sum(each.total or 0 for each in below)) if part.is_split else ""
        rows.append([results, in_parts, "  " * depth + part.search])
        for each in below:
            add(each, depth + 1)

    for part in children.get(None, []):
        add(part, 0)
    terminal.print_columns(["results", "in parts", "search"], rows, left=0)


def print_submitted(submitted: "Submitted") -> None:
    from realestate.cli.terminal import counted

    if submitted.is_new:
        print(
            f"job {submitted.job}: {counted(submitted.seeds, 'seed')} for {submitted.portal};"
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


def _print_why_it_waits(desk: "JobDesk", state: "JobState") -> None:
    """Print why no request of an unfinished job is sent: no worker, or a pause of its portal."""
    from realestate.cli.pauses import why_stopped
    from realestate.jobs.fleet import look

    seen = look(desk.server, state.portal)
    if seen.rate_limit.paused or seen.rate_limit.robots_failures:
        print(f"  {state.portal} is {why_stopped(seen.rate_limit)}")
    if not seen.workers:
        print(f"  no worker serves {state.portal}: `realestate work` starts one")


def _as_text(value: Any) -> str:
    """A value of an order, as it is written on the command line or in a timetable."""
    import msgspec

    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _print_state(state: "JobState", *, json: bool) -> None:
    from realestate.cli import terminal
    from realestate.jobs.state import STAGES

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
        print("  order: " + ", ".join(f"{name}={_as_text(value)}" for name, value in sorted(state.order.items())))
    rows = [
        [stage, f"{each.found:,}", f"{each.done:,}", f"{each.failed:,}"]
        for stage in STAGES
        if (each := state.pages.get(stage)) is not None and each.found
    ]
    if rows:
        print()
        terminal.print_columns(["pages", "found", "done", "failed"], rows)
        print()
    print(f"  listings: {state.new:,} new, {state.changed:,} changed, {state.gone:,} gone")
    if state.rate is not None:
        left = "" if state.is_over else f", {state.left:,} requests left"
        if state.seconds_left is not None:
            left += f", about {duration(state.seconds_left)}"
        print(f"  {state.rate:.1f} pages/s{left}")
    proxied = f", {state.proxy_requests:,} through proxies" if state.proxy_requests else ""
    print(f"  cost: {state.requests:,} requests{proxied}, {state.bytes / 1e6:,.1f} MB")


def duration(seconds: float) -> str:
    """In hours, minutes and seconds: 1:02:03."""
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}"


def watch_job(desk: "JobDesk", job: str, portal: str | None, *, json: bool) -> None:
    """Show the progress until the job has ended. With JSON, one line for each look."""
    from realestate.cli import terminal
    from realestate.cli.job_desk import checked

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

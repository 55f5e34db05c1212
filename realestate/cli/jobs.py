"""`realestate jobs`: the jobs, what they do and what they found. `realestate runs` is its old name."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from realestate.cli import job_orders
from realestate.cli.help_page import command_group
from realestate.cli.job_orders import JobArgument, PortalOfJobOption
from realestate.cli.options import JsonFlag, NewestOption, PortalOption

if TYPE_CHECKING:
    from realestate.items import Part
    from realestate.storage.orders import StoredOrder
    from realestate.storage.store import Job, JobKey, Store

app = command_group(
    "Jobs: list, show, cancel, pause, resume and retry them; see their searches; apply what one found gone."
)
#: A beginning of an id is compared with so many ids, the newest.
MANY = 100_000
#: The columns of `list`, and the types of events that each counts.
COUNTED: Mapping[str, Sequence[str]] = {
    "new": ("listed", "appeared"),
    "price": ("price_changed",),
    "updated": ("updated", "reserved"),
    "gone": ("delisted", "sold", "rented"),
    "back": ("relisted",),
}

app.command(epilog="Example: realestate jobs show 5f0c1d2e3a4b --watch")(job_orders.show)
app.command(epilog="Example: realestate jobs cancel 5f0c1d2e3a4b --reason 'wrong city'")(job_orders.cancel)
app.command(epilog="Example: realestate jobs pause 5f0c1d2e3a4b")(job_orders.pause)
app.command(epilog="Example: realestate jobs resume 5f0c1d2e3a4b")(job_orders.resume)
app.command(epilog="Example: realestate jobs retry 5f0c1d2e3a4b")(job_orders.retry)


@app.command("list", epilog="Example: realestate jobs list --portal emlak")
def list_jobs(portal: PortalOption = None, limit: NewestOption = 20, json: JsonFlag = False) -> None:
    """List the newest jobs: how long each took, what it found, and what an unfinished one is doing."""
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store
    from realestate.storage.job_counts import counts_of

    with opened_store() as store:
        orders = {_key(each): each for each in store.orders(portal, limit)}
        jobs = _with_unopened(store.jobs(portal, limit), list(orders.values()))[:limit]
        counts = counts_of(store, jobs)
        doing = _doing([each for each in jobs if _is_unfinished(each) and not _has_ended(orders.get(_key(each)))])
    doing.update({key: str(order.outcome) for key, order in orders.items() if order.outcome not in (None, "finished")})
    if json:
        terminal.print_json([_fields(each, counts[_key(each)], doing.get(_key(each))) for each in jobs], indent=0)
    else:
        print_jobs(jobs, counts, doing)


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
    from realestate.cli.ids import whole_id

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


def _fields(job: "Job", counts: Mapping[str, int], doing: str | None) -> dict[str, Any]:
    values = asdict(job)
    # `run` is the name of version 0.1. It is removed in 0.3.
    return {**values, "run": values["job"], "seconds": _seconds(job), "events": counts, "doing": doing}


def print_jobs(
    jobs: "Sequence[Job]", counts: "Mapping[JobKey, Mapping[str, int]]", doing: "Mapping[JobKey, str]"
) -> None:
    from realestate.cli import terminal

    header = ["job", "portal", "mode", "started", "ended", "took", *COUNTED, "result"]
    rows = [
        [
            job.job,
            job.portal,
            job.mode,
            f"{job.started_at:%Y-%m-%d %H:%M}",
            f"{job.concluded_at:%H:%M}" if job.concluded_at else "-",
            _duration(_seconds(job)),
            *(str(sum(counts[_key(job)].get(type, 0) for type in types)) for types in COUNTED.values()),
            doing.get(_key(job)) or _result(job),
        ]
        for job in jobs
    ]
    terminal.print_columns(header, rows, left=4, empty="no jobs yet; `realestate crawl <portal>` starts one")


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}"


def _result(job: "Job") -> str:
    """Whether it was complete, what it decided about listings that are gone, and why."""
    words = [{None: "", True: "complete", False: "not complete"}[job.complete]]
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

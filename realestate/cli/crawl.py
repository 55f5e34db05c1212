"""`realestate crawl` and `work`: crawl on this machine, be a worker of the fleet."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from realestate.cli import job_desk
from realestate.cli.options import JsonFlag, PortalArgument

if TYPE_CHECKING:
    from realestate.jobs.fleet import State
    from realestate.jobs.local import Ending, Progress
    from realestate.jobs.manage import JobDesk
    from realestate.jobs.order import JobOrder
    from realestate.jobs.state import JobState


class Mode(StrEnum):
    """How thoroughly a crawl reads."""

    full = "full"
    sweep = "sweep"
    incremental = "incremental"
    refresh = "refresh"


ModeOption = Annotated[
    Mode,
    typer.Option(
        help="full: every listing; sweep: all search pages, and the listings that are new, changed or missing; "
        "incremental: what is new since the last time; refresh: known listings that are due."
    ),
]
OperationOption = Annotated[str | None, typer.Option(help="Only homes for sale, or only for rent: sale, rent.")]
TypeOption = Annotated[
    str | None, typer.Option("--type", help="Only homes of this type: apartment, house, land, commercial …")
]
CityOption = Annotated[
    str | None, typer.Option(help="Only homes in this city, in the portal's spelling or in English.")
]


#: The events of a listing with another price, also one that is now on request.
NEW_PRICE = ("price_changed", "price_meaning_changed")
#: The events of a listing that left the market.
GONE = ("delisted", "sold", "rented")


@dataclass(frozen=True)
class CrawlOutcome:
    portal: str
    finished: bool
    resumed: int
    new: int
    kept: int
    on_market: int
    """Of the kept listings, those that are active or reserved."""
    gone: int
    """Of the kept listings, those that are delisted, sold or rented."""
    price_changed: int
    """Listings whose price this crawl found changed."""
    gone_now: int
    """Listings that this crawl found delisted, sold or rented."""
    returned: int
    """Listings that were gone, and that this crawl found on the market again."""
    quarantined: int
    dead: int
    """Requests of this crawl that were given up."""
    pages: int
    seconds: float
    logs: Path
    stopped: str = ""
    """Why the crawl stopped before its end."""
    job: str = ""
    """The job's id; empty if the crawl only went on with seeds that somebody pushed."""
    error: str = ""
    """Why the job failed, such as that no page could be read."""
    unmatched: str = ""
    """The scope, if no listing was found that matches it."""

    @property
    def failed(self) -> bool:
        """Whether it stopped before its end, or got nothing but errors."""
        return not self.finished or bool(self.error)


def crawl(
    portal: PortalArgument,
    urls: Annotated[
        list[str] | None,
        typer.Argument(help="Start URLs, for example a search copied from the browser; all searches by default."),
    ] = None,
    operation: OperationOption = None,
    type: TypeOption = None,
    city: CityOption = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after this many listings.")] = None,
    mode: ModeOption = Mode.full,
    workers: Annotated[int, typer.Option(min=1, help="Number of worker processes.")] = 1,
    json: JsonFlag = False,
) -> None:
    """Crawl one portal on this machine and show the progress. If it was stopped, the same command continues it."""
    from realestate.cli import terminal

    job_desk.check_is_name(portal, "crawl")
    order = job_desk.read_checked(
        {
            "portal": portal,
            "urls": list(urls or ()) or None,
            "operation": operation,
            "type": type,
            "city": city,
            "mode": mode.value,
            "limit": limit,
        }
    )
    with terminal.crawl_progress(quiet=json) as show:
        outcome = _crawl(order, workers=workers, show=show)
    if json:
        terminal.print_json({**asdict(outcome), "logs": str(outcome.logs)})
    else:
        _print_outcome(outcome)
    raise typer.Exit(1 if outcome.failed else 0)


def work(
    portals: Annotated[list[str] | None, typer.Argument(help="Portals to serve; all by default.")] = None,
    until_done: Annotated[bool, typer.Option("--until-done", help="Stop when nothing is left to do.")] = False,
) -> None:
    """Be a worker of the fleet: serve the queues of the portals until SIGTERM."""
    from realestate import settings
    from realestate.cli.connections import check_portals, check_redis_login, connected
    from realestate.jobs import work as worker

    names = check_portals(portals or worker.portals(settings.SIMULATOR_URL))
    worker.import_components()
    with connected() as addresses:
        check_redis_login(addresses.redis_url)
        _check_store(addresses.store_url)
        is_done = worker.work(names, addresses.redis_url, addresses.store_url, until_done=until_done)
    raise typer.Exit(0 if is_done else 1)


def _check_store(url: str) -> None:
    """End with one line if the store can never be used, and migrate it once for all portals. A worker waits for a
    database that is only away."""
    from realestate.storage import StoreAway, open_store

    with closing(open_store(url)) as store, suppress(StoreAway):
        store.migrate()


def _crawl(order: "JobOrder", *, workers: int, show: "Callable[[Progress], None]") -> CrawlOutcome:
    """Continue with what is waiting. Start the job, unless it is waiting already."""
    from realestate import environment, settings
    from realestate.cli.connections import connect_redis, connected
    from realestate.cli.pauses import why_stopped
    from realestate.embedded import children
    from realestate.jobs import local
    from realestate.jobs.fleet import look
    from realestate.jobs.manage import JobDesk
    from realestate.storage import open_store

    portal = order.portal
    is_narrow = _check_portal(order) or bool(order.limit)
    logs = settings.REALESTATE_HOME / "logs"
    latest = local.Progress()

    def show_and_keep(progress: local.Progress) -> None:
        nonlocal latest
        latest = progress
        show(progress)

    with connected() as addresses:
        server = connect_redis(addresses.redis_url)
        before = look(server, portal)
        _end_pause(addresses.redis_url, portal, before)
        stored_before = _stored(addresses.store_url, portal)
        with closing(open_store(addresses.store_url)) as store:
            desk = JobDesk(store, server, settings.SIMULATOR_URL)
            unfinished = desk.unfinished(portal)
            _check_none_is_paused(unfinished)
            job = "" if before.finished else _same_job(order, unfinished)
            others = [each.job for each in unfinished if each.job != job] if is_narrow else []
            if not job and (before.finished or unfinished or is_narrow):
                job = desk.submit(order).job
            with _set_aside(desk, portal, others, is_alone=not before.workers):
                env = environment.changed(REDIS_URL=addresses.redis_url, STORE_URL=addresses.store_url)
                running = local.start_workers([portal], workers, env, logs)
                try:
                    is_over = partial(_is_over, desk, job, portal) if others else None
                    ending: Ending = local.watch(server, [portal], running, show_and_keep, logs, is_over)
                finally:
                    children.stop(running, local.STOP_SECONDS)
        stored = _stored(addresses.store_url, portal, stored_before.last_event)
        on_market, gone = _on_market_and_gone(addresses.store_url, portal)
        after = look(server, portal)
        with closing(open_store(addresses.store_url)) as store:
            state = JobDesk(store, server, settings.SIMULATOR_URL).show(job, portal) if job else None
    return CrawlOutcome(
        portal=portal,
        finished=ending == "finished",
        resumed=before.waiting + before.in_flight,
        new=stored.listings - stored_before.listings,
        kept=stored.listings,
        on_market=on_market,
        gone=gone,
        price_changed=sum(stored.events.get(type, 0) for type in NEW_PRICE),
        gone_now=sum(stored.events.get(type, 0) for type in GONE),
        returned=stored.events.get("relisted", 0),
        quarantined=stored.quarantined - stored_before.quarantined,
        dead=after.dead - before.dead,
        pages=latest.total(portal, "pages"),
        seconds=latest.seconds,
        logs=logs,
        stopped="" if ending == "finished" else why_stopped(after.rate_limit),
        job=job,
        error=_error_of(state),
        unmatched=str(order.scope).replace(";", ", ") if _found_nothing(state, stored) else "",
    )


def _error_of(state: "JobState | None") -> str:
    return (state.reason or "it failed") if state is not None and state.state == "failed" else ""


def _found_nothing(state: "JobState | None", stored: "Stored") -> bool:
    """Whether the job certainly found no listing that it wants: its searches showed none, or none was ever stored."""
    if state is None or state.state != "finished" or state.mode != "full":
        return False
    listings = state.pages.get("extract")
    return listings is None or not listings.found or not stored.listings


def _check_none_is_paused(unfinished: "Sequence[JobState]") -> None:
    """A UsageError if a person paused one of the portal's jobs: it would never end."""
    from realestate.cli.errors import UsageError

    for job in unfinished:
        if job.paused:
            raise UsageError(
                f"job {job.job} of {job.portal} is paused: `realestate jobs resume {job.job}` continues it,"
                f" `realestate jobs cancel {job.job}` ends it"
            )


def _same_job(order: "JobOrder", unfinished: "Sequence[JobState]") -> str:
    """The id of an unfinished job that fetches the same; "" if there is none."""
    from realestate.jobs.order import is_same_crawl, read_order

    return next((each.job for each in unfinished if is_same_crawl(order, read_order(each.order or {}))), "")


def _is_over(desk: "JobDesk", job: str, portal: str) -> bool:
    from realestate.storage import StoreAway

    try:
        return desk.show(job, portal).is_over
    except StoreAway:
        return False


@contextmanager
def _set_aside(desk: "JobDesk", portal: str, jobs: "Sequence[str]", *, is_alone: bool) -> "Iterator[None]":
    """Pause these jobs meanwhile, so that a crawl of a part fetches this part and nothing else. Where other workers
    serve the portal, the jobs are theirs: they go on."""
    from realestate.cli.errors import print_note
    from realestate.jobs.manage import JobConflict

    names = ", ".join(jobs)
    if not jobs or not is_alone:
        if jobs:
            print_note(f"the workers of {portal} go on with its unfinished jobs meanwhile: {names}")
        yield
        return
    print_note(f"not finished before, waits meanwhile: {names}; `realestate crawl {portal}` continues it")
    try:
        for job in jobs:
            desk.pause(job, portal)
        yield
    finally:
        for job in jobs:
            with suppress(JobConflict):  # it has ended
                desk.resume(job, portal)


def _check_portal(order: "JobOrder") -> bool:
    """Whether the order covers less than the whole portal. A UsageError if the portal cannot do it."""
    from realestate import settings

    checked = job_desk.check(order, settings.SIMULATOR_URL)
    job_desk.say_what_is_checked_later(order.portal, checked.checked_later)
    return not checked.is_everything


def _end_pause(redis_url: str, portal: str, state: "State") -> None:
    """A crawl that somebody starts by hand ends a pause that a worker made; not one that a person made."""
    from realestate.cli.errors import UsageError, print_note
    from realestate.cli.pauses import why_paused, why_stopped
    from realestate.cli.queues import with_queue_at

    limit = state.rate_limit
    if not limit.paused and not limit.robots_failures:
        return
    if limit.paused and not limit.is_paused_by_worker:
        raise UsageError(f"{portal} is {why_paused(limit)}; `realestate resume {portal}` starts it again")
    print_note(f"{portal} was {why_stopped(limit)}; trying again now")
    with_queue_at(redis_url, portal, lambda queue: queue.resume(automatic=True))


@dataclass(frozen=True)
class Stored:
    """What the store has of a portal."""

    listings: int
    quarantined: int
    last_event: int
    events: Mapping[str, int]
    """The number of the portal's events after a number, by type."""


def _stored(store_url: str, portal: str, after: int | None = None) -> Stored:
    """Count what is stored; with `after`, also the events since that number. Changes nothing."""
    from realestate.storage import open_store

    store = open_store(store_url)
    try:
        listings, quarantined = store.counts().get(portal, (0, 0))
        events: Counter[str] = Counter()
        if after is not None and store.last_event() > after:
            for key, counts in store.event_counts(after).items():
                events.update(counts if key.portal == portal else {})
        return Stored(listings, quarantined, store.last_event(), events)
    finally:
        store.close()


def _on_market_and_gone(store_url: str, portal: str) -> tuple[int, int]:
    """The portal's listings that are on the market, and those that have left it."""
    from realestate.storage import open_store
    from realestate.storage.changes import OFF_THE_MARKET

    store = open_store(store_url)
    try:
        statuses = store.statuses(portal)
    finally:
        store.close()
    gone = sum(count for status, count in statuses.items() if status in OFF_THE_MARKET)
    return sum(statuses.values()) - gone, gone


def _in_all(outcome: CrawlOutcome) -> str:
    """Items of other kinds than listings are not on a market."""
    if not outcome.on_market and not outcome.gone:
        return f"{outcome.kept} in all"
    return f"{outcome.kept} in all: {outcome.on_market} on the market, {outcome.gone} gone"


def _print_outcome(outcome: CrawlOutcome) -> None:
    from realestate.cli.terminal import counted

    if outcome.resumed:
        print(f"resumed: {counted(outcome.resumed, 'request')} waiting from before")
    print(
        f"{outcome.portal}: {counted(outcome.new, 'new listing')}, {outcome.price_changed} price changed,"
        f" {outcome.gone_now} gone, {outcome.returned} returned"
    )
    print(
        f"{_in_all(outcome)}; {counted(outcome.pages, 'page')} in {outcome.seconds:.0f} s,"
        f" {outcome.quarantined} in quarantine, {counted(outcome.dead, 'dead letter')}"
    )
    if outcome.unmatched:
        print(f"no listing was found that matches {outcome.unmatched}")
    if outcome.stopped:
        print(f"{outcome.portal} is {outcome.stopped}")
        print("the same command tries again at once; the requests are kept")
    elif outcome.error:
        print(f"failed, {outcome.error}; `realestate deadletters list {outcome.portal}` shows why")
    elif outcome.dead:
        print(f"`realestate deadletters list {outcome.portal}` shows which pages were given up, and why")
    if outcome.quarantined:
        print(f"`realestate quarantine list --portal {outcome.portal}` shows what is wrong with those listings")
    print(f"logs of the workers: {outcome.logs}")

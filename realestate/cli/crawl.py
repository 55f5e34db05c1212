"""`realestate crawl`, `work` and `submit`: crawl on this machine, be a worker of the fleet, give the fleet a job."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from realestate.cli.options import JsonFlag, PortalArgument

if TYPE_CHECKING:
    from redis import Redis

    from realestate.crawling.scope import Scope
    from realestate.jobs.fleet import State
    from realestate.jobs.local import Ending, Progress


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
    pages: int
    seconds: float
    logs: Path
    stopped: str = ""
    """Why the crawl stopped before its end."""

    @property
    def failed(self) -> bool:
        """Whether it stopped before its end, or got nothing but errors."""
        return not self.finished or (self.dead > 0 and not self.new and not self.kept)


@dataclass(frozen=True)
class SubmittedJob:
    portal: str
    job: str
    seeds: int


def crawl(
    portal: PortalArgument,
    urls: Annotated[
        list[str] | None,
        typer.Argument(help="Start URLs, for example a search copied from the browser; all searches by default."),
    ] = None,
    operation: OperationOption = None,
    type: TypeOption = None,
    city: CityOption = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Fetch at most this many listings.")] = None,
    mode: ModeOption = Mode.full,
    workers: Annotated[int, typer.Option(min=1, help="Number of worker processes.")] = 1,
    json: JsonFlag = False,
) -> None:
    """Crawl one portal on this machine and show the progress. If it was stopped, the next call continues it."""
    from realestate.cli import terminal

    request = _request(portal, urls or [], operation, type, city, mode, limit or 0)
    with terminal.crawl_progress(quiet=json) as show:
        outcome = _crawl(request, workers=workers, show=show)
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


def submit(
    portal: PortalArgument,
    urls: Annotated[
        list[str] | None,
        typer.Argument(help="Start URLs, for example a search copied from the browser; all searches by default."),
    ] = None,
    operation: OperationOption = None,
    type: TypeOption = None,
    city: CityOption = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Fetch at most this many listings.")] = None,
    mode: ModeOption = Mode.full,
    priority: Annotated[int, typer.Option(help="A higher number comes sooner.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Give the running fleet a job; the same as `redis-cli lpush <portal>:start_urls …`."""
    from realestate.cli import terminal
    from realestate.cli.connections import connect_redis, running_redis_url

    request = _request(portal, urls or [], operation, type, city, mode, limit or 0, priority)
    # A fleet has to run already: services that were started for a seed alone would stop with this command.
    job = request.push(connect_redis(running_redis_url()))
    if json:
        terminal.print_json(asdict(job))
    else:
        print(f"job {job.job}: {job.seeds} seeds for {job.portal}; `realestate status` shows the progress")


@dataclass(frozen=True)
class CrawlRequest:
    """What somebody asked for, checked."""

    portal: str
    urls: Sequence[str]
    is_everything: bool
    """The URLs are all searches of the portal."""
    mode: str
    limit: int
    filter: str
    priority: int

    def push(self, server: "Redis") -> SubmittedJob:
        """Push the seeds as one job. Only a job with all searches covers the whole portal, so only such a job can find
        out which listings are gone."""
        from realestate.jobs.submit import submit as push_seeds
        from realestate.storage import WHOLE

        # A refresh fetches no search, so one seed is enough to start it.
        seeds = self.urls[:1] if self.mode == Mode.refresh else self.urls
        job = push_seeds(
            server,
            self.portal,
            seeds,
            mode=self.mode,
            scope=WHOLE if self.is_everything else "",
            priority=self.priority,
            limit=self.limit,
            filter=self.filter,
        )
        return SubmittedJob(self.portal, job, len(seeds))


def _request(
    portal: str,
    urls: Sequence[str],
    operation: str | None,
    type: str | None,
    city: str | None,
    mode: str,
    limit: int,
    priority: int = 0,
) -> CrawlRequest:
    """Check the arguments of `crawl` and `submit`. Raises UsageError."""
    from realestate import settings
    from realestate.cli.connections import check_portals, check_urls
    from realestate.cli.errors import UsageError
    from realestate.crawling.scope import Scope
    from realestate.jobs.work import scoped_urls, seed_urls

    check_portals([portal])
    check_urls(portal, urls)
    try:
        given = {"operation": operation, "type": type, "city": city}
        scope = Scope.parse(";".join(f"{name}={value}" for name, value in given.items() if value is not None))
        if not urls:
            urls = (
                scoped_urls(portal, scope, settings.SIMULATOR_URL)
                if scope.parts()
                else seed_urls(portal, settings.SIMULATOR_URL)
            )
            is_everything = not scope.parts()
        else:
            is_everything = False
    except ValueError as error:
        raise UsageError(str(error)) from error
    _say_what_is_checked_later(portal, scope)
    return CrawlRequest(portal, urls, is_everything, mode, limit, str(scope), priority)


def _say_what_is_checked_later(portal: str, scope: "Scope") -> None:
    """Say which parts of the scope the site cannot apply: they cost requests."""
    from realestate.cli.errors import print_note
    from realestate.jobs.work import spider_class

    rest = sorted(scope.parts().keys() - spider_class(portal).site_filters())
    if rest:
        print_note(f"{portal} cannot search by {' or '.join(rest)}: each result is checked instead, which takes longer")


def _crawl(request: CrawlRequest, *, workers: int, show: "Callable[[Progress], None]") -> CrawlOutcome:
    """Continue with what is waiting, or else start with the URLs of the request."""
    from realestate import environment, settings
    from realestate.cli.connections import connect_redis, connected
    from realestate.cli.pauses import why_stopped
    from realestate.embedded import children
    from realestate.jobs import local
    from realestate.jobs.fleet import look

    portal = request.portal
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
        is_narrow = not request.is_everything or bool(request.limit)
        if is_narrow or before.finished:
            request.push(server)
        env = environment.changed(REDIS_URL=addresses.redis_url, STORE_URL=addresses.store_url)
        running = local.start_workers([portal], workers, env, logs)
        try:
            ending: Ending = local.watch(server, [portal], running, show_and_keep, logs)
        finally:
            children.stop(running, local.STOP_SECONDS)
        stored = _stored(addresses.store_url, portal, stored_before.last_event)
        on_market, gone = _on_market_and_gone(addresses.store_url, portal)
        after = look(server, portal)
    return CrawlOutcome(
        portal=portal,
        finished=ending == "finished",
        resumed=before.waiting + before.in_flight,
        new=stored.listings - stored_before.listings,
        kept=stored.listings,
        on_market=on_market,
        gone=gone,
        price_changed=stored.events.get("price_changed", 0),
        gone_now=sum(stored.events.get(type, 0) for type in GONE),
        returned=stored.events.get("relisted", 0),
        quarantined=stored.quarantined - stored_before.quarantined,
        dead=after.dead - before.dead,
        pages=latest.total(portal, "pages"),
        seconds=latest.seconds,
        logs=logs,
        stopped="" if ending == "finished" else why_stopped(after.rate_limit),
    )


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
    if outcome.resumed:
        print(f"resumed: {outcome.resumed} requests were waiting")
    print(
        f"{outcome.portal}: {outcome.new} new listings, {outcome.price_changed} price changed,"
        f" {outcome.gone_now} gone, {outcome.returned} returned"
    )
    print(
        f"{_in_all(outcome)}; {outcome.pages} pages in {outcome.seconds:.0f} s, {outcome.quarantined} in quarantine,"
        f" {outcome.dead} dead letters"
    )
    if outcome.stopped:
        print(f"{outcome.portal} is {outcome.stopped}")
        print(f"`realestate crawl {outcome.portal}` tries again at once; its requests are kept")
    elif outcome.failed:
        print(f"nothing was stored; `realestate deadletters list {outcome.portal}` shows why")
    print(f"logs of the workers: {outcome.logs}")

"""`realestate crawl`, `work` and `submit`: crawl on this machine, be a worker of the fleet, give the fleet a job."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from realestate.cli.options import JsonFlag, PortalArgument

if TYPE_CHECKING:
    from redis import Redis

    from realestate.jobs.local import Progress


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
    quarantined: int
    dead: int
    pages: int
    seconds: float
    logs: Path


@dataclass(frozen=True)
class SubmittedJob:
    portal: str
    job: str
    seeds: int


def crawl(
    portal: PortalArgument,
    urls: Annotated[list[str] | None, typer.Argument(help="Start URLs; all its searches by default.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop when about this many listings are stored.")] = None,
    mode: ModeOption = Mode.full,
    workers: Annotated[int, typer.Option(min=1, help="Number of worker processes.")] = 1,
    json: JsonFlag = False,
) -> None:
    """Crawl one portal on this machine and show the progress. If it was stopped, the next call continues it."""
    from realestate.cli import terminal

    with terminal.crawl_progress(quiet=json) as show:
        outcome = _crawl(portal, urls or [], mode=mode, limit=limit, workers=workers, show=show)
    if json:
        terminal.print_json({**asdict(outcome), "logs": str(outcome.logs)})
    else:
        _print_outcome(outcome)


def work(
    portals: Annotated[list[str] | None, typer.Argument(help="Portals to serve; all by default.")] = None,
    until_done: Annotated[bool, typer.Option("--until-done", help="Stop when nothing is left to do.")] = False,
) -> None:
    """Be a worker of the fleet: serve the queues of the portals until SIGTERM."""
    from realestate import settings
    from realestate.cli.connections import check_portals, connected
    from realestate.jobs import work as worker

    names = check_portals(portals or worker.portals(settings.SIMULATOR_URL))
    worker.import_components()
    with connected() as addresses:
        started = worker.work(names, addresses.redis_url, addresses.store_url, until_done=until_done)
    raise typer.Exit(0 if started else 1)


def submit(
    portal: PortalArgument,
    urls: Annotated[list[str] | None, typer.Argument(help="Start URLs; all its searches by default.")] = None,
    mode: ModeOption = Mode.full,
    priority: Annotated[int, typer.Option(help="A higher number comes sooner.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Give the running fleet a job; the same as `redis-cli lpush <portal>:start_urls …`."""
    from realestate.cli import terminal
    from realestate.cli.connections import check_portals, check_urls, connect_redis, running_redis_url

    check_portals([portal])
    check_urls(portal, urls or [])
    # A fleet has to run already: services that were started for a seed alone would stop with this command.
    job = _push(connect_redis(running_redis_url()), portal, urls or [], mode, priority)
    if json:
        terminal.print_json(asdict(job))
    else:
        print(f"job {job.job}: {job.seeds} seeds for {job.portal}; `realestate status` shows the progress")


def _crawl(
    portal: str,
    urls: Sequence[str],
    *,
    mode: str,
    limit: int | None,
    workers: int,
    show: "Callable[[Progress], None]",
) -> CrawlOutcome:
    """Continue with what is waiting, or else start with the given URLs or all searches of the portal."""
    from realestate import environment, settings
    from realestate.cli.connections import check_portals, check_urls, connect_redis, connected
    from realestate.embedded import children
    from realestate.jobs import local
    from realestate.jobs.fleet import look

    check_portals([portal])
    check_urls(portal, urls)
    logs = settings.REALESTATE_HOME / "logs"
    latest = local.Progress()

    def show_and_keep(progress: local.Progress) -> None:
        nonlocal latest
        latest = progress
        show(progress)

    with connected() as addresses:
        server = connect_redis(addresses.redis_url)
        before = look(server, portal)
        listings_before, quarantined_before = _counts(addresses.store_url, portal)
        if urls or before.finished:
            _push(server, portal, urls, mode)
        env = environment.changed(REDIS_URL=addresses.redis_url, STORE_URL=addresses.store_url)
        running = local.start_workers([portal], workers, env, logs)
        try:
            finished = local.watch(server, [portal], running, show_and_keep, logs, limit)
        finally:
            children.stop(running, local.STOP_SECONDS)
        listings, quarantined = _counts(addresses.store_url, portal)
        on_market, gone = _on_market_and_gone(addresses.store_url, portal)
        dead = look(server, portal).dead
    return CrawlOutcome(
        portal=portal,
        finished=finished,
        resumed=before.waiting + before.in_flight,
        new=listings - listings_before,
        kept=listings,
        on_market=on_market,
        gone=gone,
        quarantined=quarantined - quarantined_before,
        dead=dead - before.dead,
        pages=latest.total(portal, "pages"),
        seconds=latest.seconds,
        logs=logs,
    )


def _push(server: "Redis", portal: str, urls: Sequence[str], mode: str, priority: int = 0) -> SubmittedJob:
    """Push the given URLs, or all searches of the portal, as one job. Only a job with all searches covers the whole
    portal, so only such a job can find out which listings are gone."""
    from realestate import settings
    from realestate.jobs.submit import submit as push_seeds
    from realestate.jobs.work import seed_urls
    from realestate.storage import WHOLE

    seeds = list(urls) or seed_urls(portal, settings.SIMULATOR_URL)
    if mode == Mode.refresh:
        seeds = seeds[:1]  # a refresh fetches no search, so one seed is enough to start it
    job = push_seeds(server, portal, seeds, mode=mode, scope="" if urls else WHOLE, priority=priority)
    return SubmittedJob(portal, job, len(seeds))


def _counts(store_url: str, portal: str) -> tuple[int, int]:
    """The portal's listings, and its entries in quarantine."""
    from realestate.storage import open_store

    store = open_store(store_url)
    try:
        return store.counts().get(portal, (0, 0))
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
    rest = "" if outcome.finished else "; requests are left, run it again to continue"
    print(
        f"{outcome.portal}: {outcome.new} new listings, {_in_all(outcome)}; {outcome.pages} pages in"
        f" {outcome.seconds:.0f} s, {outcome.quarantined} in quarantine, {outcome.dead} dead letters{rest}"
    )
    print(f"logs of the workers: {outcome.logs}")

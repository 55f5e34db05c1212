"""The commands that need Redis and a store: those configured, or else embedded ones."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from redis import Redis

from realestate import embedded, environment, settings
from realestate.cli.failures import UsageError
from realestate.embedded import children
from realestate.jobs import local
from realestate.jobs.fleet import State, look
from realestate.jobs.submit import submit as push_seeds
from realestate.jobs.work import everything, import_parts, refusal, seed_urls
from realestate.jobs.work import portals as all_portals
from realestate.jobs.work import work as serve
from realestate.queue.connection import connect_blocking
from realestate.storage import WHOLE, FullStore, open_store


@dataclass(frozen=True)
class CrawlOutcome:
    portal: str
    finished: bool
    resumed: int
    new: int
    kept: int
    quarantined: int
    dead: int
    pages: int
    seconds: float
    logs: Path


@dataclass(frozen=True)
class Submitted:
    portal: str
    job: str
    seeds: int


@dataclass(frozen=True)
class PortalStatus:
    state: State
    listings: int
    quarantined: int


@dataclass(frozen=True)
class Status:
    redis_url: str | None
    store_url: str | None
    portals: dict[str, PortalStatus]


@dataclass(frozen=True)
class Addresses:
    redis_url: str
    store_url: str


@contextmanager
def connected() -> Iterator[Addresses]:
    """Redis and the store, as configured or embedded under REALESTATE_HOME."""
    if settings.REDIS_URL and settings.STORE_URL:
        yield Addresses(settings.REDIS_URL, settings.STORE_URL)
        return
    with embedded.services(settings.REALESTATE_HOME) as own:
        yield Addresses(settings.REDIS_URL or own.redis_url, settings.STORE_URL or own.store_url)


@contextmanager
def opened_store() -> Iterator[FullStore]:
    """The store, as configured or embedded."""
    with connected() as at:
        store = open_store(at.store_url)
        try:
            store.migrate()
            yield store
        finally:
            store.close()


def work(names: Sequence[str], *, until_done: bool = False) -> bool:
    portals = known(names or all_portals(settings.SIMULATOR_URL))
    import_parts()
    with connected() as at:
        return serve(portals, at.redis_url, at.store_url, until_done=until_done)


def crawl(
    portal: str,
    urls: Sequence[str],
    *,
    mode: str,
    limit: int | None,
    workers: int,
    show: Callable[[local.Progress], None],
) -> CrawlOutcome:
    """Go on with what is waiting, or else begin with the given addresses or all the portal's searches."""
    known([portal])
    _allowed(portal, urls)
    logs = settings.REALESTATE_HOME / "logs"
    latest = local.Progress()

    def watched(progress: local.Progress) -> None:
        nonlocal latest
        latest = progress
        show(progress)

    with connected() as at:
        server = _redis(at.redis_url)
        before, had = look(server, portal), _kept(at.store_url, portal)
        if urls or before.finished:
            _push(server, portal, urls, mode)
        env = environment.changed(REDIS_URL=at.redis_url, STORE_URL=at.store_url)
        running = local.start_workers([portal], workers, env, logs)
        try:
            finished = local.watch(server, [portal], running, watched, logs, limit)
        finally:
            children.stop(running, local.STOP_SECONDS)
        kept, dead = _kept(at.store_url, portal), look(server, portal).dead
    return CrawlOutcome(
        portal=portal,
        finished=finished,
        resumed=before.waiting + before.in_flight,
        new=kept[0] - had[0],
        kept=kept[0],
        quarantined=kept[1] - had[1],
        dead=dead - before.dead,
        pages=latest.total(portal, "pages"),
        seconds=latest.seconds,
        logs=logs,
    )


def submit(portal: str, urls: Sequence[str], mode: str, priority: int) -> Submitted:
    """To a fleet that runs: starting services only to leave a seed in them would help nobody."""
    known([portal])
    _allowed(portal, urls)
    server = _redis(redis_url())
    return _push(server, portal, urls, mode, priority)


def _push(server: Redis, portal: str, urls: Sequence[str], mode: str, priority: int = 0) -> Submitted:
    """The given addresses, or all the portal's searches: only these can tell what is gone."""
    seeds = list(urls) or seed_urls(portal, settings.SIMULATOR_URL)
    if mode == "refresh":
        seeds = seeds[:1]  # whichever: no search is asked for
    job = push_seeds(server, portal, seeds, mode=mode, scope="" if urls else WHOLE, priority=priority)
    return Submitted(portal, job, len(seeds))


def redis_url() -> str:
    """That of the fleet, or of a command that runs here."""
    own = embedded.running(settings.REALESTATE_HOME)
    url = settings.REDIS_URL or (own.redis_url if own else None)
    if url is None:
        raise UsageError("no fleet runs here: set REDIS_URL, or run `realestate work` first")
    return url


def status() -> Status:
    """Starts nothing: what is not running has no status."""
    own = embedded.running(settings.REALESTATE_HOME)
    at_redis = settings.REDIS_URL or (own.redis_url if own else None)
    store_url = settings.STORE_URL or (own.store_url if own else None)
    counts: dict[str, tuple[int, int]] = {}
    if store_url:
        store = open_store(store_url)
        counts = store.counts()
        store.close()
    if not at_redis:
        return Status(None, store_url, {})
    server = _redis(at_redis)
    names = sorted({*all_portals(), *(name for name in everything() if name in counts)})
    portals = {name: PortalStatus(look(server, name), *counts.get(name, (0, 0))) for name in names}
    return Status(at_redis, store_url, portals)


def _kept(store_url: str, portal: str) -> tuple[int, int]:
    """The portal's listings, and those in quarantine."""
    store = open_store(store_url)
    try:
        return store.counts().get(portal, (0, 0))
    finally:
        store.close()


def _allowed(portal: str, urls: Sequence[str]) -> None:
    for url in urls:
        if reason := refusal(portal, url, settings.SIMULATOR_URL):
            raise UsageError(reason)


def _redis(url: str) -> Redis:
    try:
        return connect_blocking(url)
    except ValueError as error:
        raise UsageError(f"REDIS_URL: {error}".partition("\n")[0]) from error


def known(names: Sequence[str]) -> list[str]:
    """The names, if all are portals."""
    portals = everything()
    for name in names:
        if name not in portals:
            raise UsageError(f"no portal {name!r}; there are: {', '.join(portals)}")
    return list(names)

"""The crawl of the demo, from its first worker to the comparison of all that is stored."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from subprocess import Popen
from threading import Thread

import msgspec
from redis import Redis

from realestate import embedded, environment
from realestate.demo.truth import Comparison, asked, compare_stored
from realestate.embedded import children
from realestate.jobs import local
from realestate.jobs.submit import submit
from realestate.storage import open_store
from realestate.storage.store import MarketRow

#: Those the demo is about; others prove that a new portal is a small file, and would only make it longer.
SHOWN = ("bina", "emlak", "immoweb", "lalafo", "tap")
Show = Callable[[local.Progress], None]
_JSON = msgspec.json.Encoder(decimal_format="number")


@dataclass(frozen=True)
class Outcome:
    portals: Mapping[str, Comparison]
    market: tuple[MarketRow, ...]
    pages: int
    seconds: float
    workers: int

    @property
    def right(self) -> bool:
        return all(comparison.right for comparison in self.portals.values())

    @property
    def last_line(self) -> str:
        each = self.portals.values()
        stored, expected = sum(c.stored for c in each), sum(c.expected for c in each)
        wrong, duplicates = sum(len(c.wrong) for c in each), sum(c.duplicates for c in each)
        return (
            f"demo: {stored} listings stored of {expected} expected, {wrong} fields wrong, {duplicates} duplicate rows"
        )

    def as_json(self) -> str:
        told = {**asdict(self), "right": self.right, "summary": self.last_line}
        return msgspec.json.format(_JSON.encode(told), indent=2).decode()


@contextmanager
def beginning(
    services: Callable[[], embedded.Services], home: Path, simulator: str, workers: int, logs: Path
) -> Iterator[Callable[[Show], Outcome]]:
    """The services of `home` need not be there yet: a worker has much to import, and then waits for them by itself."""
    team = _Team(workers, _environment(home, simulator), logs)
    try:
        team.grow_to(1)
        Thread(target=_wake, args=(simulator,), daemon=True).start()
        yield partial(_run, services, simulator, team)
    finally:
        team.stop()


class _Team:
    """The workers of the demo."""

    def __init__(self, size: int, env: Mapping[str, str], logs: Path) -> None:
        self.size, self.env, self.logs = size, env, logs
        self.running: list[Popen[bytes]] = []

    def grow_to(self, size: int) -> None:
        while (there := len(self.running)) < size:
            self.running += local.start_workers(SHOWN, 1, self.env, self.logs, first=there + 1)

    def stop(self) -> None:
        children.stop(self.running, local.STOP_SECONDS)


def _environment(home: Path, simulator: str) -> Mapping[str, str]:
    """Of a worker that knows no other services than those of `home`."""
    return environment.changed(
        **dict.fromkeys(environment.ADDRESSES, ""),
        REALESTATE_HOME=str(home),
        SIMULATOR_URL=simulator,
        RATE_LIMIT="0",
        no_proxy="127.0.0.1",
    )


def _wake(simulator: str) -> None:
    """A simulated country comes to be when it is first asked for, which takes a second; now nobody waits for it yet."""
    for name in SHOWN:
        with suppress(OSError), asked(simulator, name) as answer:
            answer.read(1)


def _run(services: Callable[[], embedded.Services], simulator: str, team: _Team, show: Show) -> Outcome:
    from realestate.jobs.work import seed_urls  # with all of Scrapy, while the services start

    seeds = {name: seed_urls(name, simulator) for name in SHOWN}
    latest = _crawled(services(), seeds, team, show)
    team.stop()
    return _outcome(services(), simulator, latest, team.size)


def _crawled(services: embedded.Services, seeds: Mapping[str, list[str]], team: _Team, show: Show) -> local.Progress:
    latest = local.Progress()

    def watched(progress: local.Progress) -> None:
        nonlocal latest
        latest = progress
        show(progress)
        if any(progress.total(name, "stored") for name in SHOWN):
            team.grow_to(team.size)  # not sooner: its start would hold up the first one's first pages

    server = Redis.from_url(services.redis_url)
    for name in SHOWN:
        submit(server, name, seeds[name])
    with closing(open_store(services.store_url)) as store:
        store.migrate()  # once, while the worker is not there yet: each of its spiders would wait for the others
    local.watch(server, SHOWN, team.running, watched, team.logs)
    return latest


def _outcome(services: embedded.Services, simulator: str, latest: local.Progress, workers: int) -> Outcome:
    with closing(open_store(services.store_url)) as store:
        portals = {name: compare_stored(store, simulator, name) for name in SHOWN}
        market = tuple(store.market())
    pages = sum(latest.total(name, "pages") for name in SHOWN)
    return Outcome(portals, market, pages, latest.seconds, workers)

"""The crawl of the demo, from the first worker to the comparison of the store with the truth."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from subprocess import Popen
from threading import Thread

import msgspec

from realestate import embedded, environment
from realestate.demo.truth import Comparison, compare_stored, open_truth
from realestate.embedded import children
from realestate.jobs import local
from realestate.jobs.submit import submit
from realestate.queue.connection import connect_blocking
from realestate.storage import open_store
from realestate.storage.store import MarketRow

#: The portals that the demo crawls. More would only make it longer.
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
    example: tuple[str, str] | None = None
    """Portal and ref of a listing to look at."""

    @property
    def right(self) -> bool:
        return all(comparison.right for comparison in self.portals.values())

    @property
    def last_line(self) -> str:
        each = self.portals.values()
        stored = sum(comparison.stored for comparison in each)
        expected = sum(comparison.expected for comparison in each)
        wrong = sum(len(comparison.wrong) for comparison in each)
        duplicates = sum(comparison.duplicates for comparison in each)
        return (
            f"demo: {stored} listings stored of {expected} expected, {wrong} fields wrong, {duplicates} duplicate rows"
        )

    def as_json(self) -> str:
        record = {**asdict(self), "right": self.right, "summary": self.last_line}
        return msgspec.json.format(_JSON.encode(record), indent=2).decode()


@contextmanager
def beginning(
    services: Callable[[], embedded.Services], home: Path, simulator: str, workers: int, logs: Path
) -> Iterator[Callable[[Show], Outcome]]:
    """Start the first worker and yield the function that runs the demo.

    The services of `home` need not run yet: a worker first imports its modules and then waits for them.
    """
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
        self.size = size
        self.env = env
        self.logs = logs
        self.running: list[Popen[bytes]] = []

    def grow_to(self, size: int) -> None:
        while (there := len(self.running)) < size:
            self.running += local.start_workers(SHOWN, 1, self.env, self.logs, first=there + 1)

    def stop(self) -> None:
        children.stop(self.running, local.STOP_SECONDS)


def _environment(home: Path, simulator: str) -> Mapping[str, str]:
    """The environment of a worker that uses only the services of `home`."""
    return environment.changed(
        **dict.fromkeys(environment.ADDRESSES, ""),
        REALESTATE_HOME=str(home),
        SIMULATOR_URL=simulator,
        RATE_LIMIT="0",
        no_proxy="127.0.0.1",
    )


def _wake(simulator: str) -> None:
    """Request each portal once: the simulator makes a country at the first request, which takes a second."""
    for name in SHOWN:
        with suppress(OSError), open_truth(simulator, name) as response:
            response.read(1)


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
            team.grow_to(team.size)  # not sooner: starting it would slow the first pages of the first worker

    server = connect_blocking(services.redis_url)
    for name in SHOWN:
        submit(server, name, seeds[name])
    with closing(open_store(services.store_url)) as store:
        store.migrate()  # once, before the worker is ready: its spiders would wait for each other
    local.watch(server, SHOWN, team.running, watched, team.logs)
    return latest


def _outcome(services: embedded.Services, simulator: str, latest: local.Progress, workers: int) -> Outcome:
    with closing(open_store(services.store_url)) as store:
        portals = {name: compare_stored(store, simulator, name) for name in SHOWN}
        market = tuple(store.market())
        example = next(((name, str(row["ref"])) for name in SHOWN for row in store.records(name)), None)
    pages = sum(latest.total(name, "pages") for name in SHOWN)
    return Outcome(portals, market, pages, latest.seconds, workers, example)

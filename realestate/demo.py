"""The demo: a whole crawl of simulated portals, and the proof that what is stored is the truth.

The rooms that know the portals and the store are imported where they are used: meanwhile the services start.
"""

import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from subprocess import Popen
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.request import ProxyHandler, build_opener

import msgspec
from redis import Redis

from realestate import embedded, environment
from realestate.embedded import children
from realestate.items import FIELDS, OURS
from realestate.jobs import local

if TYPE_CHECKING:
    from realestate.storage import Store
    from realestate.storage.store import MarketRow

#: What a portal tells: the truth and the store must agree on it.
COMPARED = tuple(name for name in FIELDS if name not in OURS)
#: Those the demo is about; others prove that a new portal is a small file, and would only make it longer.
SHOWN = ("bina", "emlak", "immoweb", "lalafo", "tap")
#: Where in its folder the services are.
SERVICES = "services"
#: Long enough for a big world on a busy machine.
SIMULATOR_SECONDS = 60.0
Show = Callable[[local.Progress], None]
_JSON = msgspec.json.Encoder(decimal_format="number")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT")


@dataclass(frozen=True)
class Comparison:
    """What is stored of one portal beside what its simulator knows to be true."""

    expected: int
    stored: int
    quarantined: int
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    wrong: tuple[str, ...]
    """`ref.field: stored, not true`."""
    duplicates: int

    @property
    def right(self) -> bool:
        return not (self.missing or self.unexpected or self.wrong or self.duplicates)


@dataclass(frozen=True)
class Outcome:
    portals: Mapping[str, Comparison]
    market: "tuple[MarketRow, ...]"
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
def starting(*, listings: int, workers: int, seed: int) -> Iterator[Callable[[Show], Outcome]]:
    """In a folder of its own that is gone afterwards; the same code as in production runs in it.

    What the first listing needs is on its way at once, for each takes a second or two: PostgreSQL makes its folder, a
    worker imports what it is made of and then waits for the services by itself, and so does who goes on from here.
    """
    with (
        tempfile.TemporaryDirectory(prefix="realestate-demo-", ignore_cleanup_errors=True) as folder,
        embedded.starting(Path(folder, SERVICES)) as services,
        starting_simulator(Path(folder, "simulator.log"), listings, seed) as simulator,
    ):
        team = _Team(workers, _environment(simulator(), Path(folder)), Path(folder))
        try:
            team.grow_to(1)
            Thread(target=_wake, args=(simulator(),), daemon=True).start()
            yield partial(_run, services, simulator(), team)
        finally:
            team.stop()


def _wake(simulator: str) -> None:
    """A simulated country comes to be when it is first asked for, which takes a second; now nobody waits for it yet."""
    for name in SHOWN:
        with suppress(OSError), _asked(simulator, name) as answer:
            answer.read(1)


class _Team:
    """The workers of the demo."""

    def __init__(self, size: int, env: Mapping[str, str], home: Path) -> None:
        self.size, self.env, self.home = size, env, home
        self.running: list[Popen[bytes]] = []

    def grow_to(self, size: int) -> None:
        while (there := len(self.running)) < size:
            self.running += local.start_workers(SHOWN, 1, self.env, self.home, first=there + 1)

    def stop(self) -> None:
        children.stop(self.running, local.STOP_SECONDS)


def _run(services: Callable[[], embedded.Services], simulator: str, team: _Team, show: Show) -> Outcome:
    latest = _crawled(services(), simulator, team, show)
    team.stop()
    return _outcome(services(), simulator, latest, team.size)


def _environment(simulator: str, home: Path) -> Mapping[str, str]:
    """Of a worker that knows no other services than those of its home."""
    return environment.changed(
        **dict.fromkeys(environment.ADDRESSES, ""),
        REALESTATE_HOME=str(home / SERVICES),
        SIMULATOR_URL=simulator,
        PACE_RATE="0",
        no_proxy="127.0.0.1",
    )


def _crawled(services: embedded.Services, simulator: str, team: _Team, show: Show) -> local.Progress:
    from realestate.jobs.submit import submit
    from realestate.jobs.work import seed_urls
    from realestate.storage import open_store

    with closing(open_store(services.store_url)) as store:
        store.migrate()  # once, while the worker is not there yet: each of its spiders would wait for the others
    latest = local.Progress()

    def watched(progress: local.Progress) -> None:
        nonlocal latest
        latest = progress
        show(progress)

    server = Redis.from_url(services.redis_url)
    for name in SHOWN:
        submit(server, name, seed_urls(name, simulator))
    team.grow_to(team.size)
    local.watch(server, SHOWN, team.running, watched, team.home)
    return latest


def _outcome(services: embedded.Services, simulator: str, latest: local.Progress, workers: int) -> Outcome:
    from realestate.storage import open_store

    with closing(open_store(services.store_url)) as store:
        portals = {name: compare_stored(store, simulator, name) for name in SHOWN}
        market = tuple(store.market())
    pages = sum(latest.total(name, "pages") for name in SHOWN)
    return Outcome(portals, market, pages, latest.seconds, workers)


@contextmanager
def simulator_process(log: Path, listings: int, seed: int, *options: str) -> Iterator[str]:
    """A simulator as a process of its own; its control address. `options` are further ones of `realestate simulate`."""
    with starting_simulator(log, listings, seed, *options) as address:
        yield address()


@contextmanager
def starting_simulator(log: Path, listings: int, seed: int, *options: str) -> Iterator[Callable[[], str]]:
    """One that need not be ready yet: whoever calls for its address waits for it."""
    world = ["--port", "0", "--listings", str(listings), "--seed", str(seed)]
    command = [sys.executable, "-m", "realestate", "simulate", *world, *options]
    process = children.spawn(command, env=environment.changed(), log=log)
    try:
        yield partial(_announced, process, log)
    finally:
        children.stop([process], SIMULATOR_SECONDS)


def _announced(process: Popen[bytes], log: Path) -> str:
    """The address the simulator prints when it is ready."""
    deadline = time.monotonic() + SIMULATOR_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if found := re.search(r"SIMULATOR_URL=(\S+)", log.read_text("utf-8") if log.exists() else ""):
            return found[1]
        time.sleep(0.05)
    raise OSError(f"the simulator did not start: {log.read_text('utf-8')[-500:] or 'it said nothing'}")


def truth_of(simulator: str, portal: str) -> list[dict[str, Any]]:
    """What a perfect crawl would store."""
    with _asked(simulator, portal) as answer:
        return [msgspec.json.decode(line) for line in answer.read().splitlines()]


def _asked(simulator: str, portal: str) -> Any:
    return build_opener(ProxyHandler({})).open(f"{simulator}/_truth/{portal}", timeout=60)


def compare_stored(store: "Store", simulator: str, portal: str) -> Comparison:
    _, quarantined = store.counts().get(portal, (0, 0))
    return compare(truth_of(simulator, portal), list(store.records(portal)), quarantined)


def compare(truth: list[dict[str, Any]], stored: list[dict[str, Any]], quarantined: int = 0) -> Comparison:
    expected, found = {row["ref"]: row for row in truth}, {row["ref"]: row for row in stored}
    wrong = [
        f"{ref}.{name}: {found[ref][name]!r}, not {row[name]!r}"
        for ref, row in expected.items()
        if ref in found
        for name in COMPARED
        if not _same(found[ref][name], row[name])
    ]
    return Comparison(
        expected=len(expected),
        stored=len(stored),
        quarantined=quarantined,
        missing=tuple(sorted(expected.keys() - found.keys())),
        unexpected=tuple(sorted(found.keys() - expected.keys())),
        wrong=tuple(wrong),
        # The key forbids two rows of one ref; the same advert under two refs would show as one address twice.
        duplicates=len(stored) - len({row["url"] for row in stored}),
    )


def _same(stored: Any, true: Any) -> bool:
    """Equal; moments written with different offsets are the same moment."""
    if stored == true:
        return True
    if isinstance(stored, str) and isinstance(true, str) and _MOMENT.match(stored) and _MOMENT.match(true):
        return datetime.fromisoformat(stored) == datetime.fromisoformat(true)
    return False

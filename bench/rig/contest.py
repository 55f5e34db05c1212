"""All crawlers against one adversary at the same time. Peers have twice the time that our crawl took."""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import Any

import msgspec
from redis import Redis

from bench import DoesNotCount
from bench.peers.rotating import RotatingTask
from bench.rig import verdict
from bench.rig.arena import PORTAL, Arena, Toll, arena
from bench.rig.database import Database
from bench.rig.verdict import Verdict
from realestate import environment
from realestate.embedded import children
from realestate.jobs import local
from realestate.jobs.submit import submit
from realestate.jobs.work import seed_urls
from realestate.queue.connection import connect_to
from realestate.queue.dead_letters import DeadLetters
from realestate.queue.request_queue import QueueSettings, RequestQueue

OURS = "ours"
SCRAPY = "Scrapy"
SCRAPY_REDIS = "scrapy-redis"
WORKERS = 2
#: Every crawler is stopped after this time and judged by what it has.
MOST_SECONDS = 900.0
#: Peers are stopped after this multiple of our time, and not before this number of seconds.
PEERS_TIMES = 2.0
PEERS_SECONDS = 60.0
STOP_SECONDS = 20.0
LOOK_SECONDS = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How the crawl of one crawler ended."""

    profile: str
    crawler: str
    verdict: Verdict
    toll: Toll
    pages: int
    """Pages that a perfect crawl needs."""
    seconds: float
    finished: bool

    @property
    def requests_a_page(self) -> float:
        return self.toll.requests / self.pages


class Contest:
    """The contest of one profile. `redis` are the addresses of two databases: ours, and that of scrapy-redis."""

    def __init__(self, profile: str, listings: int, folder: Path, database: Database, redis: tuple[str, str]) -> None:
        self.profile = profile
        self.listings = listings
        self.folder = folder
        self.database = database
        self.redis = redis

    def run(self, tell: Callable[[str], None]) -> list[Result]:
        with ExitStack() as stack:
            peers = [self._start(stack, SCRAPY, ""), self._start(stack, SCRAPY_REDIS, self.redis[1])]
            began = time.monotonic()
            ours = self._ours(tell, peers)
            deadline = began + max(PEERS_SECONDS, PEERS_TIMES * ours.seconds)
            while time.monotonic() < deadline and sum(peer.is_running() for peer in peers):
                time.sleep(LOOK_SECONDS)
            return [*(self._stopped(peer) for peer in peers), ours]

    def _ours(self, tell: Callable[[str], None], peers: Sequence["_Peer"]) -> Result:
        """Crawl with `realestate crawl` and the shipped settings. The overrides are printed."""
        folder = self._folder(OURS)
        with arena(folder, self.profile, self.listings) as found:
            overrides = {
                "REALESTATE_HOME": str(folder / "home"),
                "REDIS_URL": self.redis[0],
                "STORE_URL": self.database.url,
                "SIMULATOR_URL": found.simulator,
                "PROXIES": ",".join(found.proxies),
                "IDENTITY": "rotate",
                "no_proxy": "127.0.0.1",
            }
            tell(" ".join(f"{name}={value}" for name, value in overrides.items()))
            seconds, finished = self._crawl(found, overrides, folder, peers)
            judged = self._judged(found)
            return self._result(OURS, found, judged, seconds, finished)

    def _crawl(
        self, found: Arena, overrides: dict[str, str], folder: Path, peers: Sequence["_Peer"]
    ) -> tuple[float, bool]:
        """Return how long the crawl took, and whether it finished."""
        latest = local.Progress()

        def watched(progress: local.Progress) -> None:
            nonlocal latest
            latest = progress
            for peer in peers:
                peer.is_running()
            if progress.seconds > MOST_SECONDS:
                raise _TooLong

        with Redis.from_url(self.redis[0]) as server:
            submit(server, PORTAL, seed_urls(PORTAL, found.simulator))
            running = local.start_workers([PORTAL], WORKERS, environment.changed(**overrides), folder)
            try:
                local.watch(server, [PORTAL], running, watched, folder)
            except _TooLong:
                return latest.seconds, False
            except local.WorkerDied as error:
                raise DoesNotCount(f"{self.profile}: {error}") from error
            finally:
                children.stop(running, local.STOP_SECONDS)
        return latest.seconds, True

    def _judged(self, found: Arena) -> Verdict:
        stored = list(self.database.store.records(PORTAL))
        return verdict.of_stored(found.truth, stored, asyncio.run(_dead(self.redis[0])))

    def _stopped(self, peer: "_Peer") -> Result:
        finished = not peer.is_running()
        children.stop([peer.process], STOP_SECONDS)
        return self._result(peer.name, peer.found, peer.judged(), peer.seconds, finished)

    def _start(self, stack: ExitStack, name: str, redis_url: str) -> "_Peer":
        folder = self._folder(name)
        found = stack.enter_context(arena(folder, self.profile, self.listings))
        peer = _Peer(name, found, folder, redis_url)
        stack.callback(children.stop, [peer.process], STOP_SECONDS)
        return peer

    def _result(self, crawler: str, found: Arena, judged: Verdict, seconds: float, finished: bool) -> Result:
        return Result(
            profile=self.profile,
            crawler=crawler,
            verdict=judged,
            toll=found.toll(),
            pages=found.pages,
            seconds=seconds,
            finished=finished,
        )

    def _folder(self, crawler: str) -> Path:
        folder = self.folder / self.profile / crawler
        folder.mkdir(parents=True)
        return folder


class _TooLong(Exception):
    """The crawl has taken more than MOST_SECONDS."""


class _Peer:
    """The running process of a peer."""

    def __init__(self, name: str, found: Arena, folder: Path, redis_url: str) -> None:
        self.name = name
        self.found = found
        self._records = folder / "records.jsonl"
        task = RotatingTask(
            portal=PORTAL,
            base=found.base,
            refs=str(folder / "refs.json"),
            redis_url=redis_url,
            store_url="",
            proxies=found.proxies,
            records=str(self._records),
        )
        command = [sys.executable, "-m", "bench.peers.rotating", msgspec.json.encode(task).decode()]
        self._began = time.monotonic()
        self.seconds = 0.0
        self._has_ended = False
        self.process: Popen[bytes] = children.spawn(command, env=environment.changed(), log=folder / "log")

    def is_running(self) -> bool:
        """Must be called now and then: that is how the end of the process is noticed."""
        if not self._has_ended:
            self.seconds = time.monotonic() - self._began
            self._has_ended = self.process.poll() is not None
        return not self._has_ended

    def judged(self) -> Verdict:
        return verdict.of_read(self.found.truth, list(_lines(self._records)))


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    """The records of the file. A peer that was stopped may leave half a line at the end."""
    for line in file.read_bytes().splitlines(keepends=True) if file.exists() else ():
        if line.endswith(b"\n"):
            yield msgspec.json.decode(line)


async def _dead(redis_url: str) -> list[str]:
    """The addresses of all dead letters."""
    server = connect_to(redis_url)
    try:
        queue = RequestQueue(server, PORTAL, QueueSettings())
        return [str(each.details.get("url")) for each in await DeadLetters(queue).newest(sys.maxsize)]
    finally:
        await server.aclose()

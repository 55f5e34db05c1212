"""Simulators and workers as processes, with an empty Redis and an empty PostgreSQL database for each test."""

import asyncio
import functools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import psutil
import pytest
from redis import Redis

from realestate import embedded
from realestate.demo.simulators import simulator_process
from realestate.demo.truth import Comparison, compare
from realestate.jobs.fleet import look
from realestate.queue import keys
from realestate.queue.connection import connect_to
from realestate.queue.dead_letters import DeadLetters
from realestate.queue.request_queue import QueueSettings, RequestQueue
from realestate.storage import Store, open_store

ROOT = Path(__file__).parents[2]
PYTHON = sys.executable
#: Nothing takes this long unless it is broken, even on a busy machine.
PATIENCE = 120.0


def crowding() -> float:
    """Processes per processor: on a busy machine everything takes this much longer."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def until(true: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
    """Wait until the condition is true and return its value. The test fails after `patience` seconds, or twice as many
    on a busy machine."""
    began = time.monotonic()
    while time.monotonic() - began < patience * min(crowding(), 2.0):
        if value := true():
            return value
        time.sleep(0.05)
    pytest.fail(f"still waiting for {what}")


class Simulated:
    """A running simulator, as a test sees it. What it counted before this test is not counted."""

    def __init__(self, url: str, *, shared: bool = False) -> None:
        self.url = url
        self.shared = shared
        self.portals: dict[str, str] = self._json("/_portals")
        self._before: dict[str, Any] = self._json("/_stats")

    def truth(self, portal: str) -> list[dict[str, Any]]:
        with urlopen(f"{self.url}/_truth/{portal}", timeout=60) as response:
            return [json.loads(line) for line in response.read().splitlines()]

    def events(self, portal: str) -> list[dict[str, Any]]:
        """What a perfect crawler that crawls once a day would have recorded."""
        with urlopen(f"{self.url}/_truth/{portal}/events", timeout=60) as response:
            return [json.loads(line) for line in response.read().splitlines()]

    def weather(self, portal: str, kind: str) -> None:
        self._post(f"/_weather/{portal}", {"kind": kind})

    def latency(self, portal: str, seconds: float) -> None:
        self._post(f"/_latency/{portal}", {"seconds": seconds})

    def advance(self) -> None:
        """Let a day pass."""
        self._post("/_day/advance")

    def requests(self, portal: str) -> int:
        return int(self._json("/_stats")[portal]["requests"] - self._before[portal]["requests"])

    def by_kind(self, portal: str) -> Counter[str]:
        """Requests by the kind of page."""
        return self._counted(portal, "by_kind")

    def by_status(self, portal: str) -> Counter[str]:
        """Requests by the status of the response."""
        return self._counted(portal, "by_status")

    def _counted(self, portal: str, name: str) -> Counter[str]:
        return Counter(self._json("/_stats")[portal][name]) - Counter(self._before[portal][name])

    def _json(self, path: str) -> Any:
        with urlopen(self.url + path, timeout=60) as response:
            return json.load(response)

    def _post(self, path: str, data: dict[str, Any] | None = None) -> None:
        assert not self.shared, "other tests use this simulator too: start one with `simulate_alone`"
        body = json.dumps(data).encode() if data else None
        with urlopen(Request(self.url + path, body, method="POST"), timeout=60) as response:
            assert response.status == 200


Simulate = Callable[[int], Simulated]


@pytest.fixture(scope="session")
def shared_simulators(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[int], str]]:
    """The address of a simulator with this many listings. It is started once for all tests."""
    folder = tmp_path_factory.mktemp("simulators")
    with ExitStack() as running:

        @functools.cache
        def start(listings: int) -> str:
            return running.enter_context(simulator_process(folder / f"{listings}.log", listings, 7))

        yield start


@pytest.fixture
def simulate(shared_simulators: Callable[[int], str]) -> Simulate:
    """A simulator that other tests use too: its day, weather and latency stay as they are."""
    return lambda listings: Simulated(shared_simulators(listings), shared=True)


@pytest.fixture
def simulate_alone(tmp_path: Path) -> Iterator[Simulate]:
    """A simulator only for this test."""
    with ExitStack() as running:
        yield lambda listings: Simulated(
            running.enter_context(simulator_process(tmp_path / "simulator.log", listings, 7))
        )


@pytest.fixture(scope="session")
def prepared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose embedded services ran once: its database has all tables and no rows."""
    folder = tmp_path_factory.mktemp("prepared") / "home"
    folder.mkdir()
    with embedded.services(folder) as services:
        store = open_store(services.store_url)
        store.migrate()
        store.close()
    until(lambda: embedded.running(folder) is None, "the embedded services to stop")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder for the data of one person; nothing is in it yet."""
    return tmp_path / "home"


@pytest.fixture
def laptop(home: Path) -> dict[str, str]:
    """An environment in which only the folder for data is configured."""
    ours = ("REDIS_", "STORE_", "POSTGRES_", "MONGODB_", "SIMULATOR_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "REALESTATE_HOME": str(home)}


@pytest.fixture
def used_laptop(laptop: dict[str, str], home: Path, prepared_home: Path) -> dict[str, str]:
    """The same where a database exists: to create one takes longer than most of these crawls."""
    subprocess.run(["cp", "-a", str(prepared_home), str(home)], check=True)  # it keeps the owners, too
    return laptop


@pytest.fixture
def busy_laptop(used_laptop: dict[str, str], home: Path) -> Iterator[dict[str, str]]:
    """The same while something else uses the embedded services: no command has to start and stop them."""
    with embedded.services(home):
        yield used_laptop


def worker_environment(redis_url: str, store_url: str, folder: Path) -> dict[str, str]:
    """The environment of a worker: the addresses of Redis and the store, and the folder for local files."""
    ours = {
        "REDIS_URL": redis_url,
        "STORE_URL": store_url,
        "RETRY_DELAY_SECONDS": "0.1",
        "REALESTATE_HOME": str(folder / "home"),
        "LOG_LEVEL": "INFO",
        "STATS_DUMP": "ON",
    }
    return {**os.environ, **ours}


#: Nothing may depend on acceleration.
MODES = ("on", "off")
IN_BOTH_MODES = pytest.mark.parametrize("acceleration", MODES, ids="accelerate {}".format, indirect=True)
#: For tests that need not be shown twice in `make test`.
IN_BOTH_MODES_IF_SLOW = pytest.mark.parametrize(
    "acceleration", ["on", pytest.param("off", marks=pytest.mark.slow)], ids="accelerate {}".format, indirect=True
)


@pytest.fixture
def acceleration(request: pytest.FixtureRequest) -> str:
    """ACCELERATE of the workers: the test's parameter, else that of the environment."""
    return str(getattr(request, "param", os.environ.get("ACCELERATE", "on")))


@pytest.fixture
def env(redis_url: str, server: Redis, store_url: str, tmp_path: Path, acceleration: str) -> dict[str, str]:
    return {**worker_environment(redis_url, store_url, tmp_path), "ACCELERATE": acceleration}


#: What a log says about an error that nobody handled.
UNHANDLED = ("was never retrieved", "was never awaited", "Unhandled error in Deferred", "Task was destroyed")


class Worker:
    """A worker process and its log."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self.log = log

    def stop(self) -> int:
        """Send SIGTERM once, as an orchestrator does, and return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def suspend(self) -> None:
        """Stop all its processes, as a machine that sleeps does."""
        self._signal_all(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal_all(signal.SIGCONT)

    def limit_files(self, soft: int, hard: int) -> None:
        """How many files its processes may open. Only on Linux."""
        for each in self._processes():
            each.rlimit(psutil.RLIMIT_NOFILE, (soft, hard))

    def _signal_all(self, number: signal.Signals) -> None:
        for each in self._processes():
            each.send_signal(number)

    def _processes(self) -> list[psutil.Process]:
        """The process that was started, and the worker below it."""
        started = psutil.Process(self.process.pid)
        return [started, *started.children(recursive=True)]

    def text(self) -> str:
        return self.log.read_text("utf-8")

    def stats(self) -> dict[str, int]:
        """The counts among the statistics that Scrapy logs at the end."""
        dumped = self.text().partition("Dumping Scrapy stats")[2]
        return {name: int(value) for name, value in re.findall(r"'([^']+)': (\d+)[,}]", dumped)}


@contextmanager
def running(command: list[str], env: Mapping[str, str], log: Path) -> Iterator[Worker]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=env, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT)
    try:
        yield Worker(process, log)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    text = log.read_text("utf-8", "replace")
    assert [words for words in UNHANDLED if words in text] == []


def finished(server: Redis, *portals: str, patience: float = PATIENCE) -> None:
    what = f"the end of {', '.join(portals)}"
    until(lambda: all(look(server, portal).finished for portal in portals), what, patience)


def dead_letters(redis_url: str, portal: str) -> list[dict[str, Any]]:
    """The portal's dead letters, newest first."""

    async def read() -> list[dict[str, Any]]:
        server = connect_to(redis_url)
        queue = RequestQueue(server, portal, QueueSettings())
        found = [letter.details for letter in await DeadLetters(queue).newest(1000)]
        await server.aclose()
        return found

    return asyncio.run(read())


def compared(store: Store, simulated: Simulated, portal: str) -> Comparison:
    return compare(simulated.truth(portal), list(store.records(portal)))


Fleet = Callable[..., Any]


@pytest.fixture
def fleet(site: Any, env: dict[str, str], server: Redis, store: Store, tmp_path: Path) -> Fleet:
    """Start this many workers of immoweb on the test's own `site`. All have sent a heartbeat; none has work yet."""

    @contextmanager
    def start(count: int, rate: float = 0, redis: str | None = None, **settings: float) -> Iterator[list[Worker]]:
        changes = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
        command = [PYTHON, "-m", "scrapy", "crawl", "immoweb", *changes]
        variables = {**env, "SIMULATOR_URL": site.url, "RATE_LIMIT": str(rate), "REDIS_URL": redis or env["REDIS_URL"]}
        with ExitStack() as stack, Redis.from_url(variables["REDIS_URL"]) as client:
            started = [running(command, variables, tmp_path / f"{number}.log") for number in range(count)]
            workers = [stack.enter_context(each) for each in started]
            until(lambda: client.hlen(keys.heartbeats("immoweb")) == count, f"{count} workers")
            yield workers

    return start

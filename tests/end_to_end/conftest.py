"""A simulator and workers as processes of their own, on the test's own Redis database and PostgreSQL database."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from redis import Redis

from realestate.demo.simulators import simulator_process
from realestate.demo.truth import Comparison, compare
from realestate.jobs.fleet import look
from realestate.queue import keys
from realestate.queue.connection import connect_to
from realestate.queue.deadletters import DeadLetters
from realestate.queue.request_queue import QueueSettings, RequestQueue
from realestate.storage import Store

ROOT = Path(__file__).parents[2]
PYTHON = sys.executable
#: Nothing here waits so long unless it is broken; a busy machine is slow.
PATIENCE = 120.0


def until(true: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
    """Wait for something to become true, not for a time to pass."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if value := true():
            return value
        time.sleep(0.05)
    pytest.fail(f"still waiting for {what}")


class Simulated:
    """A running simulator, as a test sees it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.portals: dict[str, str] = self._json("/_portals")

    def truth(self, portal: str) -> list[dict[str, Any]]:
        with urlopen(f"{self.url}/_truth/{portal}", timeout=60) as answer:
            return [json.loads(line) for line in answer.read().splitlines()]

    def events(self, portal: str) -> list[dict[str, Any]]:
        """What a perfect crawler, looking once a day, would have recorded."""
        with urlopen(f"{self.url}/_truth/{portal}/events", timeout=60) as answer:
            return [json.loads(line) for line in answer.read().splitlines()]

    def weather(self, portal: str, kind: str) -> None:
        told = json.dumps({"kind": kind}).encode()
        with urlopen(Request(f"{self.url}/_weather/{portal}", told, method="POST"), timeout=60) as answer:
            assert answer.status == 200

    def latency(self, portal: str, seconds: float) -> None:
        told = json.dumps({"seconds": seconds}).encode()
        with urlopen(Request(f"{self.url}/_latency/{portal}", told, method="POST"), timeout=60) as answer:
            assert answer.status == 200

    def requests(self, portal: str) -> int:
        return int(self._json("/_stats")[portal]["requests"])

    def advance(self) -> None:
        with urlopen(Request(f"{self.url}/_day/advance", method="POST"), timeout=60) as answer:
            assert answer.status == 200

    def _json(self, path: str) -> Any:
        with urlopen(self.url + path, timeout=60) as answer:
            return json.load(answer)


@pytest.fixture
def simulate(tmp_path: Path) -> Iterator[Callable[[int], Simulated]]:
    with ExitStack() as running:
        yield lambda listings: Simulated(
            running.enter_context(simulator_process(tmp_path / "simulator.log", listings, 7))
        )


@pytest.fixture
def env(redis_url: str, server: Redis, store_url: str, tmp_path: Path) -> dict[str, str]:
    """For processes: where Redis and the store are, and where to leave what is kept on this machine."""
    services = {"REDIS_URL": redis_url, "STORE_URL": store_url, "RETRY_DELAY_SECONDS": "0.1"}
    return {**os.environ, **services, "REALESTATE_HOME": str(tmp_path / "home"), "LOG_LEVEL": "INFO"}


class Worker:
    """A worker process and its log."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self.log = log

    def stop(self) -> int:
        """As an orchestrator would: SIGTERM, once."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def text(self) -> str:
        return self.log.read_text("utf-8")


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


def finished(server: Redis, *portals: str, patience: float = PATIENCE) -> None:
    what = f"the end of {', '.join(portals)}"
    until(lambda: all(look(server, portal).finished for portal in portals), what, patience)


def letters(redis_url: str, portal: str) -> list[dict[str, Any]]:
    """The portal's dead letters, newest first."""

    async def read() -> list[dict[str, Any]]:
        server = connect_to(redis_url)
        queue = RequestQueue(server, portal, QueueSettings())
        found = [letter.told for letter in await DeadLetters(queue).newest(1000)]
        await server.aclose()
        return found

    return asyncio.run(read())


def compared(store: Store, simulated: Simulated, portal: str) -> Comparison:
    return compare(simulated.truth(portal), list(store.records(portal)))


Fleet = Callable[..., Any]


@pytest.fixture
def fleet(site: Any, env: dict[str, str], server: Redis, store: Store, tmp_path: Path) -> Fleet:
    """So many workers of immoweb at the test's own `site`, all of them heard of and none with anything to do."""

    @contextmanager
    def start(count: int, rate: float = 0, redis: str | None = None, **settings: float) -> Iterator[list[Worker]]:
        changes = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
        command = [PYTHON, "-m", "scrapy", "crawl", "immoweb", *changes]
        variables = {**env, "SIMULATOR_URL": site.url, "RATE_LIMIT": str(rate), "REDIS_URL": redis or env["REDIS_URL"]}
        with ExitStack() as stack, Redis.from_url(variables["REDIS_URL"]) as client:
            started = [running(command, variables, tmp_path / f"{number}.log") for number in range(count)]
            workers = [stack.enter_context(each) for each in started]
            until(lambda: client.hlen(keys.beats("immoweb")) == count, f"{count} workers")
            yield workers

    return start

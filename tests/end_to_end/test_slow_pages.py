"""A page that never ends: it becomes a dead letter, everything else is stored, and the worker can be stopped."""

import os
import signal
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from redis import Redis

from realestate.jobs.fleet import look
from realestate.queue import keys
from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import (
    IN_BOTH_MODES_IF_SLOW,
    PYTHON,
    Simulate,
    Simulated,
    Worker,
    dead_letters,
    finished,
    running,
    until,
)

PORTAL = "emlak"
LISTINGS = 60
BUDGET = "1"
#: They start their worker in the same way.
EITHER_COMMAND = pytest.mark.parametrize("command", ["work", pytest.param("crawl", marks=pytest.mark.slow)])


class Crawl:
    """A simulated emlak with one listing that the worker is stuck in."""

    def __init__(self, simulated: Simulated, env: dict[str, str], server: Redis, folder: Path) -> None:
        self.simulated = simulated
        self.env = {**env, "SIMULATOR_URL": simulated.url, "PAGE_CPU_SECONDS": BUDGET}
        self.server = server
        self.folder = folder
        self.refs = sorted(str(each["ref"]) for each in simulated.truth(PORTAL))
        self.slow = self.refs[LISTINGS // 2]
        self.started = 0

    def seed(self) -> None:
        self.server.lpush(f"{PORTAL}:start_urls", f"{self.simulated.portals[PORTAL]}/elanlar/?ann_type=3&page=1")

    def worker(self, how: str, command: str = "work", **changes: float) -> AbstractContextManager[Worker]:
        settings = [f"{name}={value}" for name, value in changes.items()]
        program = [PYTHON, "-m", "tests.end_to_end.slow_worker", how, self.slow, command, *settings]
        self.started += 1
        return running(program, self.env, self.folder / f"{self.started}.log")

    def is_stuck(self) -> bool:
        """The slow page was fetched, and no other is left but what the stuck worker holds."""
        return self.simulated.by_kind(PORTAL)["listing"] > LISTINGS // 2

    def check(self, store: PostgresStore) -> None:
        """Exactly the slow listing is missing, and it is the only dead letter. Nothing else was blamed."""
        letters = dead_letters(self.env["REDIS_URL"], PORTAL)
        assert [letter["reason"] for letter in letters] == ["too_slow"], letters
        assert f"/{self.slow}-" in letters[0]["url"]
        assert sorted(record["ref"] for record in store.records(PORTAL)) == [
            ref for ref in self.refs if ref != self.slow
        ]
        for name in ("leases", "inflight", "suspects", "crashes"):
            assert not self.server.exists(keys.prefix(PORTAL) + name), name
        assert not list(self.server.scan_iter(f"{{{PORTAL}}}:held:*"))


@pytest.fixture
def crawl(simulate: Simulate, env: dict[str, str], server: Redis, tmp_path: Path) -> Crawl:
    return Crawl(simulate(LISTINGS), env, server, tmp_path)


#: The path of a page and of its items differs between the modes; the parent process does not.


@IN_BOTH_MODES_IF_SLOW
@pytest.mark.parametrize("how", ["re", "python", "pipeline: re"])
def test_a_page_that_python_can_interrupt_is_abandoned_and_the_worker_goes_on(
    crawl: Crawl, how: str, server: Redis, store: PostgresStore
) -> None:
    crawl.seed()
    with crawl.worker(how) as worker:
        finished(server, PORTAL)
        assert worker.stop() == 0
    crawl.check(store)
    assert worker.text().count("queue/too_slow") == 1
    assert "started again" not in worker.text(), "the same worker goes on"
    assert worker.stats()["queue/dead/too_slow"] == 1


@IN_BOTH_MODES_IF_SLOW
@pytest.mark.parametrize(("how", "command"), [("c", "work"), ("pipeline: c", "crawl"), ("catches everything", "work")])
def test_a_worker_that_is_stuck_in_a_page_is_started_again(
    crawl: Crawl, how: str, command: str, server: Redis, store: PostgresStore
) -> None:
    crawl.seed()
    # The lease is shorter than the time until the worker is killed: its parent sends its heartbeats.
    with crawl.worker(how, command, LEASE_SECONDS=2.0) as worker:
        finished(server, PORTAL)
        assert worker.stop() == 0
    crawl.check(store)
    assert "the worker is started again" in worker.text()


def test_the_other_workers_of_a_fleet_are_not_disturbed(crawl: Crawl, server: Redis, store: PostgresStore) -> None:
    crawl.seed()
    with crawl.worker("c", LEASE_SECONDS=2.0) as one, crawl.worker("c", "crawl", LEASE_SECONDS=2.0) as two:
        finished(server, PORTAL)
        assert (one.stop(), two.stop()) == (0, 0)
    crawl.check(store)
    assert sum(each.text().count("the worker is started again") for each in (one, two)) == 1, "one worker had the page"


def test_a_page_that_waits_for_ever_with_the_interpreter_lock_is_ended_too(
    crawl: Crawl, server: Redis, store: PostgresStore
) -> None:
    crawl.env["PAGE_CPU_SECONDS"] = "0.4"
    crawl.seed()
    with crawl.worker("asleep", LEASE_SECONDS=2.0) as worker:
        finished(server, PORTAL)
        assert worker.stop() == 0
    crawl.check(store)
    (letter,) = dead_letters(crawl.env["REDIS_URL"], PORTAL)
    assert "kept the worker from everything else" in letter["error"]


@EITHER_COMMAND
def test_sigterm_ends_a_worker_that_is_stuck(crawl: Crawl, command: str, server: Redis) -> None:
    crawl.seed()
    with crawl.worker("asleep", command) as worker:
        until(crawl.is_stuck, "the slow page")
        time.sleep(0.5)
        assert worker.stop() == 0
    assert look(server, PORTAL).workers == {}
    assert look(server, PORTAL).in_flight == 0, "what it held is ready again"


@EITHER_COMMAND
def test_a_worker_dies_with_its_parent(crawl: Crawl, command: str, server: Redis) -> None:
    with crawl.worker("re", command) as worker:
        until(lambda: look(server, PORTAL).workers, "a worker")
        (child,) = _children(worker.process.pid)
        os.kill(worker.process.pid, signal.SIGKILL)
        worker.process.wait()
        until(lambda: not Path(f"/proc/{child}").exists(), "the end of the child", 10)


@EITHER_COMMAND
def test_a_worker_that_dies_is_not_started_again(crawl: Crawl, command: str, server: Redis) -> None:
    """A segmentation fault or the lack of memory is not a slow page. Whoever started the worker sees how it ended."""
    with crawl.worker("re", command) as worker:
        until(lambda: look(server, PORTAL).workers, "a worker")
        (child,) = _children(worker.process.pid)
        os.kill(child, signal.SIGSEGV)
        assert worker.process.wait(30) == -signal.SIGSEGV


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()]

"""A crawl of a small simulated portal that takes some seconds, so that a test can disturb it in the middle."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

from realestate.jobs.fleet import look
from realestate.queue import keys
from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import PYTHON, Simulated, Worker, compared, running, until

PORTAL = "emlak"
WORK = (PYTHON, "-m", "realestate", "work", PORTAL)
LISTINGS = 120
#: An outage of this length is longer than the short lease of the workers.
SHORT_OUTAGE = 6.0
SHORT_LEASE = "LEASE_SECONDS=3"
#: Requests per second. A crawl of all listings takes some seconds: time enough to disturb it in the middle.
RATE = "40"


def worker_with(*changes: str) -> list[str]:
    """The command of a worker with other settings or constants, `NAME=number`."""
    return [PYTHON, "-m", "tests.end_to_end.changed_worker", PORTAL, *changes]


class Site:
    """The simulated portal, and what a worker needs to crawl it."""

    def __init__(self, simulated: Simulated, store: PostgresStore, env: dict[str, str], folder: Path) -> None:
        self.simulated = simulated
        self.store = store
        self.env = {**env, "SIMULATOR_URL": simulated.url, "RATE_LIMIT": RATE}
        self.folder = folder

    @contextmanager
    def workers(self, count: int, command: Sequence[str] = WORK, **env: str) -> Iterator[list[Worker]]:
        with ExitStack() as stack:
            yield [
                stack.enter_context(running([*command], {**self.env, **env}, self.folder / f"worker-{number}.log"))
                for number in range(count)
            ]

    def seed(self, server: "Redis") -> None:
        server.lpush(keys.start_urls(PORTAL), f"{self.simulated.portals[PORTAL]}/elanlar/?ann_type=3&page=1")

    def requests(self) -> int:
        return self.simulated.requests(PORTAL)

    def listings_asked_for(self) -> int:
        return self.simulated.by_kind(PORTAL)["listing"]

    def until_the_middle(self, server: "Redis", after: int = LISTINGS // 4) -> None:
        until(lambda: self.requests() > after, "the middle of the crawl")
        assert not look(server, PORTAL).finished

    def assert_stored_once(self) -> None:
        comparison = compared(self.store, self.simulated, PORTAL)
        assert comparison.expected == LISTINGS
        assert comparison.right, (comparison.missing, comparison.unexpected, comparison.wrong[:5])


def until_finished(server: "Redis") -> None:
    until(lambda: _finished(server), f"the end of {PORTAL}")


def _finished(server: "Redis") -> bool:
    try:
        return look(server, PORTAL).finished
    except RedisError:
        return False


def assert_all_live_and_stop(workers: list[Worker]) -> None:
    assert [worker.process.poll() for worker in workers] == [None] * len(workers), "no worker exits"
    assert [worker.stop() for worker in workers] == [0] * len(workers)
    for worker in workers:
        assert "ERROR" not in worker.text()
        assert "Traceback" not in worker.text()

"""A day of operation in some minutes: timetable, workers, alerts and reports, while things go wrong.

The timetable fires, workers go from 1 to 4 and back, one is killed, one portal changes its layout, one blocks for an
hour, Redis restarts. Every expected alert arrives once, with its recovery, and no other. At the end the store has the
truth.
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from realestate.jobs import scaling
from realestate.jobs.fleet import look
from realestate.jobs.load import read_load
from realestate.jobs.manage import JobDesk
from realestate.jobs.scaling import Scaler
from realestate.jobs.supervise import WorkerPool
from realestate.jobs.timetable.entries import parse_timetable
from realestate.jobs.timetable.runner import Runner
from realestate.monitoring.alerts import Alerts, open_alerts
from realestate.monitoring.channels import Channels
from realestate.monitoring.delivery import Sender
from realestate.monitoring.fleet_metrics import FleetReader
from realestate.monitoring.reports import report_day, report_jobs
from realestate.monitoring.rules import Evaluator, rules
from realestate.queue.redis_client import REDIS_ERRORS
from realestate.storage import FullStore, open_store
from tests.end_to_end.conftest import Simulate, Simulated, compared, until, worker_environment
from tests.monitoring.receiver import Receiver, receiving
from tests.redis_process import RedisProcess

PORTALS = ("emlak", "immoweb")
LISTINGS = 700
#: The clock of the day advances by this much each time that the timetable, `up` and `watch` look.
STEP = 120.0
BEGIN = datetime(2026, 11, 18, tzinfo=UTC)
#: What these say depends on the machine that runs the test.
OF_THE_MACHINE = ("disk_full", "memory_low", "load_high")
EXPECTED = {
    *(
        f"critical: emlak: far fewer listings than usual have a value of {field}: has the layout changed?"
        for field in ("city", "district", "street")
    ),
    "critical: immoweb: the site answers with ban pages, and the workers have stopped the portal.",
    "critical: Redis cannot be reached: no worker gets requests.",
}
#: How many ban pages come, and whether search pages are given up, depends on the times of the workers.
POSSIBLE = re.compile(
    r"critical: immoweb: \d+ ban pages in 15 minutes\."
    r"|warning: immoweb: the newest job did not read every search page, so it delists nothing\."
)
TIMETABLE = """
[[entry]]
name = "emlak"
cron = "0 1,7,13,19 * * *"
overlap = "queue"
submit = { portal = "emlak" }

[[entry]]
name = "immoweb"
cron = "0 1,10,16 * * *"
overlap = "queue"
submit = { portal = "immoweb" }
"""


class Day:
    """Everything that an operator runs, driven by the clock of the day."""

    def __init__(self, simulated: Simulated, redis: RedisProcess, store_url: str, folder: Path, to: Receiver) -> None:
        self.simulated = simulated
        self.redis = redis
        self.store: FullStore = open_store(store_url)
        self.store.migrate()
        self.server = Redis.from_url(redis.url)
        settings = {"SIMULATOR_URL": simulated.url, "BAN_PAUSE_SECONDS": "6", "RATE_LIMIT": "0"}
        env = {**worker_environment(redis.url, store_url, folder), **settings}
        self.pool = WorkerPool(PORTALS, env, folder / "logs")
        self.desk = JobDesk(self.store, self.server, simulated.url)
        self.runner = Runner(self.desk, lambda _: None)
        self.entries = parse_timetable(TIMETABLE, "timetable", simulated.url)
        self.scaler = Scaler(least=1, most=4)
        self.reader = FleetReader(
            lambda: PORTALS, look, lambda: Redis.from_url(redis.url), lambda: open_store(store_url), folder
        )
        self.evaluator = Evaluator([rule for rule in rules() if rule.name not in OF_THE_MACHINE])
        channels = Channels([to.url])
        self.alerts = Alerts(self.store, channels, self.evaluator.is_over)
        self.sender = Sender(self.store, channels)
        self.channels = channels
        self.receiver = to
        self.workers: list[int] = []
        self.seconds = 0.0
        """Since the day began."""

    @property
    def now(self) -> datetime:
        return BEGIN + timedelta(seconds=self.seconds)

    def start(self) -> None:
        """One worker runs before the day begins."""
        self.pool.resize(1)
        until(lambda: all(look(self.server, portal).workers for portal in PORTALS), "the first worker")
        self.runner.tick(self.entries, self.now)

    def tick(self) -> None:
        """What the timetable, `up` and `watch` do each time they look. While worker processes start, the clock of the
        day stands: on a busy machine that would take hours of it."""
        running = None
        try:
            self.runner.tick(self.entries, self.now)
            load, running = read_load(self.server, PORTALS)
            self.pool.resize(self.scaler.decide(load, len(self.pool.places), self.seconds).workers)
        except REDIS_ERRORS:
            self.runner.look_again()
        self.pool.look()
        if running is None or running >= len(self.pool.places):
            self.seconds += STEP
        if self.pool.living and self.workers[-1:] != [self.pool.living]:
            self.workers.append(self.pool.living)
        samples = self.reader.read()
        self.alerts.update(self.evaluator.evaluate(samples, self.seconds), self.now)
        report_jobs(self.store, self.channels, datetime.now(UTC))
        report_day(self.store, self.channels, samples, self.now)
        self.sender.send_due()
        time.sleep(0.2)

    def run_until(self, condition: Callable[[], Any], what: str, hours: float = 12) -> None:
        end = self.seconds + hours * 3600
        while not condition():
            assert self.seconds < end, f"still waiting for {what}: {self.titles()}"
            self.tick()

    def fires(self, beginning: str) -> bool:
        return any(each.key.startswith(beginning) for each in open_alerts(self.store))

    def jobs_ended(self, portal: str) -> int:
        return sum(each.ended_at is not None for each in self.store.orders(portal, 100))

    def kill_a_worker(self) -> None:
        process = self.pool.places[-1].process
        assert process is not None
        process.kill()
        process.wait()

    def titles(self) -> list[str]:
        return [each["title"] for each in self.receiver.accepted]

    def stop(self) -> None:
        self.pool.stop()
        self.reader.close()
        self.server.close()
        self.store.close()


@pytest.fixture
def day(simulate_alone: Simulate, store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Day]:
    monkeypatch.setattr(scaling, "HORIZON_SECONDS", 1.0)
    redis = RedisProcess(tmp_path)
    redis.start()
    with ExitStack() as stack:
        stack.callback(redis.stop)
        made = Day(simulate_alone(LISTINGS), redis, store_url, tmp_path, stack.enter_context(receiving()))
        stack.callback(made.stop)
        yield made


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_day_on_which_everything_happens(day: Day) -> None:
    simulated = day.simulated
    day.start()

    # 1 o'clock: everything is new. Workers are started, and one of them is killed.
    day.run_until(lambda: day.pool.living == 4, "four workers")
    until(lambda: len(look(day.server, "emlak").workers) >= 2, "workers at work")
    day.kill_a_worker()
    day.run_until(lambda: all(day.jobs_ended(portal) for portal in PORTALS), "the first jobs")

    # 7 o'clock: emlak has a new layout. It is repaired before the next job.
    simulated.weather("emlak", "new_layout")
    day.run_until(lambda: day.fires("field_vanished/emlak/"), "the alert of the vanished field")
    day.run_until(lambda: day.jobs_ended("emlak") == 2, "the second job of emlak")
    simulated.weather("emlak", "fine")

    # 10 o'clock: immoweb blocks us for an hour.
    simulated.weather("immoweb", "blocked")
    day.run_until(lambda: day.fires("portal_stopped/immoweb"), "the alert of the ban pages")
    hour = day.seconds + 3600
    day.run_until(lambda: day.seconds > hour, "an hour")
    simulated.weather("immoweb", "fine")

    # Redis restarts.
    day.redis.stop()
    day.run_until(lambda: day.fires("redis_unreachable"), "the alert of Redis")
    day.redis.start()

    day.run_until(lambda: day.seconds > 86_400, "the end of the day", hours=24)
    jobs = {"emlak": 4, "immoweb": 3}
    day.run_until(lambda: all(day.jobs_ended(portal) == jobs[portal] for portal in PORTALS), "all jobs")
    day.run_until(lambda: not open_alerts(day.store) and day.pool.living == 1, "calm")
    assert_the_day_is_told(day, jobs)


def assert_the_day_is_told(day: Day, jobs: dict[str, int]) -> None:
    titles = day.titles()
    assert set(Counter(titles).values()) == {1}, "each message comes once"
    alerts = {title for title in titles if title.startswith(("critical: ", "warning: "))}
    assert alerts == {title.removeprefix("over: ") for title in titles if title.startswith("over: ")}, "each is over"
    assert alerts >= EXPECTED
    assert [title for title in alerts - EXPECTED if not POSSIBLE.fullmatch(title)] == []
    assert sum(title.startswith(PORTALS) for title in titles) == sum(jobs.values()), "a report of each job"
    assert sum("the day until" in title for title in titles) >= 1
    assert (day.workers[0], max(day.workers), day.workers[-1]) == (1, 4, 1)
    for portal in PORTALS:
        found = compared(day.store, day.simulated, portal)
        assert found.right, found

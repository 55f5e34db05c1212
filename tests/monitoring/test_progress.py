"""What a worker logs about itself, with a passed clock."""

import logging
from typing import Any

import pytest
from scrapy.settings import Settings

from realestate import settings as project
from realestate.crawling import job_completion, seed_reader
from realestate.jobs.work import portals, project_settings
from realestate.monitoring.progress import IDLE_SECONDS, WorkerLog
from realestate.queue.outage import Outage

#: INFO lines that a healthy worker may write in an hour.
BUDGET = 100


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Stats:
    """The statistics of a portal that does some pages a minute."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}

    def get_stats(self) -> dict[str, int]:
        return self.values

    def crawl(self, pages: int) -> None:
        for name, count in (("response_received_count", pages), ("listing/stored", pages - 1), ("retry/count", 1)):
            self.values[name] = self.values.get(name, 0) + count
        self.values["queue/waiting"] = 900


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log(clock: Clock, caplog: pytest.LogCaptureFixture) -> WorkerLog:
    caplog.set_level(logging.INFO)
    return WorkerLog(clock)


def opened(log: WorkerLog, *names: str) -> dict[str, Any]:
    stats: dict[str, Any] = {name: Stats() for name in names}
    for name, each in stats.items():
        log.opened(name, each, Settings({"PROGRESS_SECONDS": 0}), None)
    return stats


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_the_start_says_how_the_worker_is_configured_without_passwords(
    log: WorkerLog, caplog: pytest.LogCaptureFixture
) -> None:
    settings = project_settings()
    settings.set("REDIS_URL", "redis://:geheim@redis:6379/0")
    settings.set("STORE_URL", "postgresql://realestate:geheim@db/realestate")
    settings.set("RATE_LIMIT", 1.0)
    settings.set("PROXIES", ("http://u:geheim@proxy:1", "http://u:geheim@proxy:2"))
    log.started(settings, {"immoweb": None, "emlak": 0.5})
    text = "\n".join(messages(caplog))
    assert len(caplog.records) == 10
    assert "geheim" not in text
    assert "worker/portals: 2: immoweb, emlak" in text
    assert "worker/redis: redis://***@redis:6379/0" in text
    assert "worker/store: postgresql://***@db/realestate" in text
    assert "worker/rate_limit: 1 request per second and site; lower: emlak 0.5" in text
    assert "worker/proxies: 2 in PROXIES" in text


def test_all_portals_are_in_one_line_with_what_was_done_since_the_last(
    log: WorkerLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    stats = opened(log, "immoweb", "emlak", "tap")
    caplog.clear()
    for _ in range(2):
        clock.now += 60
        stats["immoweb"].crawl(200)
        stats["emlak"].crawl(100)
        log.tick()
    assert (
        messages(caplog)
        == [
            "progress: 300 pages 298 listings 2 retries 1,800 queued in 60 s (5.0 pages/s):"
            " emlak 100 pages 99 listings 1 retries 900 queued, immoweb 200 pages 199 listings 1 retries 900 queued"
        ]
        * 2
    )


def test_a_worker_without_work_says_so_rarely(log: WorkerLog, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    opened(log, "immoweb", "emlak")
    caplog.clear()
    for _ in range(int(2 * IDLE_SECONDS / 60)):
        clock.now += 60
        log.tick()
    assert messages(caplog) == ["progress: nothing to do for 2 portals"] * 2


def test_the_end_has_the_totals_also_of_portals_that_were_closed(
    log: WorkerLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    stats = opened(log, "immoweb", "emlak")
    stats["immoweb"].crawl(10)
    stats["emlak"].crawl(10)
    log.closed("immoweb", "store_failed")
    log.closed("emlak", "shutdown")
    clock.now = 30
    log.stopped()
    closed, end = messages(caplog)[-2:]
    assert closed == "portal/closed: portal=immoweb reason=store_failed: its crawl ended"
    assert end == "worker/stopped: 20 pages 18 listings 2 retries in 30 s"


def test_an_hour_of_healthy_crawling_with_one_outage_is_within_the_budget(
    log: WorkerLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """All portals in one worker, a job for each, and Redis away for 15 seconds."""
    names = portals()
    redis = Outage("Redis", "queue/redis_away", "queue/redis_back", clock)
    log.started(project_settings(), dict.fromkeys(names))
    stats = opened(log, *names)
    for name in names:
        seed_reader.logger.info("job/opened portal=%s", name)
    for second in range(3600):
        clock.now += 1
        if 600 <= second < 615:
            for _ in names:
                redis.failed("taking", "refused", 2)
        else:
            redis.succeeded(clock.now)
        for each in stats.values():
            each.crawl(1)
        if clock.now % project.PROGRESS_SECONDS == 0:
            log.tick()
    for name in names:
        job_completion.logger.info("job/concluded portal=%s", name)
    log.stopped()
    lines = [record for record in caplog.records if record.levelno >= logging.INFO]
    assert 3600 / project.PROGRESS_SECONDS < len(lines) <= BUDGET

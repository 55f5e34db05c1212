"""A portal that failed is started again while others are served; the last one that fails ends the process."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler

from realestate.jobs import finish_reasons
from realestate.jobs.finish_reasons import PortalCrawls, ended_well, finish_reason_of


class FakeProcess:
    """Crawls end when the test says so."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.ends: dict[str, asyncio.Future[None]] = {}
        self.crawlers: dict[str, Any] = {}

    def create_crawler(self, portal: str) -> Any:
        values: dict[str, str] = {}
        return SimpleNamespace(
            portal=portal, values=values, stats=SimpleNamespace(get_value=values.get, get_stats=lambda: values)
        )

    def crawl(self, crawler: Any) -> Any:
        self.started.append(crawler.portal)
        self.crawlers[crawler.portal] = crawler
        self.ends[crawler.portal] = asyncio.get_running_loop().create_future()
        return self.ends[crawler.portal]

    def end(self, portal: str, reason: str | Exception) -> None:
        if isinstance(reason, Exception):
            self.ends[portal].set_exception(reason)
        else:
            self.crawlers[portal].values["finish_reason"] = reason
            self.ends[portal].set_result(None)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("reason", ["start_error", OSError("no engine")], ids=str)
def test_a_portal_that_failed_is_started_again(monkeypatch: pytest.MonkeyPatch, reason: Any) -> None:
    monkeypatch.setattr(finish_reasons, "FIRST_RESTART_SECONDS", 0.01)

    async def act() -> None:
        process: Any = FakeProcess()
        crawls = PortalCrawls(process)
        crawls.start("a")
        crawls.start("b")
        process.end("a", reason)
        await until(lambda: process.started == ["a", "b", "a"])
        assert crawls.failed == {"a"}
        process.end("a", "shutdown")
        process.end("b", "finished")
        await until(lambda: crawls.failed == set())
        assert process.started == ["a", "b", "a"]

    asyncio.run(act())


def test_the_last_portal_that_fails_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finish_reasons, "FIRST_RESTART_SECONDS", 0.01)

    async def act() -> None:
        process: Any = FakeProcess()
        crawls = PortalCrawls(process)
        crawls.start("a")
        process.end("a", "memusage_exceeded")
        await until(lambda: crawls.failed == {"a"})  # so the exit code is 1
        await asyncio.sleep(0.05)
        assert process.started == ["a"]

    asyncio.run(act())


def test_a_crawl_that_failed_before_it_had_statistics_did_not_end_well() -> None:
    crawler = Crawler(Spider)
    assert finish_reason_of(crawler) == "not started"
    assert not ended_well(crawler)


@pytest.mark.parametrize(
    ("stats", "is_good"),
    [
        ({"finish_reason": "closespider_timeout"}, True),
        ({"finish_reason": "closespider_timeout", "store/failed": 1}, False),
        ({"finish_reason": "shutdown", "store/failed": 1}, True),
        ({"finish_reason": "finished", "feedexport/failed_count/FileFeedStorage": 1}, False),
        ({"finish_reason": "closespider_errorcount"}, False),
    ],
)
def test_a_crawl_that_could_not_store_or_export_has_failed(stats: dict[str, Any], is_good: bool) -> None:
    crawler: Any = SimpleNamespace(stats=SimpleNamespace(get_stats=lambda: stats))
    assert ended_well(crawler) is is_good

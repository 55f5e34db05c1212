"""Completing a job, step by step, with a fake Redis and a fake store. Their own tests use real ones."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from scrapy.crawler import Crawler

from realestate.crawling.job_completion import JobCompletion
from realestate.items import Part
from realestate.queue.open_jobs import OpenJob
from realestate.storage.handle import provide_store
from realestate.storage.store import Unread
from tests.handles import DirectHandle


class Jobs:
    def __init__(self, given_up: int) -> None:
        self.open: dict[str, OpenJob] = {"j": OpenJob("full", "all")}
        self.claimed: set[str] = set()
        self._given_up = given_up

    async def some(self) -> dict[str, OpenJob]:
        return dict(self.open)

    async def claim(self, job: str) -> bool:
        return job not in self.claimed

    async def is_cancelled(self, job: str) -> bool:
        return False

    async def release(self, job: str) -> None: ...

    async def check(self, job: str, values: OpenJob) -> None:
        self.open[job] = OpenJob(values.mode, values.scope, checking=True)

    async def close(self, job: str) -> None:
        del self.open[job]

    async def totals(self, job: str) -> dict[str, int]:
        return {"done": 12}

    async def given_up(self, job: str, stage: str) -> int:
        return self._given_up if stage == "discover" else 0


class PlayedCrawler:
    def __init__(self, stats: Any) -> None:
        self.stats = stats


class Played:
    """A spider with its scheduler and its store."""

    name = "emlak"

    def __init__(self, missing: list[Unread], given_up: int = 0, verdict: str = "applied") -> None:
        self.missing = missing
        self.verdict = verdict
        self.is_forgotten = False
        self.parts: list[Part] = []
        self.watermarks: dict[str, str] = {}
        self.asked: list[Any] = []
        self.pushed: list[str] = []
        self.is_over = True
        self.counted: dict[str, int] = {}
        self.jobs = Jobs(given_up)
        queue = SimpleNamespace(is_over=self._over)
        self.fleet = SimpleNamespace(jobs=self.jobs, queue=queue, push=self._push)
        self.crawler = PlayedCrawler(SimpleNamespace(inc_value=self._count))
        store = SimpleNamespace(
            begin_job=self._begin_job,
            end_sweep=self._end_sweep,
            conclude=self._conclude,
            parts=lambda job, portal: self.parts if portal == self.name else [],
            set_watermark=self._set_watermark,
            jobs=lambda portal, limit, job=None: [],
        )
        provide_store(cast("Crawler", self.crawler), DirectHandle(store))

    def check(self, url: str, job: str, mode: str, rent_period: str | None) -> str:
        return f"{url} {job} {mode} {rent_period}"

    def look(self) -> None:
        asyncio.run(JobCompletion(self).look())

    def _begin_job(self, job: str, portal: str, mode: str, scope: str) -> bool:
        assert (portal, mode, scope) == (self.name, "full", "all")
        was_forgotten, self.is_forgotten = self.is_forgotten, False
        return was_forgotten

    def _end_sweep(self, job: str, portal: str, *, complete: bool, reason: str | None) -> list[Unread]:
        assert portal == self.name
        self.asked.append(("end_sweep", complete, reason))
        return self.missing

    def _conclude(self, job: str, portal: str) -> Any:
        assert portal == self.name
        self.asked.append(("conclude",))
        return SimpleNamespace(verdict=self.verdict, found=9, offered=20, delisted=0)

    def _set_watermark(self, portal: str, search: str, value: str, job: str) -> None:
        self.watermarks[search] = value

    async def _over(self, job: str) -> bool:
        return self.is_over

    async def _push(self, requests: Any) -> None:
        self.pushed += list(requests)

    def _count(self, name: str, count: int = 1) -> None:
        self.counted[name] = self.counted.get(name, 0) + count


def test_a_job_with_requests_left_is_not_completed() -> None:
    spider = Played([])
    spider.is_over = False
    spider.look()
    assert (spider.asked, list(spider.jobs.open)) == ([], ["j"])


def test_a_job_that_another_worker_completes_is_left_to_it() -> None:
    spider = Played([])
    spider.jobs.claimed = {"j"}
    spider.look()
    assert spider.asked == []


def test_a_job_that_saw_everything_is_completed_at_once() -> None:
    spider = Played([])
    spider.look()
    assert spider.asked == [("end_sweep", True, None), ("conclude",)]
    assert spider.jobs.open == {}


def test_listings_that_a_job_did_not_see_are_fetched_before_it_is_completed() -> None:
    spider = Played([Unread("1", "https://emlak.az/1-x.html", "day")])
    spider.look()
    assert spider.pushed == ["https://emlak.az/1-x.html j full day"]
    assert spider.asked == [("end_sweep", True, None)]
    assert spider.jobs.open["j"].checking
    spider.look()
    assert spider.asked[1:] == [("conclude",)]
    assert spider.jobs.open == {}


def test_a_job_with_search_pages_given_up_is_not_complete() -> None:
    spider = Played([], given_up=2)
    spider.look()
    assert spider.asked[0] == ("end_sweep", False, "2 search pages given up")
    assert spider.counted["sweep/incomplete"] == 1


def part(search: str, total: int | None, parent: str | None = None, newest: int | None = None) -> Part:
    return Part(
        portal="emlak", search=search, parent=parent, total=total, is_split=search in ("s", "tree"), newest=newest
    )


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([], None),
        ([part("s", 100), part("a", 60, "s"), part("b", 40, "s")], None),
        ([part("s", 100), part("a", 60, "s"), part("b", 39, "s")], None),
        ([part("s", 100), part("a", 60, "s"), part("b", 30, "s")], "its parts show 90 of 100 results of s"),
        ([part("s", 100), part("a", 60, "s"), part("b", None, "s")], "its parts show 60 of 100 results of s"),
        ([part("s", 100), part("tree", None, "s"), part("a", 60, "tree"), part("b", 40, "tree")], None),
        (
            [part("s", 100), part("tree", None, "s"), part("a", 60, "tree")],
            "its parts show 60 of 100 results of s",
        ),
        ([part("s", 9), part("tree", None, "tree")], "its parts show 0 of 9 results of s"),
        ([part("s", None), part("a", 60, "s")], None),
        ([part("x", 100)], None),
    ],
)
def test_a_job_whose_parts_do_not_cover_the_search_is_not_complete(parts: list[Part], reason: str | None) -> None:
    spider = Played([])
    spider.parts = parts
    spider.look()
    assert spider.asked[0] == ("end_sweep", reason is None, reason)


def test_only_a_complete_job_sets_the_watermarks_of_its_searches() -> None:
    parts = [part("s", 10, newest=7), part("a", 10, "s", newest=9), part("t", 5), part("u", 5, newest=3)]
    complete, incomplete = Played([]), Played([], given_up=1)
    for spider in (complete, incomplete):
        spider.parts = parts
        spider.look()
    assert complete.watermarks == {"s": "7", "u": "3"}
    assert incomplete.watermarks == {}


@pytest.mark.parametrize("checking", [False, True])
def test_a_job_that_the_store_has_lost_is_not_complete(checking: bool) -> None:
    """As after a failover that lost the last writes. Without this, the job would never end."""
    spider = Played([])
    spider.jobs.open["j"] = OpenJob("full", "all", checking=checking)
    spider.is_forgotten = True
    spider.look()
    assert spider.asked[0] == ("end_sweep", False, "the store has lost the record of the job")
    assert spider.asked[-1] == ("conclude",)
    assert spider.jobs.open == {}


def test_too_many_gone_listings_are_an_error_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    spider = Played([], verdict="withheld")
    spider.look()
    assert spider.counted["delist/withheld"] == 1
    assert [record.levelname for record in caplog.records if "delist/withheld" in record.message] == ["ERROR"]
    assert "9 of 20" in caplog.text

"""Which raw pages are stored, and what their leases wait for."""

import asyncio
import errno
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

import pytest
from scrapy import Request
from scrapy import signals as scrapys
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import HtmlResponse, Response

from realestate.crawling.telephones import PRIVATE
from realestate.middlewares.snapshots import SnapshotMiddleware, is_chosen
from realestate.queue import signals
from realestate.queue.engine import LEASE
from realestate.queue.fleet import Fleet, register_fleet
from realestate.queue.ledger import Hold, Ledger
from realestate.queue.pages import Pages, lease_of
from realestate.queue.request_queue import Lease, Settlement
from realestate.spiders.immoweb import ImmowebSpider
from realestate.storage import Quarantined
from realestate.storage.snapshots import Page, SnapshotError, SnapshotRef, pages
from tests.examples import a_listing

URL = "https://www.immoweb.be/en/classified/21000001"
BAD = Quarantined.of(a_listing(), "price: too high")


class Index:
    """Takes index rows as the store's pipeline does. `store` says that they are stored."""

    def __init__(self, crawler: Crawler) -> None:
        self.rows: list[SnapshotRef] = []
        self.holds: list[Hold] = []
        crawler.signals.connect(self.page_kept, signal=signals.page_kept)

    def page_kept(self, ref: SnapshotRef, hold: Hold) -> None:
        self.rows.append(ref)
        self.holds.append(hold)

    def store(self) -> None:
        for hold in self.holds:
            hold.release()


class Desk:
    """The middleware in a crawler with one open lease, and its folder."""

    worker = "host:1:abc"

    def __init__(self, make_crawler: Callable[..., Crawler], folder: Path, sample: float = 0.0, **changes: Any) -> None:
        self.folder = folder
        named = {"SNAPSHOTS_URL": str(folder), "SNAPSHOTS_SAMPLE": sample, **changes}
        self.crawler = make_crawler(ImmowebSpider, REALESTATE_HOME=str(folder / "home"), **named)
        self.crawler.spider = ImmowebSpider.from_crawler(self.crawler)
        self.ended: list[Settlement] = []
        self.ledger = Ledger(self.ended.append)
        self.pages = Pages(self.ledger, lambda *_: None, self.crawler.signals)
        self.key = self.lease("1")
        register_fleet(self.crawler, cast("Fleet", self))
        self.middleware = SnapshotMiddleware.from_crawler(self.crawler)

    def lease(self, token: str) -> str:
        return self.ledger.open(Lease(b"id", token, 0, 0, 0, "j", "extract", b""))

    def hold(self, response: Response) -> Hold:
        return self.ledger.hold(lease_of(response))

    def page(self, **meta: Any) -> Response:
        request = Request(URL, meta={"stage": "extract", "job": "j", LEASE: self.key, **meta}, cb_kwargs={"seen": 1})
        headers = {"Content-Type": "text/html", "Set-Cookie": "id=1"}
        return HtmlResponse(URL, body=b"<html>\xff</html>", headers=headers, request=request)

    async def serve(self, response: Response, *results: Any, flags: tuple[str, ...] = ()) -> None:
        """The page as Scrapy handles it. An exception is raised by the callback, an item passes the pipelines."""
        self.middleware.process_spider_input(response)
        error: Exception | None = None
        for each in results:
            if isinstance(each, Exception):
                error = each
                break
            await self.through(each, response)
        response.flags.extend(flags)
        await self.done(response, error)

    async def done(self, response: Response, error: Exception | None = None) -> None:
        """What the lease middleware does when all is handled. Waits until the page is written."""
        self.crawler.signals.send_catch_log(signals.page_done, response=response, error=error)
        self.ledger.finished(response.meta[LEASE])
        await asyncio.gather(*self.middleware._failed_writes)

    async def through(self, item: Any, response: Response, signal: Any = scrapys.item_scraped) -> None:
        await self.crawler.signals.send_catch_log_async(signal, item=item, response=response, spider=None)

    def run(self, act: Any) -> None:
        async def whole() -> None:
            self.crawler.signals.send_catch_log(signals.serving)
            await act()
            await self.crawler.signals.send_catch_log_async(signals.last_batch)
            await self.crawler.signals.send_catch_log_async(scrapys.spider_closed, spider=None, reason="")

        asyncio.run(asyncio.wait_for(whole(), 60))

    def kept(self) -> list[Page]:
        return [page for _, page in pages(str(self.folder))]

    def stat(self, name: str) -> Any:
        assert self.crawler.stats is not None
        return self.crawler.stats.get_value(f"snapshot/{name}")


@pytest.fixture
def desk(make_crawler: Callable[..., Crawler], tmp_path: Path) -> Desk:
    return Desk(make_crawler, tmp_path)


def test_a_page_that_could_not_be_parsed_is_stored_with_everything_its_parser_needs(desk: Desk) -> None:
    async def act() -> None:
        await desk.serve(desk.page(), flags=("broken",))

    desk.run(act)
    (page,) = desk.kept()
    assert (page.portal, page.url, page.ref, page.stage, page.job) == ("immoweb", URL, "21000001", "extract", "j")
    assert (page.kind, page.status, page.body, page.hints) == ("failed", 200, b"<html>\xff</html>", {"seen": 1})
    assert page.headers == (("Content-Type", "text/html"),), "and no cookie"
    assert desk.stat("failed") == 1


def test_a_worker_that_stops_while_the_disk_is_full_does_not_acknowledge_the_page(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("realestate.middlewares.snapshots.CLOSING_SECONDS", 0.1)

    def is_full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("realestate.storage.snapshots.writer._write_all", is_full)

    async def act() -> None:
        response = desk.page()
        desk.middleware.process_spider_input(response)
        desk.crawler.signals.send_catch_log(signals.page_done, response=response, error=ValueError())
        desk.ledger.finished(response.meta[LEASE])

    desk.run(act)
    assert desk.kept() == []
    assert not desk.ended, "its lease is not ended: another worker fetches the page again"


def test_a_good_page_is_not_stored_and_its_lease_ends(desk: Desk) -> None:
    async def act() -> None:
        response = desk.page()
        desk.middleware.process_spider_input(response)
        assert not desk.ended, "its item may still go to quarantine"
        await desk.through(a_listing(), response)
        await desk.done(response)
        assert desk.ended

    desk.run(act)
    assert desk.kept() == []
    assert not desk.middleware._watched


def test_a_page_whose_listing_goes_to_quarantine_is_stored_once(desk: Desk) -> None:
    desk.run(lambda: desk.serve(desk.page(), BAD, a_listing(), BAD))
    assert [page.kind for page in desk.kept()] == ["failed"]


@pytest.mark.parametrize(("signal", "kinds"), [(scrapys.item_error, ["failed"]), (scrapys.item_dropped, [])])
def test_a_dropped_item_is_a_failure_unless_it_was_dropped_on_purpose(
    desk: Desk, signal: Any, kinds: list[str]
) -> None:
    async def act() -> None:
        response = desk.page()
        desk.middleware.process_spider_input(response)
        await desk.through(a_listing(), response, signal)
        await desk.done(response)

    desk.run(act)
    assert [page.kind for page in desk.kept()] == kinds
    assert len(desk.ended) == 1


def test_a_callback_that_raises_is_a_failure(desk: Desk) -> None:
    desk.run(lambda: desk.serve(desk.page(), a_listing(), KeyError("id")))
    assert [page.kind for page in desk.kept()] == ["failed"]
    assert len(desk.ended) == 1


def test_the_lease_of_a_failed_page_waits_for_its_row(desk: Desk) -> None:
    index = Index(desk.crawler)

    async def act() -> None:
        await desk.serve(desk.page(), flags=("broken",))
        assert [row.ref for row in index.rows] == ["21000001"], "the page is on disk before its row is announced"
        assert not desk.ended
        index.store()
        assert len(desk.ended) == 1

    desk.run(act)


def test_without_an_index_the_file_is_enough(desk: Desk) -> None:
    async def act() -> None:
        await desk.serve(desk.page(), flags=("broken",))
        assert len(desk.ended) == 1

    desk.run(act)
    assert len(desk.kept()) == 1


def test_sampled_pages_hold_no_lease_and_their_rows_are_in_the_last_batch(
    make_crawler: Callable[..., Crawler], tmp_path: Path
) -> None:
    desk = Desk(make_crawler, tmp_path, sample=1.0)
    index = Index(desk.crawler)

    async def act() -> None:
        await desk.serve(desk.page())
        assert len(desk.ended) == 1
        await desk.crawler.signals.send_catch_log_async(signals.last_batch)
        assert [row.kind for row in index.rows] == ["all"]

    desk.run(act)
    assert desk.stat("all") == 1


def test_a_sampled_page_above_the_limit_is_dropped_and_counted(
    make_crawler: Callable[..., Crawler], tmp_path: Path
) -> None:
    desk = Desk(make_crawler, tmp_path, sample=1.0, SNAPSHOTS_WAITING_BYTES=10)

    async def act() -> None:
        await desk.serve(desk.page())
        await desk.serve(desk.page(**{LEASE: desk.lease("2")}), flags=("broken",))

    desk.run(act)
    assert [page.kind for page in desk.kept()] == ["failed"]
    assert (desk.stat("dropped"), desk.stat("failed")) == (1, 1)
    assert len(desk.ended) == 2


def test_a_page_that_cannot_be_written_is_reported_and_delays_nothing(
    make_crawler: Callable[..., Crawler], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    desk = Desk(make_crawler, tmp_path / "file")

    async def act() -> None:
        await desk.serve(desk.page(), flags=("broken",))
        assert len(desk.ended) == 1

    desk.run(act)
    assert desk.stat("unwritten") == 1
    assert [record.levelno for record in caplog.records if "snapshot/unwritten" in record.message] == [logging.ERROR]


@pytest.mark.parametrize("flags", [(), ("broken",)])
def test_a_response_with_personal_data_is_never_stored(
    make_crawler: Callable[..., Crawler], tmp_path: Path, flags: tuple[str, ...]
) -> None:
    desk = Desk(make_crawler, tmp_path, sample=1.0)

    async def act() -> None:
        await desk.serve(desk.page(**{PRIVATE: True}), flags=flags)

    desk.run(act)
    assert desk.kept() == []
    assert len(desk.ended) == 1, "no lease waits for it"


def test_a_refused_page_passes_untouched(desk: Desk) -> None:
    """HttpError was raised before this middleware saw the page. The output of its errback still passes through."""

    async def act() -> None:
        response = desk.page()
        await desk.through(BAD, response)
        await desk.done(response)

    desk.run(act)
    assert desk.kept() == []


def test_pages_outside_of_a_crawl_are_not_stored(desk: Desk) -> None:
    asyncio.run(desk.serve(desk.page(), a_listing(), flags=("broken",)))
    assert desk.kept() == []


def test_a_callback_interrupted_by_the_end_of_the_worker_is_not_a_failure(desk: Desk) -> None:
    async def act() -> None:
        response = desk.page()
        desk.middleware.process_spider_input(response)
        await desk.through(a_listing(), response)

    desk.run(act)
    assert desk.kept() == []
    assert not desk.ended


def test_a_page_whose_callback_closes_the_spider_is_not_a_failure(desk: Desk) -> None:
    desk.run(lambda: desk.serve(desk.page(), CloseSpider("store_failed")))
    assert desk.kept() == []
    assert len(desk.ended) == 1


def test_while_many_failed_pages_wait_for_the_disk_no_further_page_is_read(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("realestate.middlewares.snapshots.FAILED_WRITES_MAX", 2)
    read: list[str] = []

    async def output() -> AsyncIterator[Any]:
        read.append("read")
        yield a_listing()

    async def act() -> None:
        disk = asyncio.Event()
        for _ in range(2):
            desk.middleware._start(cast("Any", disk.wait()), desk.middleware._failed_writes)
        response = desk.page()
        desk.pages.begin(response)
        reading = asyncio.ensure_future(anext(desk.pages.count(desk.key, output())))
        await asyncio.sleep(0.05)
        assert read == []
        disk.set()
        await reading
        assert read == ["read"]

    desk.run(act)


def test_the_sample_is_the_same_pages_everywhere_and_of_the_right_size() -> None:
    urls = [f"https://www.immoweb.be/en/classified/{number}" for number in range(20_000)]
    chosen = [url for url in urls if is_chosen(url, 0.05)]
    assert 850 < len(chosen) < 1150
    assert set(chosen) <= {url for url in urls if is_chosen(url, 0.1)}
    assert [is_chosen(urls[0], share) for share in (0.0, 1.0)] == [False, True]
    assert is_chosen("https://x.example/\ud800", 1.0)
    assert [is_chosen(url, 0.5) for url in urls[:5]] == [True, False, True, True, False], "in every process"


def test_a_wrong_address_shows_before_the_first_page(make_crawler: Callable[..., Crawler]) -> None:
    with pytest.raises(SnapshotError, match="SNAPSHOTS_URL begins with 'ftp'"):
        SnapshotMiddleware.from_crawler(make_crawler(ImmowebSpider, SNAPSHOTS_URL="ftp://x"))

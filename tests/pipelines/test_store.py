import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response

from realestate.items import Sighting, Sightings
from realestate.pipelines.store import BatchSettings, StorePipeline, card_read
from realestate.queue import signals
from realestate.queue.engine import LEASE
from realestate.queue.fleet import Fleet, register_fleet
from realestate.queue.ledger import Ledger
from realestate.queue.pages import lease_of
from realestate.queue.request_queue import Lease, Settlement
from realestate.spiders.immoweb import ImmowebSpider
from realestate.storage import Batch, Quarantined, StoreAway, StoreError, Written
from realestate.storage.clock import SENT_STEADY, steady
from realestate.storage.postgres import PostgresStore
from realestate.storage.states import Change, State
from realestate.storage.store import CardRead
from tests.examples import a_listing


class Recorder:
    """A store that records its batches and is unavailable for the first `away` calls."""

    def __init__(self, away: int = 0) -> None:
        self.batches: list[list[str]] = []
        self.jobs: set[str] = set()
        self.away = away

    def write(self, batch: Batch) -> Written:
        if self.away:
            self.away -= 1
            raise StoreAway("no answer")
        self.batches.append([each[0].ref for each in batch.observed])
        self.jobs |= {each[1] for each in batch.observed}
        return Written(new=len(batch.observed), quarantined=len(batch.quarantined), events={"listed": 1})

    def last_event(self) -> int:
        return 0

    def change_state(self, name: str, change: Change) -> State | None:
        return change(None)

    def migrate(self) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def crawler(make_crawler: Callable[..., Crawler]) -> Crawler:
    return make_crawler(ImmowebSpider)


def make(crawler: Crawler, store: Any, size: int = 10, seconds: float = 60, most: int = 1000) -> StorePipeline:
    return StorePipeline(crawler, lambda: store, BatchSettings(size, seconds, most))


async def put(pipeline: StorePipeline, item: Any) -> Any:
    """Do what Scrapy does: call the pipeline, then send the signal."""
    kept = pipeline.process_item(item)
    if asyncio.iscoroutine(kept):  # too many items wait
        kept = await kept
    pipeline.item_scraped(
        kept, Response("https://x.example/", request=Request("https://x.example/", meta={"job": "j"}))
    )
    return kept


def stat(crawler: Crawler, name: str) -> Any:
    assert crawler.stats is not None
    return crawler.stats.get_value(name)


def test_a_search_page_is_one_item_with_many_observations(crawler: Crawler) -> None:
    stored: list[Any] = []
    shown = Sightings(tuple(Sighting(portal="p", ref=ref, url="https://x.example/") for ref in "abc"))

    def heard(items: list[Any]) -> None:
        stored.extend(items)

    async def crawl() -> Recorder:
        crawler.signals.connect(heard, signal=signals.items_stored)
        pipeline = make(crawler, store := Recorder())
        await put(pipeline, shown)
        await pipeline.close_spider()
        return store

    store = asyncio.run(crawl())
    assert (store.batches, store.jobs) == ([["a", "b", "c"]], {"j"})
    assert stored == [shown], "its page is settled by it"


def test_each_observation_has_the_time_at_which_its_request_was_sent(crawler: Crawler) -> None:
    """Not that at which it was parsed or stored: in between the worker may have been stopped."""
    seen: list[Any] = []

    class Kept(Recorder):
        def write(self, batch: Batch) -> Written:
            seen.extend(batch.observed)
            return Written(late=1)

    async def crawl() -> None:
        pipeline = make(crawler, Kept())
        for ref, meta in (("1", {SENT_STEADY: 12.5}), ("2", {})):
            item = pipeline.process_item(a_listing(ref=ref))
            pipeline.item_scraped(
                item, Response("https://x.example/", request=Request("https://x.example/", meta=meta))
            )
        await pipeline.close_spider()

    before = steady()
    asyncio.run(crawl())
    assert seen[0].sent == 12.5
    assert before <= seen[1].sent <= steady(), "without it, the time at which the item was made"
    assert stat(crawler, "listing/late") == 1


def test_items_are_written_in_batches_and_the_rest_at_the_end(crawler: Crawler) -> None:
    async def crawl() -> Recorder:
        pipeline = make(crawler, store := Recorder())
        for number in range(25):
            await put(pipeline, a_listing(ref=str(number)))
        await pipeline.close_spider()
        return store

    store = asyncio.run(crawl())
    assert sorted(ref for batch in store.batches for ref in batch) == sorted(map(str, range(25)))
    assert max(map(len, store.batches)) <= 10
    assert stat(crawler, "listing/stored") == 25
    assert store.jobs == {"j"}, "each item with the job of its page"
    assert stat(crawler, "event/listed") == len(store.batches)
    assert stat(crawler, "store/waiting") == 0


def test_a_small_batch_is_written_when_its_time_is_over(crawler: Crawler) -> None:
    async def crawl() -> Recorder:
        pipeline = make(crawler, store := Recorder(), seconds=0.01)
        await put(pipeline, a_listing())
        while not store.batches:
            await asyncio.sleep(0.01)
        await pipeline.close_spider()
        return store

    assert asyncio.run(asyncio.wait_for(crawl(), 30)).batches == [["21000001"]]


def test_the_first_batches_wait_less(crawler: Crawler, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def crawl() -> None:
        pipeline = make(crawler, store := Recorder(), seconds=0.4)
        pause = pipeline._pause

        async def noted(seconds: float) -> None:
            waited.append(seconds)
            await pause(seconds)

        monkeypatch.setattr(pipeline, "_pause", noted)
        for number in range(5):
            await put(pipeline, a_listing(ref=str(number)))
            while len(store.batches) <= number:
                await asyncio.sleep(0.01)
        await pipeline.close_spider()

    asyncio.run(asyncio.wait_for(crawl(), 60))
    assert list(dict.fromkeys(waited)) == [0.05, 0.1, 0.2, 0.4]


def at_work(crawler: Crawler, *requests: Request) -> None:
    scraper = SimpleNamespace(slot=SimpleNamespace(active=set(), queue=()))
    crawler.engine = SimpleNamespace(downloader=SimpleNamespace(active=set(requests)), scraper=scraper)  # type: ignore[assignment]


def test_a_small_batch_is_written_when_no_request_is_in_progress(crawler: Crawler) -> None:
    async def crawl() -> Recorder:
        pipeline = make(crawler, store := Recorder(), seconds=60)
        at_work(crawler, Request("https://x.example/"))
        await put(pipeline, a_listing())
        pipeline.scheduler_empty()
        await asyncio.sleep(0.1)
        assert not store.batches, "a page is on its way"
        at_work(crawler)
        pipeline.scheduler_empty()
        while not store.batches:
            await asyncio.sleep(0.01)
        await pipeline.close_spider()
        return store

    assert asyncio.run(asyncio.wait_for(crawl(), 30)).batches == [["21000001"]]


def test_a_batch_is_retried_while_the_database_is_unavailable(crawler: Crawler) -> None:
    async def crawl() -> Recorder:
        pipeline = make(crawler, store := Recorder(away=2))
        await put(pipeline, a_listing())
        await pipeline.close_spider()
        return store

    assert asyncio.run(crawl()).batches == [["21000001"]]
    assert stat(crawler, "store/unavailable") == 2


class Closable:
    """An engine that records why its spider was closed."""

    reason = ""

    async def close_spider_async(self, *, reason: str) -> None:
        self.reason = reason


class Broken(Recorder):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def migrate(self) -> None:
        raise self.error


@pytest.mark.parametrize(
    "error",
    [StoreError("permission denied for schema public"), KeyError("permission denied for schema public")],
    ids=["of the store", "of our own"],
)
def test_a_store_that_cannot_be_used_stops_the_worker_and_logs_why(
    crawler: Crawler, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    async def crawl() -> None:
        crawler.spider = ImmowebSpider()
        crawler.engine = Closable()  # type: ignore[assignment]
        pipeline = make(crawler, Broken(error))
        pipeline.serving()
        await put(pipeline, a_listing())
        while not crawler.engine.reason:  # type: ignore[attr-defined]
            await asyncio.sleep(0.01)
        await pipeline.close_spider()

    asyncio.run(asyncio.wait_for(crawl(), 30))
    assert crawler.engine.reason == "store_failed"  # type: ignore[attr-defined]
    assert "permission denied for schema public" in caplog.text


#: What a search page showed is a reference and a text of hashes. None of these is.
CARDS = [
    None,
    "",
    5,
    [],
    ["1"],
    ["1", 5],
    ["1", {"a": 1}],
    ["1", "a\0b"],
    ["1", "x" * 2000],
    [["1"], "ab"],
    {"1": "ab"},
]


@pytest.mark.parametrize("card", CARDS)
def test_a_card_that_somebody_else_wrote_into_the_queue_is_left_out(card: Any) -> None:
    listing = a_listing(ref="1")

    def read(card: Any) -> Any:
        request = Request("https://x.example/", meta={"card": card})
        return card_read(listing, Response(request.url, request=request))

    assert read(card) is None
    assert read(["1", "0a1b2c3d"]) == CardRead(listing.portal, "1", "0a1b2c3d")


def test_a_worker_that_stops_does_not_wait_forever_for_a_database(
    crawler: Crawler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("realestate.pipelines.store.CLOSING_SECONDS", 0.1)
    events: list[Any] = []

    def stored(items: list[Any]) -> None:
        events.append(items)

    async def crawl() -> None:
        pipeline = make(crawler, Recorder(away=10**6))
        crawler.signals.connect(stored, signal=signals.items_stored)
        await put(pipeline, a_listing())
        await pipeline.close_spider()

    asyncio.run(asyncio.wait_for(crawl(), 30))
    assert events == [], "an item that is not stored is never reported as stored"


class Silent(Recorder):
    """Its database never responds to a write."""

    def __init__(self) -> None:
        super().__init__()
        self.over = threading.Event()

    def write(self, batch: Batch) -> Written:
        self.over.wait()
        return Written()


def test_a_worker_that_stops_does_not_wait_forever_for_a_write(
    crawler: Crawler, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("realestate.pipelines.store.CLOSING_SECONDS", 0.1)
    store = Silent()

    async def crawl() -> None:
        pipeline = make(crawler, store)
        await put(pipeline, a_listing())
        await pipeline.close_spider()

    asyncio.run(asyncio.wait_for(crawl(), 30))
    store.over.set()
    assert stat(crawler, "listing/stored") is None
    assert "1 items go back to the queue" in caplog.text


def test_stopping_releases_the_pages_that_wait_for_the_database(
    crawler: Crawler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scrapy closes a pipeline when all pages are parsed. Pages that wait for the pipeline would never be."""
    monkeypatch.setattr("realestate.pipelines.store.CLOSING_SECONDS", 0.1)

    async def crawl() -> bool:
        pipeline = make(crawler, Recorder(away=10**6), size=2, most=2)
        for number in range(3):
            await put(pipeline, a_listing(ref=str(number)))
        await asyncio.sleep(0)
        waiting = [asyncio.ensure_future(put(pipeline, a_listing(ref=f"x{n}"))) for n in range(3)]
        await asyncio.sleep(0.2)
        held = not any(each.done() for each in waiting)
        pipeline.stopping()
        await asyncio.gather(*waiting)
        await pipeline.close_spider()
        return held

    assert asyncio.run(asyncio.wait_for(crawl(), 30))
    assert stat(crawler, "listing/stored") is None


def test_a_worker_that_stops_still_stores_its_last_pages(crawler: Crawler, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the signal to stop, it stores the items of the pages in progress, however long they take."""
    monkeypatch.setattr("realestate.pipelines.store.CLOSING_SECONDS", 0.05)

    async def crawl() -> Recorder:
        pipeline = make(crawler, store := Recorder(), seconds=0.01)
        await put(pipeline, a_listing(ref="1"))
        pipeline.stopping()
        await asyncio.sleep(0.2)
        await put(pipeline, a_listing(ref="2"))
        await pipeline.close_spider()
        return store

    assert asyncio.run(asyncio.wait_for(crawl(), 30)).batches == [["1"], ["2"]]


@pytest.mark.parametrize(
    "store", [Recorder(away=10**6), Silent(), Broken(StoreError("no"))], ids=["unavailable", "silent", "broken"]
)
def test_a_question_to_an_unusable_store_raises_close_spider(
    crawler: Crawler, monkeypatch: pytest.MonkeyPatch, store: Recorder
) -> None:
    monkeypatch.setattr("realestate.pipelines.store.CLOSING_SECONDS", 0.1)

    async def crawl() -> None:
        crawler.spider = ImmowebSpider()
        crawler.engine = Closable()  # type: ignore[assignment]
        pipeline = make(crawler, store)
        pipeline.serving()
        asked = asyncio.ensure_future(pipeline.ask(lambda store: store.write(Batch())))
        await asyncio.sleep(0.05)
        pipeline.stopping()
        with pytest.raises(CloseSpider):
            await asked
        await pipeline.close_spider()

    asyncio.run(asyncio.wait_for(crawl(), 30))


def test_the_crawl_waits_while_too_many_items_are_unstored(crawler: Crawler) -> None:
    async def crawl() -> tuple[bool, int]:
        pipeline = make(crawler, store := Recorder(away=1), size=2, most=4)
        for number in range(4):
            await put(pipeline, a_listing(ref=str(number)))
        await asyncio.sleep(0)
        fifth = [asyncio.ensure_future(put(pipeline, a_listing(ref=f"x{n}"))) for n in range(3)]
        await asyncio.sleep(0.01)
        held = any(not each.done() for each in fifth)
        await asyncio.gather(*fifth)
        await pipeline.close_spider()
        return held, sum(map(len, store.batches))

    assert asyncio.run(asyncio.wait_for(crawl(), 30)) == (True, 7)


def test_an_item_holds_the_lease_of_its_page_until_it_is_stored(crawler: Crawler) -> None:
    ended: list[Settlement] = []
    stored: list[int] = []

    def items_stored(items: list[Any]) -> None:
        stored.append(len(items))

    async def crawl() -> None:
        ledger = Ledger(ended.append)
        key = ledger.open(Lease(b"id", "1", 0, 0, 0, "j", "extract", b""))
        fleet = SimpleNamespace(hold=lambda response: ledger.hold(lease_of(response)))
        register_fleet(crawler, cast("Fleet", fleet))
        request = Request("https://x.example/1", meta={"job": "j", LEASE: key})
        pipeline = make(crawler, Recorder())
        crawler.signals.connect(items_stored, signal=signals.items_stored)
        pipeline.item_scraped(pipeline.process_item(a_listing(ref="1")), Response(request.url, request=request))
        ledger.finished(key)
        assert ended == []
        await pipeline.close_spider()

    asyncio.run(crawl())
    assert [ending.outcome for ending in ended] == ["done"]
    assert stored == [1]


def test_items_are_written_to_a_real_database(store: PostgresStore, crawler: Crawler) -> None:
    async def crawl() -> None:
        pipeline = make(crawler, PostgresStore(store.url))
        for number in range(25):
            await put(pipeline, a_listing(ref=str(number % 20)))
        bad = Quarantined(portal="immoweb", ref="q", url="https://x.example/", errors=("e",), record={"a": 1})
        await put(pipeline, bad)
        assert await put(pipeline, {"not": "ours"}) == {"not": "ours"}
        await pipeline.close_spider()

    asyncio.run(crawl())
    assert store.counts() == {"immoweb": (20, 1)}

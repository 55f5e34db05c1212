"""Store by batches, off the event loop."""

import asyncio
import logging
import random
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Self, TypeVar

from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.statscollectors import StatsCollector

from realestate.items import Gone, Listing, Sighting, Sightings, Telephones
from realestate.items.others import Other
from realestate.pipelines.aside import Aside
from realestate.pipelines.contacts import FoundContacts
from realestate.pipelines.pages import page_of
from realestate.queue import signals
from realestate.queue.engine import in_work
from realestate.storage import Batch, Quarantined, Store, StoreAway, StoreError, Written, open_store
from realestate.storage.handle import provide_store
from realestate.storage.history import Observed
from realestate.storage.snapshots import SnapshotRef
from realestate.storage.validators import PageRead
from realestate.storage.vault import Vault

logger = logging.getLogger(__name__)
T = TypeVar("T")
#: What the store keeps; any other item is not ours.
Kept = Listing | Sighting | Sightings | Gone | Telephones | Other | Quarantined | SnapshotRef | PageRead

#: A worker that ends waits so long for a database that is away or says nothing; then its pages go back to the queue.
CLOSING_SECONDS = 10.0
#: A database that is away is asked again after half a second, and then less and less often.
LONGEST_DELAY_SECONDS = 10.0
#: The first batch waits this part of STORE_BATCH_SECONDS, each one after it twice as long.
FIRST_PART = 8


@dataclass(frozen=True, slots=True)
class BatchSettings:
    size: int
    seconds: float
    waiting_max: int

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        return cls(
            settings.getint("STORE_BATCH_SIZE"),
            settings.getfloat("STORE_BATCH_SECONDS"),
            settings.getint("STORE_WAITING_MAX"),
        )


class StorePipeline:
    """Hands items to the next batch and returns; waits only while the database is far behind.

    One thread writes, so the store needs no lock and batches keep their order. A database that is away is
    waited for: the batch stays here until it is written. What cannot be written ends the worker, not in silence,
    and its requests go back to the fleet.
    """

    def __init__(self, crawler: Crawler, open_it: Callable[[], Store], batch: BatchSettings) -> None:
        assert crawler.stats is not None
        self.crawler = crawler
        self.batch = batch
        self.stats: StatsCollector = crawler.stats
        self._open_it = open_it
        self._store: Store | None = None
        self._waiting: list[tuple[Kept, str]] = []
        self._writing = 0
        self._opened_or_failed = asyncio.Event()
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None
        self._told_to_stop = asyncio.Event()
        self._is_closing = self._is_idle = False
        self._thread = Aside("store")
        self.contacts: FoundContacts | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        url = crawler.settings.get("STORE_URL")
        pipeline = cls(crawler, lambda: open_store(url), BatchSettings.from_settings(crawler.settings))
        crawler.signals.connect(pipeline.serving, signal=signals.serving)
        crawler.signals.connect(pipeline.stopping, signal=signals.stopping)
        crawler.signals.connect(pipeline.item_scraped, signal=scrapy_signals.item_scraped)
        crawler.signals.connect(pipeline.page_kept, signal=signals.page_kept)
        crawler.signals.connect(pipeline.nothing_to_do, signal=scrapy_signals.scheduler_empty)
        if crawler.settings.getbool("CONTACTS"):
            vault = Vault(crawler.settings.getlist("CONTACTS_KEYS"))
            pipeline.contacts = FoundContacts(vault, crawler.settings.getint("CONTACTS_DAYS"))
            crawler.signals.connect(pipeline.contacts.found, signal=signals.contacts_found)
        return pipeline

    def serving(self) -> None:
        """A worker begins: the schema is brought up to date, and what is wrong with the store shows now."""
        self._begin()
        provide_store(self.crawler, weakref.proxy(self))

    async def ask(self, question: Callable[[Store], T]) -> T:
        """In the store's thread, after what is being written there. Without an answer the worker ends, and the page
        for which it was asked goes back to the queue."""
        await self._opened_or_failed.wait()
        if self._ended():
            raise CloseSpider("store_failed")
        assert self._store is not None
        try:
            return await self._patiently(partial(question, self._store))
        except StoreAway:
            raise CloseSpider("store_failed") from None

    def stopping(self) -> None:
        """The worker was told to end. Scrapy closes a pipeline only when all its pages are read, and they may be
        waiting for us."""
        self._told_to_stop.set()

    def process_item(self, item: Any) -> Any:
        """Makes the crawl wait for a database that is far behind."""
        if not _is_kept(item.__class__):
            return item
        self._begin()
        self.crawler.signals.send_catch_log(signals.item_waits, item=item)
        return item if self._has_room() else self._when_there_is_room(item)

    async def _when_there_is_room(self, item: Kept) -> Kept:
        while not self._has_room():
            self._room.clear()
            await self._room.wait()
        return item

    def _has_room(self) -> bool:
        return len(self._waiting) <= self.batch.waiting_max or self._ended()

    def item_scraped(self, item: Any, response: Response | None) -> None:
        """Through all pipelines: now it is known which job it is of."""
        if not _is_kept(item.__class__):
            return
        job = response.meta.get("job") if response is not None else None
        self._add(item, job or "none")
        if isinstance(item, Listing) and response is not None and (page := page_of(item, response)):
            self._add(page, job or "none")  # after its listing, lest it speak of what is not stored

    def page_kept(self, ref: SnapshotRef) -> None:
        """A raw page's place in the index is written with the next batch."""
        self._begin()
        self._add(ref, ref.job or "none")

    def nothing_to_do(self) -> None:
        """Nothing is on its way that could fill the batch: why wait?"""
        if self._waiting and self.crawler.engine is not None and not in_work(self.crawler.engine):
            self._is_idle = True
            self._wake.set()

    def _add(self, item: Kept, run: str) -> None:
        self._waiting.append((item, run))
        self._is_idle = False
        self._tell()
        if len(self._waiting) >= self.batch.size:
            self._wake.set()

    async def close_spider(self) -> None:
        """Everything is stored before the worker ends, unless the database stays away: then it is fetched again."""
        await self.crawler.signals.send_catch_log_async(signals.last_batch)
        self._is_closing = True
        self._told_to_stop.set()
        self._wake.set()
        if self._writer is not None:
            await self._writer
        self._thread.end()

    def _begin(self) -> None:
        if self._writer is None:
            self._writer = asyncio.create_task(self._run())

    def _ended(self) -> bool:
        return self._writer is not None and self._writer.done()

    async def _run(self) -> None:
        try:
            self._store = self._open_it()
            await self._patiently(self._store.migrate)
            self._opened_or_failed.set()
            await self._write_batches()
            await self._patiently(self._store.close)
        except StoreError as error:
            self.stats.inc_value("store/failed")
            logger.error("store/failed: %s; %d items go back to the queue", error, self._unstored())
            if not self._told_to_stop.is_set():
                assert self.crawler.engine is not None
                self._ending = asyncio.ensure_future(self.crawler.engine.close_spider_async(reason="store_failed"))
        finally:
            self._opened_or_failed.set()
            self._room.set()

    async def _write_batches(self) -> None:
        """The first ones wait less: somebody may look for a sign that the crawl works."""
        seconds = self.batch.seconds / FIRST_PART
        while self._waiting or not self._is_closing:
            if len(self._waiting) < self.batch.size and not self._is_closing:
                await self._pause(seconds)
            items, self._waiting = self._waiting[: self.batch.size], self._waiting[self.batch.size :]
            if items:
                seconds = min(2 * seconds, self.batch.seconds)
                self._writing = len(items)
                self._count(await self._write(items))
                self._writing = 0
                self.crawler.signals.send_catch_log(signals.items_stored, items=[item for item, _ in items])
                self._tell()
                self._room.set()

    async def _write(self, items: list[tuple[Kept, str]]) -> Written:
        assert self._store is not None
        observed = [(each, run) for item, run in items for each in _observed(item)]
        quarantined = [item for item, _ in items if isinstance(item, Quarantined)]
        snapshots = [item for item, _ in items if isinstance(item, SnapshotRef)]
        others = [(item, run) for item, run in items if isinstance(item, Other)]
        batch = Batch(observed, quarantined, snapshots, others)
        written = await self._patiently(partial(self._store.write, batch))
        if pages := [item for item, _ in items if isinstance(item, PageRead)]:
            await self._patiently(partial(self._store.keep_validators, pages))
        if self.contacts and (found := self.contacts.of(item for item, _ in items)):
            await self._patiently(partial(self._store.keep_contacts, found, self.contacts.days))
        return written

    async def _patiently(self, act: Callable[[], T]) -> T:
        """In the store's thread; again and again while the database is away, but not for ever once the worker ends."""
        patience = asyncio.ensure_future(self._patience())
        delay = 0.5
        try:
            while True:
                try:
                    return await self._answered(act, patience)
                except StoreAway as error:
                    self.stats.inc_value("store/away")
                    logger.warning("store/away: %s; %d items wait", error, self._unstored())
                    await asyncio.wait({patience}, timeout=random.uniform(delay / 2, delay))
                    if patience.done():
                        raise
                    delay = min(delay * 2, LONGEST_DELAY_SECONDS)
        finally:
            patience.cancel()

    async def _patience(self) -> None:
        await self._told_to_stop.wait()
        await asyncio.sleep(CLOSING_SECONDS)

    async def _answered(self, act: Callable[[], T], patience: "asyncio.Future[None]") -> T:
        answer = self._thread.run(act)
        either: set[asyncio.Future[Any]] = {answer, patience}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            answer.cancel()
            raise StoreAway("it has not answered")
        return answer.result()

    async def _pause(self, seconds: float) -> None:
        """Until the time is over, a batch is full, or nothing more will come."""
        self._wake.clear()
        if len(self._waiting) < self.batch.size and not self._is_closing and not self._is_idle:
            waiter = asyncio.ensure_future(self._wake.wait())
            await asyncio.wait({waiter}, timeout=seconds)
            waiter.cancel()
        self._is_idle = False

    def _unstored(self) -> int:
        return len(self._waiting) + self._writing

    def _tell(self) -> None:
        """For the heartbeat: a worker with items not yet stored is not idle."""
        self.stats.set_value("store/waiting", self._unstored())

    def _count(self, written: Written) -> None:
        self.stats.inc_value("store/batches")
        self.stats.inc_value("listing/stored", written.new + written.known)
        self.stats.inc_value("listing/new", written.new)
        self.stats.inc_value("listing/seen", written.seen)
        self.stats.inc_value("listing/quarantined", written.quarantined)
        self.stats.inc_value("other/stored", written.others)
        for type, count in written.events.items():
            self.stats.inc_value(f"event/{type}", count)


def _observed(item: Kept) -> tuple[Observed, ...]:
    if isinstance(item, Sightings):
        return item.seen
    return (item,) if isinstance(item, Observed) else ()


@lru_cache(maxsize=256)
def _is_kept(kind: type) -> bool:
    return issubclass(kind, Kept)

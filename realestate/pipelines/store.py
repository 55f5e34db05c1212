"""Store by batches, off the event loop."""

import asyncio
import logging
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings
from scrapy.signalmanager import SignalManager
from scrapy.statscollectors import StatsCollector

from realestate.items import Listing
from realestate.queue import signals
from realestate.storage import Quarantined, Store, StoreAway, Written, open_store

logger = logging.getLogger(__name__)


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
    waited for: the batch stays here until it is written.
    """

    def __init__(self, store: Store, batch: BatchSettings, stats: StatsCollector, manager: SignalManager) -> None:
        self.store = store
        self._signals = manager
        self.batch = batch
        self.stats = stats
        self._waiting: list[Listing | Quarantined] = []
        self._writing = 0
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None
        self._closing = False
        self._thread = ThreadPoolExecutor(1, "store")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        assert crawler.stats is not None
        store = open_store(crawler.settings.get("STORE_URL"))
        return cls(store, BatchSettings.from_settings(crawler.settings), crawler.stats, crawler.signals)

    async def process_item(self, item: Any) -> Any:
        if not isinstance(item, Listing | Quarantined):
            return item
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_batches())
        self._signals.send_catch_log(signals.item_waits, item=item)
        self._waiting.append(item)
        self._tell()
        if len(self._waiting) >= self.batch.size:
            self._wake.set()
        while len(self._waiting) > self.batch.waiting_max:
            self._room.clear()
            await self._room.wait()
        return item

    async def close_spider(self) -> None:
        """Everything is stored before the worker ends."""
        self._closing = True
        self._wake.set()
        if self._writer is not None:
            await self._writer
        self._thread.submit(self.store.close)
        self._thread.shutdown()

    async def _write_batches(self) -> None:
        while self._waiting or not self._closing:
            if len(self._waiting) < self.batch.size and not self._closing:
                await self._pause(self.batch.seconds)
            items, self._waiting = self._waiting[: self.batch.size], self._waiting[self.batch.size :]
            if items:
                self._writing = len(items)
                self._count(await self._write(items))
                self._writing = 0
                self._signals.send_catch_log(signals.items_stored, items=items)
                self._tell()
                self._room.set()

    async def _write(self, items: list[Listing | Quarantined]) -> Written:
        listings = [item for item in items if isinstance(item, Listing)]
        quarantined = [item for item in items if isinstance(item, Quarantined)]
        loop = asyncio.get_running_loop()
        delay = 0.5
        while True:
            try:
                return await loop.run_in_executor(self._thread, self.store.write, listings, quarantined)
            except StoreAway as error:
                self.stats.inc_value("store/away")
                logger.warning("store/away: %s; %d items wait", error, self._unstored())
                await asyncio.sleep(random.uniform(delay / 2, delay))
                delay = min(delay * 2, 10.0)

    async def _pause(self, seconds: float) -> None:
        """Until the time is over or a batch is full."""
        self._wake.clear()
        if len(self._waiting) < self.batch.size and not self._closing:
            waiter = asyncio.ensure_future(self._wake.wait())
            await asyncio.wait({waiter}, timeout=seconds)
            waiter.cancel()

    def _unstored(self) -> int:
        return len(self._waiting) + self._writing

    def _tell(self) -> None:
        """For the heartbeat: a worker with items not yet stored is not idle."""
        self.stats.set_value("store/waiting", self._unstored())

    def _count(self, written: Written) -> None:
        self.stats.inc_value("store/batches")
        self.stats.inc_value("listing/stored", written.new + written.known)
        self.stats.inc_value("listing/new", written.new)
        self.stats.inc_value("listing/quarantined", written.quarantined)

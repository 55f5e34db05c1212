"""Stores items in batches, in a thread beside the event loop."""

import asyncio
import logging
import random
import time
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple, Self, TypeVar

from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.statscollectors import StatsCollector

from realestate.accelerate.headers import last
from realestate.items import Gone, Listing, Sighting, Sightings, Telephones
from realestate.items.others import Other
from realestate.pipelines.drift import FieldWatch
from realestate.pipelines.shared_store import SharedStore
from realestate.pipelines.worker_thread import WorkerThread
from realestate.queue import outage, signals
from realestate.queue.engine import in_work
from realestate.queue.fleet import fleet_of
from realestate.queue.ledger import NO_HOLD, Hold
from realestate.storage import Batch, Quarantined, Store, StoreAway, StoreError, Written
from realestate.storage.clock import SENT_STEADY, Seen, steady
from realestate.storage.contacts import Contacts, Sealed, Source
from realestate.storage.handle import provide_store
from realestate.storage.history import Observed
from realestate.storage.other_kinds import SeenOther
from realestate.storage.snapshots import SnapshotRef
from realestate.storage.store import CardRead
from realestate.storage.validators import PageRead, page_read
from realestate.storage.vault import Vault

logger = logging.getLogger(__name__)
T = TypeVar("T")
#: The items that are stored. Any other item passes unchanged.
StoredItem = (
    Listing | Sighting | Sightings | Gone | Telephones | Other | Quarantined | SnapshotRef | PageRead | CardRead
)

#: A worker that stops waits this long for a database that is unavailable; then its pages go back to the queue.
CLOSING_SECONDS = 10.0
#: The first retry is after half a second, and the delay doubles up to this.
LONGEST_DELAY_SECONDS = 10.0
#: The first batch waits this part of STORE_BATCH_SECONDS, and each next batch twice as long as the one before.
FIRST_PART = 8
#: What a search page showed of a listing is some hashes. Nothing longer is stored.
LONGEST_CARD = 1_000
#: Flag of a response that gave one listing and no further request. If the page is unchanged, its listing is too.
ALONE = "alone"


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """When a batch is written: `size` items wait, or `seconds` passed. With `waiting_max` items, the crawl waits."""

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


class Waiting(NamedTuple):
    """An item that is not stored yet."""

    item: StoredItem
    job: str
    hold: Hold
    """Released when the item is stored."""
    sent: float | None = None
    """When the request of its page was sent, by `steady`."""


class StorePipeline:
    """Adds items to the next batch and returns at once. Waits only while the database is far behind.

    One thread writes, so the store needs no lock and batches keep their order. While the database is unavailable, the
    batch is retried until it is written. Any other error of the store stops the worker, and the requests of its items
    go back to the queue.
    """

    def __init__(
        self,
        crawler: Crawler,
        open_it: Callable[[], Store],
        batch: BatchSettings,
        thread: "WorkerThread | SharedStore | None" = None,
    ) -> None:
        assert crawler.stats is not None
        self.crawler = crawler
        self.batch = batch
        self.stats: StatsCollector = crawler.stats
        self.contacts: SealedContacts | None = None
        self._open_it = open_it
        self._store: Store | None = None
        self._fields = FieldWatch(self._portal)
        self._waiting: list[Waiting] = []
        self._writing = 0
        """Number of items in the batch that is being written."""
        self._opened_or_failed = asyncio.Event()
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._stop_requested = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None
        self._is_closing = False
        self._is_idle = False
        self._thread = thread or WorkerThread("store")
        """Runs all calls of the store. The pipelines of a process may share it."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        url = crawler.settings.get("STORE_URL")
        shared = SharedStore.of(url)
        pipeline = cls(crawler, shared.open, BatchSettings.from_settings(crawler.settings), shared)
        crawler.signals.connect(pipeline.serving, signal=signals.serving)
        crawler.signals.connect(pipeline.stopping, signal=signals.stopping)
        crawler.signals.connect(pipeline.item_scraped, signal=scrapy_signals.item_scraped)
        crawler.signals.connect(pipeline.page_kept, signal=signals.page_kept)
        crawler.signals.connect(pipeline.scheduler_empty, signal=scrapy_signals.scheduler_empty)
        if crawler.settings.getbool("CONTACTS"):
            vault = Vault(crawler.settings.getlist("CONTACTS_KEYS"))
            pipeline.contacts = SealedContacts(vault, crawler.settings.getint("CONTACTS_DAYS"))
            crawler.signals.connect(pipeline.contacts.add, signal=signals.contacts_found)
        return pipeline

    def serving(self) -> None:
        """Open the store when the worker starts: the schema is migrated, and a store that cannot be used fails now."""
        self._begin()
        provide_store(self.crawler, weakref.proxy(self))

    async def ask(self, question: Callable[[Store], T]) -> T:
        """Call `question` with the store, in the store's thread, and return its result.

        If the store cannot be used, raises CloseSpider: the worker stops, and the page goes back to the queue.
        """
        await self._opened_or_failed.wait()
        if self._ended():
            raise CloseSpider("store_failed")
        assert self._store is not None
        try:
            return await self._retry_until_available(partial(question, self._store))
        except StoreAway:
            raise CloseSpider("store_failed") from None

    def stopping(self) -> None:
        """Limit the time for retries from now on.

        Scrapy calls `close_spider` only when all pages are parsed, and pages may be waiting for this pipeline.
        """
        self._stop_requested.set()

    def process_item(self, item: Any) -> Any:
        """Return the item; if too many items wait, return a coroutine that waits until there is room."""
        if not _is_stored(item.__class__):
            return item
        self._begin()
        return item if self._has_room() else self._when_there_is_room(item)

    async def _when_there_is_room(self, item: StoredItem) -> StoredItem:
        while not self._has_room():
            self._room.clear()
            await self._room.wait()
        return item

    def _has_room(self) -> bool:
        return len(self._waiting) <= self.batch.waiting_max or self._ended()

    def item_scraped(self, item: Any, response: Response | None) -> None:
        """Add an item that passed all pipelines to the next batch. Its job is known only here."""
        if not _is_stored(item.__class__):
            return
        job = response.meta.get("job") if response is not None else None
        sent = response.meta.get(SENT_STEADY) if response is not None else None
        self._add(item, job or "none", self._hold(response), sent or steady())
        if isinstance(item, Listing) and response is not None and (page := page_version(item, response)):
            # After its listing: it must not describe a listing that is not stored.
            self._add(page, job or "none", NO_HOLD)
        if response is not None and (card := card_read(item, response)):
            self._add(card, job or "none", NO_HOLD)

    def _hold(self, response: Response | None) -> Hold:
        """The lease of the page stays open until its item is stored."""
        fleet = fleet_of(self.crawler)
        return fleet.hold(response) if fleet is not None else NO_HOLD

    def page_kept(self, ref: SnapshotRef, hold: Hold = NO_HOLD) -> None:
        """Add the index entry of a raw page to the next batch."""
        self._begin()
        self._add(ref, ref.job or "none", hold)

    def scheduler_empty(self) -> None:
        """Write the batch now if no request is in progress that could fill it."""
        if self._waiting and self.crawler.engine is not None and not in_work(self.crawler.engine):
            self._is_idle = True
            self._wake.set()

    def _add(self, item: StoredItem, job: str, hold: Hold, sent: float | None = None) -> None:
        self._waiting.append(Waiting(item, job, hold, sent))
        self._is_idle = False
        self._update_waiting_stat()
        if len(self._waiting) >= self.batch.size:
            self._wake.set()

    async def close_spider(self) -> None:
        """Store everything before the worker ends. If the database stays unavailable, the pages are fetched again."""
        await self.crawler.signals.send_catch_log_async(signals.last_batch)
        self._is_closing = True
        self._stop_requested.set()
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
            await self._retry_until_available(self._store.migrate)
            self._opened_or_failed.set()
            await self._write_batches()
            await self._retry_until_available(self._store.close)
        except StoreError as error:
            self._fail(str(error))
        except Exception as error:  # otherwise the worker would go on, and store nothing
            self._fail(f"{type(error).__name__}: {error}", error)
        finally:
            self._opened_or_failed.set()
            self._room.set()

    def _fail(self, reason: str, unexpected: Exception | None = None) -> None:
        """Nothing can be stored any more: stop the worker."""
        self.stats.inc_value("store/failed")
        logger.error(
            "store/failed: portal=%s: %s; %d items go back to the queue",
            self._portal,
            reason,
            self._unstored(),
            exc_info=unexpected,
        )
        if not self._stop_requested.is_set():
            assert self.crawler.engine is not None
            self._ending = asyncio.ensure_future(self.crawler.engine.close_spider_async(reason="store_failed"))

    async def _write_batches(self) -> None:
        """Write batches until the pipeline closes. The first ones wait less, so that new users soon see rows."""
        seconds = self.batch.seconds / FIRST_PART
        while self._waiting or not self._is_closing:
            if len(self._waiting) < self.batch.size and not self._is_closing:
                await self._pause(seconds)
            items = self._waiting[: self.batch.size]
            self._waiting = self._waiting[self.batch.size :]
            if items:
                seconds = min(2 * seconds, self.batch.seconds)
                self._writing = len(items)
                self._count(await self._write(items))
                self._writing = 0
                for each in items:
                    each.hold.release()
                self.crawler.signals.send_catch_log(signals.items_stored, items=[each.item for each in items])
                self._update_waiting_stat()
                self._room.set()

    async def _write(self, items: list[Waiting]) -> Written:
        assert self._store is not None
        observed = [Seen(each, job, sent) for item, job, _, sent in items for each in _observed(item)]
        quarantined = [each.item for each in items if isinstance(each.item, Quarantined)]
        snapshots = [each.item for each in items if isinstance(each.item, SnapshotRef)]
        others = [SeenOther(item, job, sent) for item, job, _, sent in items if isinstance(item, Other)]
        batch = Batch(observed, quarantined, snapshots, others)
        began = time.monotonic()
        written = await self._retry_until_available(partial(self._fields.write, self._store, batch))
        seconds = self.stats.get_value("store/seconds", 0.0) + time.monotonic() - began
        self.stats.set_value("store/seconds", seconds)
        if pages := [each.item for each in items if isinstance(each.item, PageRead)]:
            await self._retry_until_available(partial(self._store.keep_validators, pages))
        if cards := [each.item for each in items if isinstance(each.item, CardRead)]:
            await self._retry_until_available(partial(self._store.keep_cards, cards))
        if self.contacts and (sealed := self.contacts.take(each.item for each in items)):
            await self._retry_until_available(partial(self._store.keep_contacts, sealed, self.contacts.days))
        return written

    async def _retry_until_available(self, call: Callable[[], T]) -> T:
        """Run a call in the store's thread, again and again while the database is unavailable.

        Raises StoreAway if it is still unavailable CLOSING_SECONDS after the worker began to stop.
        """
        time_is_over = asyncio.ensure_future(self._closing_time())
        delay = 0.5
        failures = 0
        try:
            while True:
                asked_at = outage.STORE.clock()
                try:
                    result = await self._run_in_thread(call, time_is_over)
                    outage.STORE.succeeded(asked_at)
                    return result
                except StoreAway as error:
                    self.stats.inc_value("store/unavailable")
                    failures += 1
                    outage.STORE.failed(f"storing the items of {self._portal}", error, failures)
                    await asyncio.wait({time_is_over}, timeout=random.uniform(delay / 2, delay))
                    if time_is_over.done():
                        raise
                    delay = min(delay * 2, LONGEST_DELAY_SECONDS)
        finally:
            time_is_over.cancel()

    async def _closing_time(self) -> None:
        await self._stop_requested.wait()
        await asyncio.sleep(CLOSING_SECONDS)

    async def _run_in_thread(self, call: Callable[[], T], time_is_over: "asyncio.Future[None]") -> T:
        result = self._thread.run(call)
        either: set[asyncio.Future[Any]] = {result, time_is_over}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not result.done():
            result.cancel()
            raise StoreAway("the database did not respond in time")
        return result.result()

    async def _pause(self, seconds: float) -> None:
        """Wait until the time is over, a batch is full, or nothing more will come."""
        self._wake.clear()
        if len(self._waiting) < self.batch.size and not self._is_closing and not self._is_idle:
            waiter = asyncio.ensure_future(self._wake.wait())
            await asyncio.wait({waiter}, timeout=seconds)
            waiter.cancel()
        self._is_idle = False

    @property
    def _portal(self) -> str:
        return getattr(self.crawler.spidercls, "name", "-")

    def _unstored(self) -> int:
        return len(self._waiting) + self._writing

    def _update_waiting_stat(self) -> None:
        """The heartbeat reads this statistic: a worker with unstored items is not idle."""
        self.stats.set_value("store/waiting", self._unstored())

    def _count(self, written: Written) -> None:
        self.stats.inc_value("store/batches")
        self.stats.inc_value("listing/stored", written.new + written.known)
        self.stats.inc_value("listing/new", written.new)
        self.stats.inc_value("listing/seen", written.seen)
        self.stats.inc_value("listing/quarantined", written.quarantined)
        self.stats.inc_value("other/stored", written.others)
        if written.late:
            self.stats.inc_value("listing/late", written.late)
            logger.info("store/late: portal=%s: %d items are older than what is stored", self._portal, written.late)
        for type, count in written.events.items():
            self.stats.inc_value(f"event/{type}", count)


def _observed(item: StoredItem) -> tuple[Observed, ...]:
    if isinstance(item, Sightings):
        return item.seen
    return (item,) if isinstance(item, Observed) else ()


@lru_cache(maxsize=256)
def _is_stored(kind: type) -> bool:
    return issubclass(kind, StoredItem)


# --- the version of a page ---------------------------------------------------------------


def page_version(listing: Listing, response: Response) -> PageRead | None:
    """Return the version of a listing's page (ETag, Last-Modified) for the next conditional request.

    None if the page has no version, or gave more than this listing.
    """
    if ALONE not in response.flags:
        return None
    last_modified = _header(response, "Last-Modified")
    date = _header(response, "Date") if last_modified else ""  # a Last-Modified is judged by it
    return page_read(listing, response.url, etag=_header(response, "ETag"), last_modified=last_modified, date=date)


def card_read(item: Any, response: Response) -> CardRead | None:
    """Return what the search page showed of a listing whose own page was read, or is unchanged."""
    match response.meta.get("card"):
        case [ref, str(card)] if len(card) <= LONGEST_CARD and card.isascii() and card.isprintable():
            is_page_read = isinstance(item, Listing) or (isinstance(item, Sighting) and item.is_read)
            return CardRead(item.portal, item.ref, card) if is_page_read and item.ref == ref else None
        case _:  # none, or a value that somebody else wrote into the queue
            return None


def _header(response: Response, name: str) -> str:
    return (last(response.headers, name) or b"").decode("latin-1")


# --- contacts, only with CONTACTS on -----------------------------------------------------

#: The source of contacts, by the type of item that they came with.
_SOURCES: dict[type, Source] = {Listing: "page", Telephones: "asked"}


class SealedContacts:
    """Contacts that wait for the batch of their item. They are encrypted as soon as they are found."""

    def __init__(self, vault: Vault, days: int) -> None:
        self.days = days
        self._vault = vault
        self._waiting: dict[tuple[str, str, Source], Sealed] = {}

    def add(self, contacts: Contacts) -> None:
        self._waiting[contacts.portal, contacts.ref, contacts.source] = self._vault.kept(contacts)

    def take(self, items: Iterable[Any]) -> list[Sealed]:
        """Return and remove the contacts of these items."""
        keys = ((item.portal, item.ref, _SOURCES[type(item)]) for item in items if type(item) in _SOURCES)
        return [self._waiting.pop(key) for key in keys if key in self._waiting]

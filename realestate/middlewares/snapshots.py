"""Keeps the raw pages that failed, and a sample of the others."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response
from scrapy.settings import BaseSettings

from realestate.middlewares.conditional import NOT_MODIFIED
from realestate.queue import signals as queue_signals
from realestate.queue.fleet import Fleet, fleet_of
from realestate.queue.ledger import NO_HOLD, Hold
from realestate.queue.pages import lease_of
from realestate.storage import Quarantined
from realestate.storage.snapshots import Kind, Page, Recorder, SnapshotError, SnapshotRef, SnapshotWriter, open_place

logger = logging.getLogger(__name__)

#: Failed pages that may wait for the disk at once. They are never dropped, so the crawl has to wait for them.
FAILED_WRITES_MAX = 16
#: A worker that stops waits this long for a disk that is full.
CLOSING_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class SnapshotSettings:
    url: str
    sample: float
    spool: Path
    file_bytes: int
    file_seconds: float
    waiting_bytes: int

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        return cls(
            str(settings["SNAPSHOTS_URL"]),
            settings.getfloat("SNAPSHOTS_SAMPLE"),
            Path(settings["REALESTATE_HOME"]) / "spool",
            settings.getint("SNAPSHOTS_FILE_BYTES"),
            settings.getfloat("SNAPSHOTS_FILE_SECONDS"),
            settings.getint("SNAPSHOTS_WAITING_BYTES"),
        )

    def recorder(self, worker: str) -> Recorder:
        limits = {"max_bytes": self.file_bytes, "max_seconds": self.file_seconds}
        writer = SnapshotWriter(self.url, worker=worker, spool=self.spool, **limits)  # type: ignore[arg-type]
        return Recorder(writer, waiting_bytes=self.waiting_bytes)


@dataclass(slots=True)
class Watched:
    """A page whose callback runs, or whose items are on their way through the pipelines."""

    response: Response
    hold: Hold
    """Keeps the lease of the page open until it is decided whether the page is kept, and until a failed page is."""
    fetched_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    failed: bool = False


class SnapshotMiddleware:
    """Decides about each page once, when its callback has ended and its items have left the pipelines.

    A page whose callback raised or whose listing goes to quarantine is always kept, and its lease is held until its
    index row is stored: if the worker is killed before, the page is fetched again. A sampled page holds no lease, and
    is not kept if the disk is too slow.
    """

    def __init__(self, crawler: Crawler, settings: SnapshotSettings) -> None:
        assert crawler.stats is not None
        self.crawler = crawler
        self.settings = settings
        self.stats = crawler.stats
        self._recorder: Recorder | None = None
        self._watched: dict[str, Watched] = {}
        self._failed_writes: set[asyncio.Future[None]] = set()
        self._tasks: set[asyncio.Future[None]] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = SnapshotSettings.from_settings(crawler.settings)
        open_place(settings.url)  # a wrong address shows before the first page
        middleware = cls(crawler, settings)
        handlers: tuple[tuple[Callable[..., Any], Any], ...] = (
            (middleware.serving, queue_signals.serving),
            (middleware.page_done, queue_signals.page_done),
            (middleware.last_batch, queue_signals.last_batch),
            (middleware.item_scraped, signals.item_scraped),
            (middleware.item_error, signals.item_error),
            (middleware.closed, signals.spider_closed),
        )
        for handler, signal in handlers:
            crawler.signals.connect(handler, signal=signal)
        return middleware

    @property
    def fleet(self) -> Fleet:
        fleet = fleet_of(self.crawler)
        assert fleet is not None
        return fleet

    def serving(self) -> None:
        """Only the pages of a worker are kept, not those of `scrapy shell`."""
        self._recorder = self.settings.recorder(self.fleet.worker)
        self.fleet.pages.add_gate(self._wait_for_disk)

    # ----- a page and its items

    def process_spider_input(self, response: Response) -> None:
        """Comes after HttpError: a page that is refused meets no parser."""
        lease = lease_of(response)
        if self._recorder is not None and lease is not None:
            self._watched[lease] = Watched(response, self.fleet.hold(response))

    def _wait_for_disk(self) -> Awaitable[None] | None:
        """While too many failed pages wait for the disk, no further page is read."""
        return self._disk_has_room() if len(self._failed_writes) >= FAILED_WRITES_MAX else None

    async def _disk_has_room(self) -> None:
        while len(self._failed_writes) >= FAILED_WRITES_MAX:
            await asyncio.wait(self._failed_writes, return_when=asyncio.FIRST_COMPLETED)

    def item_scraped(self, item: Any, response: Response | None) -> None:
        if isinstance(item, Quarantined):
            self._mark_failed(response)

    def item_error(self, response: Response | None) -> None:
        self._mark_failed(response)

    def _mark_failed(self, response: Response | None) -> None:
        if watched := self._watched.get(lease_of(response) or ""):
            watched.failed = True

    def page_done(self, response: Response, error: Exception | None) -> None:
        watched = self._watched.pop(lease_of(response) or "", None)
        if watched is None:
            return
        if isinstance(error, CloseSpider):  # the page is read again by another worker
            watched.hold.release()
            return
        watched.failed = watched.failed or error is not None or "broken" in response.flags
        self._decide(watched)

    def _decide(self, watched: Watched) -> None:
        assert self._recorder is not None
        kind = self._kind(watched)
        future = self._recorder.take(_page(watched, kind, self.crawler.spider)) if kind else None
        if kind and future is None:
            self.stats.inc_value("snapshot/dropped")
        if future is None:
            watched.hold.release()
        elif kind == "failed":
            self._start(self._index(future, watched.hold), self._failed_writes)
        else:
            watched.hold.release()
            self._start(self._index(future, NO_HOLD), self._tasks)

    def _kind(self, watched: Watched) -> Kind | None:
        if "private" in watched.response.meta:
            return None  # the response is a person's telephone number and nothing else
        if not watched.response.url.startswith(("http://", "https://")):
            return None  # a file of this machine, if a project allows such URLs
        if watched.response.status == NOT_MODIFIED:
            return None  # it has no body
        if watched.failed:
            return "failed"
        if self.settings.sample >= 1:
            return "all"
        return "sampled" if is_chosen(watched.response.url, self.settings.sample) else None

    # ----- its row in the index

    async def _index(self, future: "Future[SnapshotRef]", hold: Hold) -> None:
        try:
            ref = await asyncio.wrap_future(future)
        except SnapshotError as error:
            self.stats.inc_value("snapshot/unwritten")
            logger.error("snapshot/unwritten: %s", error)
            hold.release()
            return
        self.stats.inc_value(f"snapshot/{ref.kind}")
        if not self.crawler.signals.send_catch_log(queue_signals.page_kept, ref=ref, hold=hold):
            hold.release()  # nobody keeps an index

    async def last_batch(self) -> None:
        """Everything that was taken is written, and its rows are in the last batch. If the disk stays full, the pages
        that must be kept go back to the queue: nobody acknowledges them."""
        if waiting := {*self._tasks, *self._failed_writes}:
            _, unwritten = await asyncio.wait(waiting, timeout=CLOSING_SECONDS)
            for task in unwritten:
                task.cancel()

    async def closed(self) -> None:
        if self._recorder is not None:
            await asyncio.to_thread(self._recorder.close)

    def _start(self, work: Coroutine[Any, Any, None], tasks: set[asyncio.Future[None]]) -> None:
        task = asyncio.ensure_future(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)


def is_chosen(url: str, share: float) -> bool:
    """Whether a URL is in the sample: the same URLs every time and in every process, so that a page has a history."""
    number = int.from_bytes(blake2b(url.encode("utf-8", "replace"), digest_size=8).digest(), "big")
    return number < share * 2**64


def _page(watched: Watched, kind: Kind, spider: Any) -> Page:
    response = watched.response
    ref_of: Callable[[str], str | None] | None = getattr(spider, "ref_of", None)
    return Page(
        portal=spider.name,
        url=response.url,
        status=response.status,
        headers=tuple(
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, values in response.headers.items()
            for value in values
        ),
        body=response.body,
        fetched_at=watched.fetched_at,
        kind=kind,
        stage=response.meta.get("stage", "none"),
        ref=ref_of(response.url) if ref_of else None,
        job=response.meta.get("job"),
        hints=response.cb_kwargs,
    )

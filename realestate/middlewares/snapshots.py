"""Keeps the raw page of what failed, and of a sample of the rest."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import BaseSettings

from realestate.middlewares.conditional import NOT_MODIFIED
from realestate.queue import signals as ours
from realestate.queue.engine import LEASE
from realestate.queue.fleet import Fleet, fleet_of
from realestate.storage import Quarantined
from realestate.storage.snapshots import Kind, Page, Recorder, SnapshotError, SnapshotRef, SnapshotWriter, open_place

logger = logging.getLogger(__name__)


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
    fetched_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    failed: bool = False


class SnapshotMiddleware:
    """Decides about every page once, when its callback is over and its items are through the pipelines.

    A page whose callback raised or whose listing goes to quarantine is always kept, and its lease is held until its
    index row is stored: a worker killed before fetches it again. One of the sample is dropped rather than waited for.
    """

    def __init__(self, crawler: Crawler, settings: SnapshotSettings) -> None:
        assert crawler.stats is not None
        self.crawler = crawler
        self.settings = settings
        self.stats = crawler.stats
        self._recorder: Recorder | None = None
        self._watched: dict[int, Watched] = {}
        self._unstored: dict[int, tuple[SnapshotRef, str | None]] = {}
        self._tasks: set[asyncio.Future[None]] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = SnapshotSettings.from_settings(crawler.settings)
        open_place(settings.url)  # a wrong address shows before the first page
        middleware = cls(crawler, settings)
        handlers: tuple[tuple[Callable[..., Any], Any], ...] = (
            (middleware.serving, ours.serving),
            (middleware.items_stored, ours.items_stored),
            (middleware.last_batch, ours.last_batch),
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
        """Only a worker's pages are kept, not what somebody looks at in `scrapy shell`."""
        self._recorder = self.settings.recorder(self.fleet.worker)

    # ----- a page and its items

    def process_spider_input(self, response: Response) -> None:
        """Comes after HttpError: a page that is refused meets no parser."""
        if self._recorder is not None:
            self._watched[id(response)] = Watched(response)
            if lease := response.meta.get(LEASE):
                self.fleet.ledger.item_out(lease)

    async def page_ends(self, response: Response, error: Exception | None) -> None:
        """A failing page is waited for, so that they slow the crawl to what the disk can take."""
        if watched := self._watched.pop(id(response), None):
            watched.failed |= error is not None or "broken" in response.flags
            await self._over(watched)

    def item_scraped(self, item: Any, response: Response | None) -> None:
        if isinstance(item, Quarantined):
            self._failed(response)

    def item_error(self, response: Response | None) -> None:
        self._failed(response)

    def _failed(self, response: Response | None) -> None:
        if watched := self._watched.get(id(response)):
            watched.failed = True

    async def _over(self, watched: Watched) -> None:
        assert self._recorder is not None
        lease = watched.response.meta.get(LEASE)
        kind = self._kind(watched)
        future = self._recorder.take(_page(watched, kind, self.crawler.spider)) if kind else None
        if kind and future is None:
            self.stats.inc_value("snapshot/dropped")
        if kind == "failed" and future is not None:
            await self._index(future, lease)
            return
        self._release(lease)
        if future is not None:
            self._soon(self._index(future, None))

    def _kind(self, watched: Watched) -> Kind | None:
        if "private" in watched.response.meta:
            return None  # the answer is a person's telephone and nothing else
        if watched.response.status == NOT_MODIFIED:
            return None  # it says nothing
        if watched.failed:
            return "failed"
        if self.settings.sample >= 1:
            return "all"
        return "sampled" if is_chosen(watched.response.url, self.settings.sample) else None

    # ----- its row in the index

    async def _index(self, future: "Future[SnapshotRef]", lease: str | None) -> None:
        try:
            ref = await asyncio.wrap_future(future)
        except SnapshotError as error:
            self.stats.inc_value("snapshot/unwritten")
            logger.error("snapshot/unwritten: %s", error)
            self._release(lease)
            return
        self.stats.inc_value(f"snapshot/{ref.kind}")
        self._unstored[id(ref)] = (ref, lease)
        if not self.crawler.signals.send_catch_log(ours.page_kept, ref=ref):
            self.items_stored([ref])  # nobody keeps an index

    def items_stored(self, items: list[Any]) -> None:
        for item in items:
            if isinstance(item, SnapshotRef):
                _, lease = self._unstored.pop(id(item), (item, None))
                self._release(lease)

    async def last_batch(self) -> None:
        """What was taken is written, and its rows are handed over."""
        await asyncio.gather(*self._tasks)

    async def closed(self) -> None:
        if self._recorder is not None:
            await asyncio.to_thread(self._recorder.close)

    def _release(self, lease: str | None) -> None:
        if lease:
            self.fleet.ledger.item_in(lease)

    def _soon(self, act: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(act)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def is_chosen(url: str, share: float) -> bool:
    """The same pages every time, in every process, so that a page of the sample has a history."""
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

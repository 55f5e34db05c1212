"""Reads a portal's seeds from Redis for as long as the worker runs, and makes the first requests of each job."""

import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.exceptions import CloseSpider

from realestate.crawling import seeds
from realestate.crawling.job_completion import JobCompletion
from realestate.parsing.hosts import PRIVATE_ADVICE
from realestate.queue.credentials import without_credentials
from realestate.queue.packing import SEED
from realestate.queue.seed_middleware import Idle
from realestate.queue.seeds import ReaderRestarts
from realestate.storage.handle import has_store, provide_store, store_of
from realestate.storage.no_store import NoStore

if TYPE_CHECKING:
    from realestate.crawling.search_spider import SearchSpider

logger = logging.getLogger(__name__)


class SeedReader:
    """Takes seeds from `<portal>:start_urls`, opens their jobs, and yields their requests."""

    def __init__(self, spider: "SearchSpider") -> None:
        self.spider = spider
        self._is_done = False
        self._restarts = ReaderRestarts(spider.name)

    async def requests(self) -> AsyncIterator[Request]:
        """The requests of all seeds, as they come. It ends when the spider is closed, or when nothing has been left to
        do for long enough (UNTIL_DONE, MAX_IDLE_TIME_BEFORE_CLOSE)."""
        fleet = self.spider.fleet
        fleet.serve()
        self._use_no_store_if_there_is_none()
        completion = fleet.run_while_open(JobCompletion(self.spider).run())
        idle = Idle(fleet, self._longest_idle())
        try:
            while not self._is_done and not fleet.is_closed:
                if (request := await self._next_request(idle)) is not None:
                    yield request
        finally:
            completion.cancel()
            fleet.stop_serving()

    async def _next_request(self, idle: Idle) -> Request | None:
        """The request of the next seed. None if there was no seed for a while, or the seed made no request.

        No error ends the reading: otherwise Scrapy would close the spider, and nobody would read the seeds."""
        fleet = self.spider.fleet
        found = None
        try:
            found = await fleet.next_seed(idle.wait_seconds)
            if found is not None:
                idle.restart()
                request = await self._first_request(*found)
                self._restarts.succeeded(found[0])
                return request
            self._is_done = await idle.is_over()
        except CloseSpider:  # the store cannot be used: the worker stops, and the seed is given back
            raise
        except Exception as error:
            await self._recover(error, found)
        return None

    async def _recover(self, error: Exception, found: tuple[bytes, str] | None) -> None:
        """Read on after a while. A seed that failed too often becomes a dead letter."""
        fleet = self.spider.fleet
        if found is not None:
            seed, nonce = found
            if self._restarts.has_failed_too_often(seed):
                self._refuse(seed, error)
                await fleet.remove_seed(nonce)
                return
            fleet.seeds.take_again(nonce)
        await self._restarts.wait_after(error)

    def _longest_idle(self) -> float | None:
        """Seconds without work after which the spider closes; None if it never does."""
        settings = self.spider.settings
        if settings.getbool("UNTIL_DONE"):
            return 0.0
        return settings.getfloat("MAX_IDLE_TIME_BEFORE_CLOSE") or None

    def _use_no_store_if_there_is_none(self) -> None:
        """StorePipeline provides the store when the fleet begins to serve. A project may work without it."""
        crawler = self.spider.crawler
        if not has_store(crawler):
            provide_store(crawler, NoStore())
            logger.warning(
                "store/none: portal=%s: ITEM_PIPELINES has no realestate.pipelines.store.StorePipeline, so nothing is "
                "stored and every job reads every listing",
                self.spider.name,
            )

    async def _first_request(self, data: bytes, nonce: str) -> Request | None:
        """The request of a seed, its job open. None if the seed is refused, or if its job needs no search page."""
        request = self.spider.make_request_from_data(data)
        if request is None:
            await self.spider.fleet.remove_seed(nonce)
            return None
        request.meta[SEED] = nonce
        is_named = "job" in request.meta
        request.meta.setdefault("job", nonce)
        if is_named and await self.spider.fleet.jobs.is_cancelled(request.meta["job"]):
            await self.spider.fleet.remove_seed(nonce)
            return None
        if request.meta["stage"] != "plan":
            if is_named:  # somebody may ask how it is
                await self.open_job(request)
            return request
        if request.meta["mode"] == "refresh":
            await self._refresh(request)
            await self.spider.fleet.remove_seed(nonce)
            return None
        await self.open_job(request)
        return request

    async def open_job(self, request: Request) -> None:
        """Record that the job of this request has begun, in the store and in Redis. `JobCompletion` ends it."""
        jobs = self.spider.fleet.jobs
        job = request.meta["job"]
        mode = request.meta["mode"]
        scope = request.meta.pop("scope", "")
        meta = request.meta
        partial = partial_reason(meta.get("limit", 0), meta.get("filter", ""), meta.get("pages", ""))
        if not await jobs.is_open(job):
            await store_of(self.spider.crawler).ask(lambda store: store.begin_job(job, self.spider.name, mode, scope))
            await jobs.open(job, mode, scope, partial)
            self.spider.fleet.has_open_jobs = True
            only = " ".join(filter(None, (scope, partial)))
            logger.info("job/opened portal=%s job=%s mode=%s scope=%s", self.spider.name, job, mode, only or "all")

    async def _refresh(self, request: Request) -> None:
        """Push a request for each listing that is due. No search page is needed.

        They are pushed before the seed is removed; the dupe filter drops them if the seed is taken again."""
        job = request.meta["job"]
        mode = request.meta["mode"]
        due = await store_of(self.spider.crawler).ask(lambda store: store.due(self.spider.name))
        if limit := request.meta.get("limit"):
            due = due[:limit]
        logger.info("refresh/due portal=%s job=%s listings=%d", self.spider.name, job, len(due))
        self.spider.crawler.stats.inc_value("refresh/due", len(due))
        validators = await self.spider.validators_of(due)
        checks = (self.spider.check(each.url, job, mode, each.rent_period, validators.get(each.ref)) for each in due)
        await self.spider.fleet.push(checks)
        await self.open_job(request)

    def _why_outside(self, url: str) -> str:
        if self.spider.any_host:
            return f"not a public address: {url}; {PRIVATE_ADVICE}"
        return f"outside {self.spider.name}'s domains: {url}"

    def request_from(self, data: bytes) -> Request | None:
        """The request of a seed. A seed that cannot be used becomes a dead letter, and None is returned."""
        try:
            seed = seeds.parse(data)
            if not self.spider.owns(seed.url):
                raise seeds.BadSeed(self._why_outside(seed.url[:200]))
            request = self.spider.seed_request(seed)
            self.spider.fleet.check(request)
            return request
        except Exception as error:  # whatever somebody pushed, it must not stop the worker
            self._refuse(data, error)
            return None

    def _refuse(self, data: bytes, error: Exception) -> None:
        """One log line and one dead letter."""
        text = data.decode("utf-8", "backslashreplace")[:2000]
        reason = without_credentials(str(error))
        logger.warning("seed/refused portal=%s reason=%s", self.spider.name, reason)
        self.spider.crawler.stats.inc_value("seed/refused")
        self.spider.fleet.give_up("seed", reason, seed=without_credentials(text))


def partial_reason(limit: int, filter: str, pages: str) -> str:
    """Why a job does not read all results of its searches; "" if it does."""
    reasons = [f"at most {limit} listings"] if limit else []
    reasons += [f"only {filter}"] if filter else []
    reasons += [f"only pages {pages}"] if pages else []
    return " and ".join(reasons)

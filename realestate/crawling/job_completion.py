"""Completes jobs: when nothing of a job is left in the queue, checks what it did not find and decides what is gone.

Any worker of the portal may complete any job. Doing it twice does no harm.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from realestate.items import Part
from realestate.queue import outage
from realestate.storage.errors import StoreAway
from realestate.storage.event_counts import counts_of
from realestate.storage.handle import store_of

logger = logging.getLogger(__name__)

#: How often a worker looks for jobs with nothing left in the queue.
LOOK_SECONDS = 1.0
#: The parts of a search must show at least this share of its results. Listings come and go while it is read.
COVERED = 0.98
#: Why a cancelled job did not read everything.
CANCELLED = "it was cancelled"


def uncovered(parts: Sequence[Part]) -> str | None:
    """Why the parts of a split search do not cover it, by the portal's own numbers; None if they do."""
    shown = _shown(parts)
    for part in parts:
        if part.is_split and part.total and (found := shown.get(part.search, 0)) < COVERED * part.total:
            return f"its parts show {found} of {part.total} results of {part.search}"
    return None


def _shown(parts: Sequence[Part]) -> dict[str, int]:
    """How many results the parts of each search show. A part that names no total and was only split, such as a tree of
    categories, shows what its own parts show."""
    above = {part.search: part.parent for part in parts if part.total is None and part.is_split}
    shown: dict[str, int] = {}
    for part in parts:
        parent = part.parent
        for _ in range(len(above) + 1):
            if parent is None:
                break
            shown[parent] = shown.get(parent, 0) + (part.total or 0)
            if parent not in above:
                break
            parent = above[parent]
    return shown


class JobCompletion:
    """Completes the portal's jobs for as long as the spider runs."""

    def __init__(self, spider: Any) -> None:
        self.spider = spider
        self.stats = spider.crawler.stats
        self.fleet = spider.fleet

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if not self.fleet.has_open_jobs:
                continue
            try:
                await self.look()
            except StoreAway as error:
                outage.STORE.failed(f"finishing jobs of {self.name}", error)
                self.stats.inc_value("job/not_concluded")
            except Exception as error:  # one job is odd: try again later
                logger.warning("job/not_concluded portal=%s error=%s: %s", self.name, type(error).__name__, error)
                self.stats.inc_value("job/not_concluded")

    @property
    def name(self) -> str:
        """The portal's name."""
        return str(self.spider.name)

    async def look(self) -> None:
        """Complete each job that is over and that no other worker is completing."""
        jobs = self.fleet.jobs
        for job, opened in (await jobs.some()).items():
            if not await self.fleet.queue.is_over(job) or not await jobs.claim(job):
                continue
            try:
                await self._restore_record(job, opened)
                if opened.checking or not await self._check_missing(job, opened):
                    conclusion = await self._conclude(job)
                    await jobs.close(job)
                    await self._log_totals(job, opened, conclusion)
            finally:
                await jobs.release(job)

    async def _ask_store(self, question: Any) -> Any:
        return await store_of(self.spider.crawler).ask(question)

    async def _restore_record(self, job: str, opened: Any) -> None:
        """A database that was restored from a backup may have lost the job, and what the job saw. Then nothing follows
        from what it did not see, and the sweep is marked incomplete."""
        was_lost = await self._ask_store(lambda store: store.begin_job(job, self.name, opened.mode, opened.scope))
        if was_lost:
            reason = "the store has lost the record of the job"
            logger.warning("sweep/record_lost portal=%s job=%s reason=%s", self.name, job, reason)
            self.stats.inc_value("sweep/record_lost")
            await self._ask_store(lambda store: store.end_sweep(job, self.name, complete=False, reason=reason))

    async def _check_missing(self, job: str, opened: Any) -> bool:
        """Push requests for the listings that a complete job did not see. Returns whether there are any.

        Their pages are fetched without validators: some sites answer "not modified" for a listing that is gone."""
        parts = await self._ask_store(lambda store: store.parts(job, self.name))
        cancelled = CANCELLED if await self.fleet.jobs.is_cancelled(job) else None
        reason = cancelled or opened.partial or await self._given_up(job) or uncovered(parts)
        missing = await self._ask_store(
            lambda store: store.end_sweep(job, self.name, complete=not reason, reason=reason)
        )
        if opened.partial or cancelled:
            logger.debug("sweep/partial portal=%s job=%s reason=%s", self.name, job, reason)
        elif reason:
            logger.warning("sweep/incomplete portal=%s job=%s reason=%s", self.name, job, reason)
            self.stats.inc_value("sweep/incomplete")
        else:
            await self._set_watermarks(job, parts)
        if not missing:
            return False
        logger.debug("sweep/missing portal=%s job=%s listings=%d", self.name, job, len(missing))
        self.stats.inc_value("sweep/missing", len(missing))
        checks = (self.spider.check(each.url, job, opened.mode, each.rent_period) for each in missing)
        await self.fleet.push(checks)
        await self.fleet.jobs.check(job, opened)
        return True

    async def _given_up(self, job: str) -> str | None:
        """Why the job did not read all search pages; None if it did."""
        pages = 0
        for stage in ("plan", "discover"):
            pages += await self.fleet.jobs.given_up(job, stage)
        return f"{pages} search pages given up" if pages else None

    async def _set_watermarks(self, job: str, parts: Iterable[Part]) -> None:
        """One watermark for each search that was requested: what is new in one says nothing about another."""
        for part in parts:
            if part.parent is None and part.newest is not None:
                await self._ask_store(partial(_set_watermark, part, job))

    async def _conclude(self, job: str) -> Any:
        conclusion = await self._ask_store(lambda store: store.conclude(job, self.name))
        self.stats.inc_value("job/concluded")
        self.stats.inc_value("listing/delisted", conclusion.delisted)
        if conclusion.verdict == "withheld":
            self.stats.inc_value("delist/withheld")
            logger.error(
                "delist/withheld portal=%s job=%s: %d of %d listings gone, too many to believe; see `realestate jobs`",
                self.name,
                job,
                conclusion.found,
                conclusion.offered,
            )
        return conclusion

    async def _log_totals(self, job: str, opened: Any, conclusion: Any) -> None:
        seconds, events = await self._ask_store(partial(_totals, self.name, job))
        totals = await self.fleet.jobs.totals(job)
        found = " ".join(f"{type}={count}" for type, count in sorted(events.items()))
        logger.info(
            "job/concluded portal=%s job=%s mode=%s seconds=%.0f pages=%d retries=%d dead_letters=%d verdict=%s %s",
            self.name,
            job,
            opened.mode,
            seconds,
            totals.get("done", 0),
            totals.get("retried", 0),
            totals.get("dead", 0),
            conclusion.verdict,
            found or "nothing_changed",
        )


def _totals(portal: str, job: str, store: Any) -> tuple[float, Mapping[str, int]]:
    """How many seconds the job took, and its events by type. All times are the store's."""
    record = next(iter(store.jobs(portal, 1, job=job)), None)
    if record is None:
        return 0.0, {}
    ended = record.concluded_at or record.started_at
    (events,) = counts_of(store, [record]).values()
    return (ended - record.started_at).total_seconds(), events


def _set_watermark(part: Part, job: str, store: Any) -> None:
    store.set_watermark(part.portal, part.search, str(part.newest), job)

"""The end of a job: what it did not find is looked for, and what it found gone is weighed all together.

Any worker of the portal may conclude any job; doing it twice does no harm.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from realestate.items import Part
from realestate.storage.handle import store_of

logger = logging.getLogger(__name__)

#: How often a worker looks for jobs that are over.
LOOK_SECONDS = 1.0
#: The parts of a search show at least so much of what it has: the market moves while it is asked.
COVERED = 0.98


def uncovered(parts: Sequence[Part]) -> str | None:
    """What the parts of a split search leave out, by the portal's own numbers; None if nothing."""
    shown: dict[str | None, int] = {}
    for part in parts:
        shown[part.parent] = shown.get(part.parent, 0) + (part.total or 0)
    for part in parts:
        if part.is_split and part.total and (found := shown.get(part.search, 0)) < COVERED * part.total:
            return f"its parts show {found} of {part.total} results of {part.search}"
    return None


class Conclusions:
    """Concludes the portal's jobs, as long as the spider serves."""

    def __init__(self, spider: Any) -> None:
        self.spider = spider
        self.stats = spider.crawler.stats
        self.fleet = spider.fleet

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self._look()
            except Exception as error:  # Redis or the store is away, or a job is odd: the next look may do better
                logger.warning("job/not_concluded: %s: %s", type(error).__name__, error)
                self.stats.inc_value("job/not_concluded")

    async def _look(self) -> None:
        jobs = self.fleet.jobs
        for job, told in (await jobs.some()).items():
            if not await self.fleet.queue.is_over(job) or not await jobs.claim(job):
                continue
            try:
                await self._remind(job, told)
                if told.checking or not await self._check(job, told):
                    await self._conclude(job)
                    await jobs.close(job)
            finally:
                await jobs.release(job)

    async def _remind(self, job: str, told: Any) -> None:
        """A database that lost its last moments may have forgotten the job, and with it what the job saw: then nothing
        follows from what it did not see."""
        if await store_of(self.spider.crawler).ask(
            lambda store: store.begin_job(job, self.spider.name, told.mode, told.scope)
        ):
            reason = "the store has lost its beginning"
            logger.warning("sweep/forgotten: job %s of %s: %s", job, self.spider.name, reason)
            self.stats.inc_value("sweep/forgotten")
            await store_of(self.spider.crawler).ask(lambda store: store.end_sweep(job, complete=False, reason=reason))

    async def _check(self, job: str, told: Any) -> bool:
        """Ask for the pages of all that a complete run did not see. Whether there is any. They are read whole: of what
        is gone, some sites still say that nothing changed."""
        parts = await store_of(self.spider.crawler).ask(lambda store: store.parts(job))
        reason = await self._given_up(job) or uncovered(parts)
        missing = await store_of(self.spider.crawler).ask(
            lambda store: store.end_sweep(job, complete=not reason, reason=reason)
        )
        if reason:
            logger.warning("sweep/incomplete: job %s of %s: %s", job, self.spider.name, reason)
            self.stats.inc_value("sweep/incomplete")
        else:
            await self._set_watermarks(job, parts)
        if not missing:
            return False
        logger.info("sweep/missing: job %s of %s did not see %d listings", job, self.spider.name, len(missing))
        self.stats.inc_value("sweep/missing", len(missing))
        checks = (self.spider.check(each.url, job, told.mode, each.rent_period) for each in missing)
        await self.fleet.push(checks)
        await self.fleet.jobs.check(job, told)
        return True

    async def _given_up(self, job: str) -> str | None:
        pages = sum([await self.fleet.jobs.given_up(job, stage) for stage in ("plan", "discover")])
        return f"{pages} search pages given up" if pages else None

    async def _set_watermarks(self, job: str, parts: Iterable[Part]) -> None:
        """One for each search that was asked for: what is new in one says nothing of another."""
        for part in parts:
            if part.parent is None and part.newest is not None:
                told = (part.portal, part.search, str(part.newest), job)
                await store_of(self.spider.crawler).ask(partial(_set_watermark, told))

    async def _conclude(self, job: str) -> None:
        conclusion = await store_of(self.spider.crawler).ask(lambda store: store.conclude(job))
        self.stats.inc_value("job/concluded")
        self.stats.inc_value("listing/delisted", conclusion.delisted)
        if conclusion.verdict == "withheld":
            self.stats.inc_value("delist/withheld")
            told = f"job {job} of {self.spider.name} found {conclusion.found} of {conclusion.offered} listings gone"
            logger.error("delist/withheld: %s: too many to be believed; see `realestate runs`", told)


def _set_watermark(told: tuple[str, str, str, str], store: Any) -> None:
    store.set_watermark(*told)

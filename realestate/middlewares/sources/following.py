"""Keeps a pool of proxies up to date, from wherever they come."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from scrapy.statscollectors import StatsCollector

from realestate.middlewares.proxies import Pool, Proxy

logger = logging.getLogger(__name__)

#: A worker that ends waits so long for what its sources have to put away; what is left is swept by another.
CLOSE_SECONDS = 20.0


class SourceAway(Exception):
    """It cannot be asked now: what it told last still holds. Its text shows no credentials."""


class SourceRefused(Exception):
    """What it gives cannot be used, and what it gave neither. Its text shows no credentials."""


class Source(Protocol):
    """Where proxies come from."""

    name: str
    seconds: float
    """Asked again after so long."""

    async def proxies(self) -> Sequence[Proxy]:
        """Those to be used from now on; raises SourceAway or SourceRefused."""

    async def close(self) -> None:
        """The worker ends."""


class Sources:
    """Asks each source in its time and fills the pool with what all of them told. `changed` is called after that."""

    def __init__(
        self,
        pool: Pool,
        sources: Sequence[Source],
        *,
        stats: StatsCollector,
        changed: Callable[[], object] = lambda: None,
    ) -> None:
        self.pool = pool
        self.sources = sources
        self.stats = stats
        self.changed = changed
        self._told: dict[str, Sequence[Proxy]] = {}
        self._trouble: dict[str, str] = {}
        self._ready = asyncio.Event()

    def __len__(self) -> int:
        return len(self.sources)

    async def run(self) -> None:
        """For ever."""
        async with asyncio.TaskGroup() as group:
            for source in self.sources:
                group.create_task(self._follow(source))

    async def ready(self) -> None:
        """Until there is an exit, or each source has failed to give one: trying free proxies takes minutes."""
        if self.sources:
            await self._ready.wait()

    async def close(self) -> None:
        """Puts away what the sources made; `run` has been cancelled before."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await asyncio.gather(*(self._close(source) for source in self.sources))

    async def _follow(self, source: Source) -> None:
        while True:
            await self._ask(source)
            await asyncio.sleep(source.seconds)

    async def _ask(self, source: Source) -> None:
        try:
            self._told[source.name] = await source.proxies()
            self._trouble.pop(source.name, None)
        except SourceRefused as error:
            self._told[source.name] = ()
            self._complain(source, "refused", str(error), logging.ERROR)
        except SourceAway as error:
            self._told.setdefault(source.name, ())
            self._complain(source, "away", str(error), logging.WARNING)
        except Exception as error:  # whatever it is, the others go on; its text may show anything
            self._told.setdefault(source.name, ())
            self._complain(source, "away", type(error).__name__, logging.ERROR)
        self._fill()

    def _complain(self, source: Source, kind: str, text: str, level: int) -> None:
        """Each trouble is told once, and counted each time."""
        self.stats.inc_value(f"proxies/{source.name}/{kind}")
        if self._trouble.get(source.name) != text:
            logger.log(level, "proxies/%s: %s: %s", kind, source.name, text)
        self._trouble[source.name] = text

    def _fill(self) -> None:
        for name, told in self._told.items():
            self.stats.set_value(f"proxies/{name}/exits", len(told))
        if self.pool.replace(proxy for told in self._told.values() for proxy in told):
            logger.info("proxies/changed: %d exits", len(self.pool))
            self.changed()
        if not self._ready.is_set() and (self.pool or len(self._told) == len(self.sources)):
            self._ready.set()
            if not self.pool:
                logger.error("proxies/none: no source gives any exit")
                self.stats.inc_value("proxies/none")

    async def _close(self, source: Source) -> None:
        try:
            await source.close()
        except Exception as error:
            logger.warning("proxies/close: %s: %s", source.name, type(error).__name__)

"""Asks the proxy sources regularly and keeps the pool of proxies up to date."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from scrapy.statscollectors import StatsCollector

from realestate.middlewares.proxies import Proxy, ProxyPool

logger = logging.getLogger(__name__)

#: A worker that stops waits this long for its sources to clean up. Another worker removes what is left.
CLOSE_SECONDS = 20.0


class SourceUnavailable(Exception):
    """The source does not work now: its last proxies stay in use. The text contains no credentials."""


class SourceRefused(Exception):
    """The proxies of the source must not be used, nor those it gave before. The text contains no credentials."""


class ProxySource(Protocol):
    """Gives proxies."""

    name: str
    seconds: float
    """The time between two calls of `proxies`."""

    async def proxies(self) -> Sequence[Proxy]:
        """The proxies to use from now on; raises SourceUnavailable or SourceRefused."""

    async def close(self) -> None:
        """Called when the worker stops."""


class ProxySources:
    """Asks each source at its interval and fills the pool with all proxies. Calls `changed` after a change."""

    def __init__(
        self,
        pool: ProxyPool,
        sources: Sequence[ProxySource],
        *,
        stats: StatsCollector,
        changed: Callable[[], object] = lambda: None,
    ) -> None:
        self.pool = pool
        self.sources = sources
        self.stats = stats
        self.changed = changed
        self._proxies: dict[str, Sequence[Proxy]] = {}
        self._last_error: dict[str, str] = {}
        self._ready = asyncio.Event()

    def __len__(self) -> int:
        return len(self.sources)

    async def run(self) -> None:
        """Runs until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            for source in self.sources:
                group.create_task(self._refresh(source))

    async def ready(self) -> None:
        """Wait until there is a proxy, or each source has failed to give one. Testing free proxies takes minutes."""
        if self.sources:
            await self._ready.wait()

    async def close(self) -> None:
        """Let the sources clean up; `run` has been cancelled before."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await asyncio.gather(*(self._close(source) for source in self.sources))

    async def _refresh(self, source: ProxySource) -> None:
        while True:
            await self._ask(source)
            await asyncio.sleep(source.seconds)

    async def _ask(self, source: ProxySource) -> None:
        try:
            self._proxies[source.name] = await source.proxies()
            self._last_error.pop(source.name, None)
        except SourceRefused as error:
            self._proxies[source.name] = ()
            self._failed(source, "refused", str(error), logging.ERROR)
        except SourceUnavailable as error:
            self._proxies.setdefault(source.name, ())
            self._failed(source, "unavailable", str(error), logging.WARNING)
        except Exception as error:  # the other sources go on; the error's text may contain credentials
            self._proxies.setdefault(source.name, ())
            self._failed(source, "unavailable", type(error).__name__, logging.ERROR)
        self._fill_pool()

    def _failed(self, source: ProxySource, kind: str, text: str, level: int) -> None:
        """Count the failure each time, and log it when it is new."""
        self.stats.inc_value(f"proxy/source/{source.name}/{kind}")
        if self._last_error.get(source.name) != text:
            logger.log(level, "proxy/source_%s: source=%s: %s", kind, source.name, text)
        self._last_error[source.name] = text

    def _fill_pool(self) -> None:
        for name, proxies in self._proxies.items():
            self.stats.set_value(f"proxy/source/{name}/count", len(proxies))
        if self.pool.replace(proxy for proxies in self._proxies.values() for proxy in proxies):
            logger.info("proxy/changed: count=%d", len(self.pool))
            self.changed()
        if not self._ready.is_set() and (self.pool or len(self._proxies) == len(self.sources)):
            self._ready.set()
            if not self.pool:
                logger.error("proxy/none: no source gives a proxy; nothing is fetched until one does")
                self.stats.inc_value("proxy/none")

    async def _close(self, source: ProxySource) -> None:
        try:
            await source.close()
        except Exception as error:
            logger.warning("proxy/source_not_closed: source=%s: %s", source.name, type(error).__name__)

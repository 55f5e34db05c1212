"""Signals: who listens, and what he wants to hear, is looked up when somebody connects and not with every page."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Self

from pydispatch.dispatcher import WEAKREF_TYPES, getAllReceivers
from scrapy.crawler import Crawler
from scrapy.exceptions import StopDownload
from scrapy.signalmanager import SignalManager
from scrapy.utils.defer import ensure_awaitable
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

logger = logging.getLogger(__name__)


class Receiver(NamedTuple):
    """One who listens to a signal."""

    ref: Callable[[], Callable[..., Any] | None]
    """Gives him, as long as he lives."""
    wants: frozenset[str] | None
    """What he takes of what is told; None: all of it."""


class Signals(SignalManager):
    """Scrapy's manager with the same receivers: those who connected before it took its place hear it too."""

    def __init__(self, sender: Any) -> None:
        super().__init__(sender)
        self._receivers: dict[Any, tuple[Receiver, ...]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """As an add-on: it comes before every component that connects or sends."""
        signals = cls(crawler)
        crawler.signals = signals
        return signals

    def connect(self, receiver: Any, signal: Any, **kwargs: Any) -> None:
        super().connect(receiver, signal, **kwargs)
        self._receivers.clear()

    def disconnect(self, receiver: Any, signal: Any, **kwargs: Any) -> None:
        super().disconnect(receiver, signal, **kwargs)
        self._receivers.clear()

    def disconnect_all(self, signal: Any, **kwargs: Any) -> None:
        super().disconnect_all(signal, **kwargs)
        self._receivers.clear()

    def is_heard(self, signal: Any) -> bool:
        """Whether anybody listens."""
        return bool(self._listening(signal))

    def send_catch_log(self, signal: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        if "sender" in kwargs:
            return super().send_catch_log(signal, **kwargs)
        if not self._listening(signal):
            return []
        quiet = (*_quiet(kwargs), StopDownload)
        results: list[tuple[Any, Any]] = []
        told = {**kwargs, "signal": signal, "sender": self.sender}
        for receiver, wants in self._hearing(signal):
            try:
                results.append((receiver, receiver(**_heard(told, wants))))
            except Exception as error:
                _log(receiver, error, quiet, kwargs)
                results.append((receiver, Failure()))  # type: ignore[no-untyped-call]
        return results

    async def send_catch_log_async(self, signal: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        if "sender" in kwargs:
            return await super().send_catch_log_async(signal, **kwargs)
        quiet = _quiet(kwargs)
        results: list[tuple[Any, Any]] = []
        waited_for: list[tuple[int, Awaitable[Any]]] = []
        told = {**kwargs, "signal": signal, "sender": self.sender}
        for receiver, wants in self._hearing(signal):
            try:
                result = receiver(**_heard(told, wants))
            except Exception as error:
                _log(receiver, error, quiet, kwargs)
                result = error
            if result is not None and (inspect.isawaitable(result) or isinstance(result, Deferred)):
                waited_for.append((len(results), ensure_awaitable(result)))
            results.append((receiver, result))
        if waited_for:  # mostly nobody has to be
            outcomes = await asyncio.gather(*(each for _, each in waited_for), return_exceptions=True)
            for (place, _), outcome in zip(waited_for, outcomes, strict=True):
                receiver = results[place][0]
                if isinstance(outcome, Exception):
                    _log(receiver, outcome, quiet, kwargs)
                results[place] = (receiver, outcome)
        return results

    def _hearing(self, signal: Any) -> list[tuple[Callable[..., Any], frozenset[str] | None]]:
        """Those who live."""
        refs = self._listening(signal)
        return [(receiver, wants) for ref, wants in refs if (receiver := ref()) is not None]

    def _listening(self, signal: Any) -> tuple[Receiver, ...]:
        found = self._receivers.get(signal)
        if found is None:
            found = self._receivers[signal] = tuple(map(_receiver, getAllReceivers(self.sender, signal)))
        return found


def _heard(told: dict[str, Any], wants: frozenset[str] | None) -> dict[str, Any]:
    return told if wants is None else {name: told[name] for name in wants if name in told}


def _receiver(found: Any) -> Receiver:
    ref: Callable[[], Any] = found if isinstance(found, WEAKREF_TYPES) else lambda: found
    receiver = ref()
    parameters = inspect.signature(receiver).parameters.values() if receiver is not None else ()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return Receiver(ref, None)
    return Receiver(ref, frozenset(each.name for each in parameters))


def _quiet(told: dict[str, Any]) -> tuple[type[Exception], ...]:
    """Errors of receivers that nobody wants to read of."""
    if "dont_log" not in told:
        return ()
    given = told.pop("dont_log")
    return (given,) if isinstance(given, type) else tuple(given)


def _log(receiver: Any, error: Exception, quiet: tuple[type[Exception], ...], told: dict[str, Any]) -> None:
    if not isinstance(error, quiet):
        extra = {"spider": told.get("spider")}
        logger.error("Error caught on signal handler: %s", receiver, exc_info=error, extra=extra)

"""A signal manager that looks up receivers and their parameters when somebody connects, not with every signal."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from pydispatch.dispatcher import WEAKREF_TYPES, getAllReceivers
from scrapy.exceptions import StopDownload
from scrapy.signalmanager import SignalManager
from scrapy.utils.defer import ensure_awaitable
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

logger = logging.getLogger(__name__)


class Receiver(NamedTuple):
    """One receiver of a signal."""

    ref: Callable[[], Callable[..., Any] | None]
    """Returns the receiver; None when it was garbage-collected."""
    wants: frozenset[str] | None
    """The names of the arguments that it takes; None means all."""


class Signals(SignalManager):
    """Scrapy's manager. Receivers that connected before it was installed are called too."""

    def __init__(self, sender: Any) -> None:
        super().__init__(sender)
        self._receivers: dict[Any, tuple[Receiver, ...]] = {}

    def connect(self, receiver: Any, signal: Any, **kwargs: Any) -> None:
        super().connect(receiver, signal, **kwargs)
        self._receivers.clear()

    def disconnect(self, receiver: Any, signal: Any, **kwargs: Any) -> None:
        super().disconnect(receiver, signal, **kwargs)
        self._receivers.clear()

    def disconnect_all(self, signal: Any, **kwargs: Any) -> None:
        super().disconnect_all(signal, **kwargs)
        self._receivers.clear()

    def has_receivers(self, signal: Any) -> bool:
        """Whether the signal has any receiver."""
        return bool(self._receivers_of(signal))

    def send_catch_log(self, signal: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        if "sender" in kwargs:
            return super().send_catch_log(signal, **kwargs)
        if not self._receivers_of(signal):
            return []
        quiet = (*_quiet(kwargs), StopDownload)
        results: list[tuple[Any, Any]] = []
        arguments = {**kwargs, "signal": signal, "sender": self.sender}
        for receiver, wants in self._living(signal):
            try:
                results.append((receiver, receiver(**_arguments(arguments, wants))))
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
        arguments = {**kwargs, "signal": signal, "sender": self.sender}
        for receiver, wants in self._living(signal):
            try:
                result = receiver(**_arguments(arguments, wants))
            except Exception as error:
                _log(receiver, error, quiet, kwargs)
                result = error
            if result is not None and (inspect.isawaitable(result) or isinstance(result, Deferred)):
                waited_for.append((len(results), ensure_awaitable(result)))
            results.append((receiver, result))
        if waited_for:  # most receivers are not async
            outcomes = await asyncio.gather(*(each for _, each in waited_for), return_exceptions=True)
            for (place, _), outcome in zip(waited_for, outcomes, strict=True):
                receiver = results[place][0]
                if isinstance(outcome, Exception):
                    _log(receiver, outcome, quiet, kwargs)
                results[place] = (receiver, outcome)
        return results

    def _living(self, signal: Any) -> list[tuple[Callable[..., Any], frozenset[str] | None]]:
        """The receivers that still exist."""
        refs = self._receivers_of(signal)
        return [(receiver, wants) for ref, wants in refs if (receiver := ref()) is not None]

    def _receivers_of(self, signal: Any) -> tuple[Receiver, ...]:
        found = self._receivers.get(signal)
        if found is None:
            found = self._receivers[signal] = tuple(map(_receiver, getAllReceivers(self.sender, signal)))
        return found


def _arguments(arguments: dict[str, Any], wants: frozenset[str] | None) -> dict[str, Any]:
    return arguments if wants is None else {name: arguments[name] for name in wants if name in arguments}


def _receiver(found: Any) -> Receiver:
    ref: Callable[[], Any] = found if isinstance(found, WEAKREF_TYPES) else lambda: found
    receiver = ref()
    parameters = inspect.signature(receiver).parameters.values() if receiver is not None else ()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return Receiver(ref, None)
    return Receiver(ref, frozenset(each.name for each in parameters))


def _quiet(arguments: dict[str, Any]) -> tuple[type[Exception], ...]:
    """The errors of receivers that are not logged."""
    if "dont_log" not in arguments:
        return ()
    given = arguments.pop("dont_log")
    return (given,) if isinstance(given, type) else tuple(given)


def _log(receiver: Any, error: Exception, quiet: tuple[type[Exception], ...], arguments: dict[str, Any]) -> None:
    if not isinstance(error, quiet):
        extra = {"spider": arguments.get("spider")}
        logger.error("Error caught on signal handler: %s", receiver, exc_info=error, extra=extra)

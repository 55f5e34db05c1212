"""The leases that this process holds, each with what its page still waits for.

A lease is over when its callback has ended, everything the callback yielded has been handled, and nothing holds it open
any more. Then it becomes a Settlement that carries the page's children: the queue acknowledges the page and enqueues
them in one step.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from realestate.queue.request_ids import child as child_id
from realestate.queue.request_queue import Lease, Outcome, Pushed, Settlement


@dataclass(slots=True)
class Held:
    """One lease, and what is still open about it."""

    lease: Lease
    started: bool = False
    """Its request was given to the engine."""
    callback_finished: bool = False
    """The callback has ended, and all it yielded has been handled."""
    holds: int = 0
    """What keeps the lease open, such as an item that waits for the database."""
    children: list[Pushed] = field(default_factory=list)
    outcome: Outcome = "done"
    detail: Any = None
    missed: int = 0
    url: str = ""
    received: int = 0
    """Bytes of its responses, as they were transferred."""
    cpu_seconds: float = 0.0
    """CPU time that the page has used."""
    record: bytes = b""
    """What the parent process reads about the page."""
    is_abandoned: bool = False
    """The page used too much CPU time. Its outcome does not change any more."""

    @property
    def complete(self) -> bool:
        return self.callback_finished and not self.holds

    def next_child(self) -> bytes:
        """Identifies the page's next child among those that are not filtered as duplicates."""
        return child_id(self.lease.id, len(self.children))


class Hold:
    """Keeps one lease open until it is released."""

    __slots__ = ("_key", "_ledger")

    def __init__(self, ledger: "Ledger | None" = None, key: str = "") -> None:
        self._ledger = ledger
        self._key = key

    def release(self) -> None:
        """Releasing twice does nothing."""
        if self._ledger is not None:
            ledger = self._ledger
            self._ledger = None
            ledger.release(self._key)


#: For what belongs to no lease.
NO_HOLD = Hold()


class Ledger:
    """All leases of this process, by the key that a request carries in its meta."""

    def __init__(self, end: Callable[[Settlement], None]) -> None:
        self._end = end
        self._held: dict[str, Held] = {}

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[tuple[str, Held]]:
        return iter(list(self._held.items()))

    def open(self, lease: Lease) -> str:
        key = f"{lease.id.hex()}:{lease.token}"
        self._held[key] = Held(lease)
        return key

    def get(self, key: object) -> Held | None:
        return self._held.get(key) if isinstance(key, str) else None

    def hold(self, key: object) -> Hold:
        """Keep a lease open until the returned object is released."""
        held = self.get(key)
        if held is None or not isinstance(key, str):
            return NO_HOLD
        held.holds += 1
        return Hold(self, key)

    def release(self, key: str) -> None:
        """One hold less."""
        if held := self.get(key):
            held.holds -= 1
            self._maybe_end(key, held)

    def finished(self, key: str) -> None:
        """The callback or errback has ended, and all it yielded has been handled."""
        if held := self.get(key):
            held.callback_finished = True
            self._maybe_end(key, held)

    def end(self, key: str, outcome: Outcome, detail: Any = None) -> None:
        """End the lease now, even if something is still open."""
        if held := self._held.pop(key, None):
            is_unsent = outcome == "back" or (outcome == "retry" and not detail[2])
            unused = held.lease.proxy_id if is_unsent else ""
            requests = int(held.started and not is_unsent)
            cost = (requests, held.received, requests if held.lease.proxy_id else 0)
            children = tuple(held.children)
            self._end(Settlement(held.lease.id, held.lease.token, outcome, detail, children, unused, cost))

    def without_trace(self, busy: set[object], looks: int) -> Iterator[tuple[str, Held]]:
        """The leases that were started, are not finished, and were not among `busy` in this many looks."""
        for key, held in self:
            idle = held.started and not held.callback_finished and key not in busy
            held.missed = held.missed + 1 if idle else 0
            if held.missed >= looks:
                yield key, held

    def _maybe_end(self, key: str, held: Held) -> None:
        if held.complete:
            self.end(key, held.outcome, held.detail)

"""What this process holds: each lease with its page's items and children, until nothing of it is missing.

A lease ends when its callback has finished and its items are durable. Then, and only then, it is handed on as an
Ending that carries the children: the queue acknowledges the page and enqueues them in one act.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from realestate.queue.identity import child as child_identity
from realestate.queue.request_queue import Ending, Lease, Outcome, Pushed


@dataclass(slots=True)
class Held:
    """One lease and what is still open about it."""

    lease: Lease
    started: bool = False
    callback_finished: bool = False
    items: int = 0
    children: list[Pushed] = field(default_factory=list)
    outcome: Outcome = "done"
    detail: Any = None
    missed: int = 0
    url: str = ""

    @property
    def complete(self) -> bool:
        return self.callback_finished and not self.items

    def next_child(self) -> bytes:
        """Identifies the page's next child among those that are not to be filtered."""
        return child_identity(self.lease.id, len(self.children))


class Ledger:
    """All leases of this process, by the key a request carries."""

    def __init__(self, end: Callable[[Ending], None]) -> None:
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

    def item_out(self, key: str) -> None:
        """The callback made an item."""
        if held := self.get(key):
            held.items += 1

    def item_in(self, key: str) -> None:
        """The item is stored, in quarantine, or dropped on purpose."""
        if held := self.get(key):
            held.items -= 1
            self._maybe_end(key, held)

    def finished(self, key: str) -> None:
        """The callback or errback is over."""
        if held := self.get(key):
            held.callback_finished = True
            self._maybe_end(key, held)

    def end(self, key: str, outcome: Outcome, detail: Any = None) -> None:
        """End it now, whatever is open."""
        if held := self._held.pop(key, None):
            is_unsent = outcome == "back" or (outcome == "retry" and not detail[2])
            unused = held.lease.proxy_id if is_unsent else ""
            self._end(Ending(held.lease.id, held.lease.token, outcome, detail, tuple(held.children), unused))

    def without_trace(self, busy: set[object], looks: int) -> Iterator[tuple[str, Held]]:
        """Those that were sent, whose callback is not over, and that nobody worked on in so many looks."""
        for key, held in self:
            idle = held.started and not held.callback_finished and key not in busy
            held.missed = held.missed + 1 if idle else 0
            if held.missed >= looks:
                yield key, held

    def _maybe_end(self, key: str, held: Held) -> None:
        if held.complete:
            self.end(key, held.outcome, held.detail)

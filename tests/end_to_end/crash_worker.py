"""A worker that dies at a named point, as if the machine had: `python -m tests.end_to_end.crash_worker POINT MARKER`.

The product's own code runs; only the point is wrapped, so that the process kills itself there and writes the point into
the file MARKER. Further arguments, NAME=number, change settings.
"""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

from redis.asyncio import Redis
from scrapy import Request, signals

from realestate import settings
from realestate.items import Listing
from realestate.jobs import work
from realestate.pipelines.store import StorePipeline
from realestate.queue.fleet import fleet_of
from realestate.queue.ledger import Held
from realestate.queue.request_queue import Pushed, RequestQueue, Settlement, Taken
from realestate.queue.scheduler import Scheduler
from realestate.queue.seed_source import SeedSource
from realestate.queue.seeds import SeedList
from realestate.storage.postgres import PostgresStore

MARKER = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(os.devnull)
#: This many listings pass the point before the worker dies there.
BEFORE = 20


def die(**seen: Any) -> NoReturn:
    MARKER.write_text(json.dumps({"point": sys.argv[1], **seen}), "utf-8")
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit  # never: the process is gone


class Nth:
    """True from the n-th time on."""

    def __init__(self, count: int) -> None:
        self.left = count

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


late = Nth(BEFORE)


def wrap(owner: type, name: str, wrapper: Callable[[Any], Any]) -> None:
    original = getattr(owner, name)
    setattr(owner, name, wraps(original)(wrapper(original)))


def at_signal(signal: object, dies: Callable[[Request], None]) -> None:
    """Call `dies` when Scrapy sends the signal for a listing's page."""

    def handler(request: Request, **_: Any) -> None:
        if request.meta.get("stage") == "extract" and late():
            dies(request)

    def wrapper(opened: Any) -> Any:
        def open(self: Scheduler, spider: Any) -> Any:
            self.crawler.signals.connect(handler, signal=signal, weak=False)
            return opened(self, spider)

        return open

    wrap(Scheduler, "open", wrapper)


# ----- the points


def taken() -> None:
    """Requests are leased; none is sent."""

    def wrapper(take: Any) -> Any:
        async def run(self: RequestQueue, *asked: Any) -> Taken:
            reply: Taken = await take(self, *asked)
            if sum(lease.stage == "extract" for lease in reply.leases) > 1:
                die(leases=len(reply.leases))
            return reply

        return run

    wrap(RequestQueue, "take", wrapper)


def downloading() -> None:
    """The headers of a response have arrived; the body has not."""
    at_signal(signals.headers_received, lambda request: die(url=request.url))


def downloaded() -> None:
    """A page has arrived; its callback has not started."""
    at_signal(signals.response_received, lambda request: die(url=request.url))


def callback_done() -> None:
    """The callback has finished; its item is in the pipelines and not in the batch."""

    def wrapper(process_item: Any) -> Any:
        def run(self: StorePipeline, item: Any) -> Any:
            if late():
                die(ref=item.ref)
            return process_item(self, item)

        return run

    wrap(StorePipeline, "process_item", wrapper)


def in_the_batch(acknowledged: bool = False) -> None:
    """The batch is full and not written. With `acknowledged`, early acknowledgements have reached Redis."""

    def wrapper(write: Any) -> Any:
        async def run(self: StorePipeline, items: list[Any]) -> Any:
            if not any(isinstance(each.item, Listing) for each in items):
                return await write(self, items)
            fleet = fleet_of(self.crawler)
            assert fleet is not None
            while acknowledged and len(fleet.outbox):
                await asyncio.sleep(0.01)
            die(items=len(items))

        return run

    wrap(StorePipeline, "_write", wrapper)


def committed() -> None:
    """The batch is committed; its requests are not acknowledged."""

    def wrapper(write: Any) -> Any:
        def run(self: PostgresStore, *batch: Any) -> Any:
            written = write(self, *batch)
            if written.new:
                die(new=written.new)
            return written

        return run

    wrap(PostgresStore, "write", wrapper)


def outbox_unsent() -> None:
    """A search page is done; neither its acknowledgement nor its children have been sent."""
    settling(lambda settlements: any(ending.children for ending in settlements), send_endings=False)


def children_unsent() -> None:
    """A search page is acknowledged. Children that should have been sent earlier were not sent, so only the children in
    the acknowledgement reach Redis."""
    settling(lambda settlements: any(ending.children for ending in settlements), send_endings=True)


def settling(which: Callable[[list[Settlement]], bool], *, send_endings: bool) -> None:
    def wrapper(settle: Any) -> Any:
        async def run(self: RequestQueue, settlements: list[Settlement], early: list[Pushed]) -> Any:
            if not which(settlements):
                return await settle(self, settlements, early)
            if send_endings:
                await settle(self, settlements, ())
            die(settlements=len(settlements), early=len(early))

        return run

    wrap(RequestQueue, "settle", wrapper)


def seed_taken() -> None:
    """A seed is in the worker's own list and not in the queue."""

    def wrapper(take: Any) -> Any:
        async def run(self: SeedList, seconds: int) -> bytes | None:
            seed: bytes | None = await take(self, seconds)
            if seed is not None:
                die(seed=seed.decode())
            return seed

        return run

    wrap(SeedList, "_take", wrapper)


def seed_enqueued() -> None:
    """A seed is in the queue and still in the worker's own list."""
    removing(first=True)


def seed_half_removed() -> None:
    """One of the two commands that remove a seed is done."""
    removing(first=False)


def removing(*, first: bool) -> None:
    left = [0 if first else 1]

    def wrapper(command: Any) -> Any:
        def run(self: Any, *arguments: Any) -> Any:
            key = next(each for each in arguments if isinstance(each, str))
            if key.endswith(":seed_names") or ":taken:" in key:
                if not left[0]:
                    die(key=key)
                left[0] -= 1
            return command(self, *arguments)

        return run

    wrap(Redis, "hdel", wrapper)
    wrap(SeedSource, "remove", wrapper)


def acknowledged_too_early() -> None:
    """A wrong worker: it acknowledges a page when the callback has finished, before the items are stored."""
    Held.complete = property(lambda held: held.callback_finished)  # type: ignore[assignment,method-assign]
    in_the_batch(acknowledged=True)


def slow_farewell() -> None:
    """A worker whose store is slow to close."""

    def wrapper(close: Any) -> Any:
        def run(self: PostgresStore) -> None:
            time.sleep(0.025)
            close(self)

        return run

    wrap(PostgresStore, "close", wrapper)


def after_the_other() -> None:
    """A correct worker that is loaded and starts when the other has died. It recovers as fast as a running worker and
    takes no pages of the other before."""
    while not MARKER.exists():
        time.sleep(0.05)


def patient() -> None:
    """A worker that writes a batch only when it is full or old, also when the queue is empty."""
    StorePipeline.scheduler_empty = lambda self: None  # type: ignore[method-assign]


def never() -> None:
    """A worker that only has other settings."""


POINTS: dict[str, Callable[[], None]] = {
    "taken": taken,
    "downloading": downloading,
    "downloaded": downloaded,
    "callback done": callback_done,
    "in the batch": in_the_batch,
    "committed, not acknowledged": committed,
    "outbox unsent": outbox_unsent,
    "acknowledged, children unsent": children_unsent,
}

SEED_POINTS: dict[str, Callable[[], None]] = {
    "seed taken": seed_taken,
    "seed enqueued": seed_enqueued,
    "seed half removed": seed_half_removed,
}
#: Workers with another behaviour that do not die at a point of the lists above.
OTHERS: dict[str, Callable[[], None]] = {
    "acknowledged too early": acknowledged_too_early,
    "slow farewell": slow_farewell,
    "after the other": after_the_other,
    "patient": patient,
    "never": never,
}

if __name__ == "__main__":
    point, _, *changes = sys.argv[1:]
    for change in changes:
        name, _, number = change.partition("=")
        setattr(settings, name, float(number))
    {**POINTS, **SEED_POINTS, **OTHERS}[point]()
    work.work(["emlak"], settings.REDIS_URL or "", settings.STORE_URL or "")

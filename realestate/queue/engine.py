"""Undocumented parts of Scrapy's engine that the queue uses. Without them it still works, with some delay."""

from contextlib import suppress

from scrapy.core.engine import ExecutionEngine

#: The meta key under which a request carries the key of its lease.
LEASE = "lease"


def wake(engine: ExecutionEngine) -> None:
    """Make the engine ask for requests now. Otherwise it asks again every five seconds."""
    with suppress(AttributeError):
        if engine._slot is not None:
            engine._slot.nextcall.schedule()


def in_work(engine: ExecutionEngine) -> set[object] | None:
    """The lease keys of all requests that are being downloaded or parsed; None if this Scrapy does not show them."""
    try:
        slot = engine.scraper.slot
        requests = list(engine.downloader.active)
        if slot is not None:
            requests += [*slot.active, *(request for _, request, _ in slot.queue)]
    except AttributeError:
        return None
    return {request.meta.get(LEASE) for request in requests}


def work_count(engine: ExecutionEngine) -> int:
    """Requests being downloaded or parsed, and items in the pipelines; 0 if this Scrapy does not show them."""
    try:
        slot = engine.scraper.slot
        count = len(engine.downloader.active)
        if slot is not None:
            count += len(slot.queue) + len(slot.active) + slot.itemproc_size
    except AttributeError:
        return 0
    return count

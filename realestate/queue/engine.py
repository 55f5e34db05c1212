"""What the queue asks of Scrapy's engine, one private call among it."""

from scrapy.core.engine import ExecutionEngine

#: The key under which a request carries its lease.
LEASE = "lease"


def wake(engine: ExecutionEngine) -> None:
    """Make the engine ask for requests now; after an empty answer it would look again only in five seconds."""
    if engine._slot is not None:
        engine._slot.nextcall.schedule()


def in_work(engine: ExecutionEngine) -> set[object]:
    """The leases of all requests that are being downloaded or read."""
    slot = engine.scraper.slot
    requests = list(engine.downloader.active)
    if slot is not None:
        requests += [*slot.active, *(request for _, request, _ in slot.queue)]
    return {request.meta.get(LEASE) for request in requests}

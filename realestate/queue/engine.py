"""The one private call into Scrapy's engine that the queue needs."""

from scrapy.core.engine import ExecutionEngine


def wake(engine: ExecutionEngine) -> None:
    """Make the engine ask for requests now; after an empty answer it would look again only in five seconds."""
    if engine._slot is not None:
        engine._slot.nextcall.schedule()

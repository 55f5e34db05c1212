"""The environment of a suite: a real Redis of its own, and a store."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Self, TypeVar

from redis import Redis

from realestate.embedded import Services
from realestate.queue.connection import connect_to

T = TypeVar("T")


class Context:
    """`server` is a client of Redis for a peer, `aserver` one for the queue. `scale` makes the sizes smaller."""

    def __init__(self, services: Services, folder: Path, *, scale: float, rounds: int) -> None:
        self.services = services
        self.folder = folder
        self.scale = scale
        self.rounds = rounds
        self.server = Redis.from_url(services.redis_url)
        self.aserver = connect_to(services.redis_url)
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        # A rewrite of the log would disturb the measurement.
        self.server.config_set("auto-aof-rewrite-percentage", 0)
        return self

    def __exit__(self, *error: object) -> None:
        self.wait(self.aserver.aclose())
        self._runner.close()
        self.server.close()

    def sized(self, full: int, least: int = 1) -> int:
        """The number at the scale of this run."""
        return max(least, round(full * self.scale))

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(coroutine)

    def empty(self) -> None:
        """Empty Redis, and wait until it is empty."""
        self.server.flushall()

    def keep_no_log(self) -> None:
        """Switch Redis' log off: where memory is measured, or so much is written that the log would fill the disk."""
        self.server.config_set("appendonly", "no")

    def memory(self) -> int:
        """Bytes that Redis uses for its data, without the output buffers of its clients."""
        found: Any = self.server.info("memory")
        return int(found["used_memory"]) - int(found["mem_clients_normal"]) - int(found["used_memory_scripts"])

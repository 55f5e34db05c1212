"""What was given up: the request or seed, why, and when. Kept, so that nothing is lost in silence."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from redis import Redis

from realestate.queue import keys

Reason = Literal["seed", "http", "download", "parse", "malformed", "robots", "storage"]


class DeadLetters:
    """The dead letters of one portal, newest first."""

    def __init__(self, server: Redis, portal: str, keep: int) -> None:
        self.server = server
        self.key = keys.deadletters(portal)
        self.keep = keep

    def add(self, reason: Reason, error: str, **what: Any) -> None:
        """`what` is whatever helps to see and repeat it: url, seed, job, status."""
        seconds, micros = self.server.time()
        letter = {
            "reason": reason,
            "error": error,
            "at": datetime.fromtimestamp(seconds + micros / 1e6, UTC).isoformat(timespec="seconds"),
            **what,
        }
        with self.server.pipeline(transaction=False) as both:
            both.lpush(self.key, msgspec.json.encode(letter, enc_hook=repr))
            both.ltrim(self.key, 0, self.keep - 1)
            both.execute()

    def __len__(self) -> int:
        return int(self.server.llen(self.key))

    def newest(self, count: int = 20) -> list[Mapping[str, Any]]:
        return [msgspec.json.decode(letter) for letter in self.server.lrange(self.key, 0, count - 1)]

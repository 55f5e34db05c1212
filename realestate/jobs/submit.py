"""Asking for a crawl: seeds into the portal's list."""

from collections.abc import Iterable
from uuid import uuid4

import msgspec
from redis import Redis

from realestate.queue import keys


def submit(
    server: Redis, portal: str, urls: Iterable[str], *, mode: str = "full", scope: str = "", priority: int = 0
) -> str:
    """Push the addresses as one job; its id comes back. `scope` is WHOLE if together they show the whole portal."""
    job = uuid4().hex[:12]
    told = {"job": job, "mode": mode, "scope": scope, "priority": priority}
    seeds = [msgspec.json.encode({"url": url, **told}).decode() for url in urls]
    server.rpush(keys.start_urls(portal), *seeds)
    return job

"""Redis' clock is set back by an hour: nothing waits for an hour.

The test moves all stored times into the future, which is the same as setting the clock back.
"""

import asyncio
from typing import Any

import pytest
from redis import Redis

from realestate.queue import keys
from realestate.queue.connection import connect_to
from realestate.queue.request_ids import identify
from realestate.queue.request_queue import Lease, Pushed, QueueSettings, RequestQueue, Settlement

HOUR_MS = 3_600_000
BUCKETS = 64


def request(name: str) -> Pushed:
    return Pushed.of(identify("j", name.encode(), BUCKETS), 0, "j", "extract", name.encode())


def set_clock_back(server: Redis) -> None:
    for name in ("workers", "delayed", "inflight"):
        members: Any = server.zrange(f"{{p}}:{name}", 0, -1)
        for member in members:
            server.zincrby(f"{{p}}:{name}", HOUR_MS, member)
    for field in ("free_at", "blocked_until"):
        if server.hexists(keys.rate_limit("p"), field):
            server.hincrbyfloat(keys.rate_limit("p"), field, HOUR_MS)
    for name in ("last_heartbeat", "grace_until"):
        if server.exists(f"{{p}}:{name}"):
            server.incrby(f"{{p}}:{name}", HOUR_MS)


def test_requests_are_sent_and_dead_workers_are_found(redis_url: str, server: Redis) -> None:
    async def act() -> None:
        async with connect_to(redis_url) as client:
            queue = RequestQueue(client, "p", QueueSettings(buckets=BUCKETS, rate=20, lease=300))
            await queue.push([request(name) for name in ("held", "delayed", "ready")])
            held, delayed = (await queue.take("dies", 2)).leases
            await queue.settle([Settlement(delayed.id, delayed.token, "retry", (100, b"delayed", 1))])
            await queue.heartbeat("lives", b"{}", [])
            set_clock_back(server)
            found: list[Lease] = []
            async with asyncio.timeout(20):
                while len(found) < 3:
                    taken = await queue.take("lives", 10)
                    assert taken.ask_again_at < taken.now + 10_000
                    assert all(abs(lease.send_at - taken.now) < 10_000 for lease in taken.leases)
                    found += taken.leases
                    await asyncio.sleep(0.02)
            assert sorted(lease.payload for lease in found) == [b"delayed", b"held", b"ready"]
            assert await queue.settle([Settlement(held.id, held.token, "done")]) == [False]

    asyncio.run(act())


@pytest.mark.parametrize("step_ms", [0, 500])
def test_a_small_step_changes_nothing(redis_url: str, server: Redis, step_ms: int) -> None:
    async def act() -> None:
        async with connect_to(redis_url) as client:
            queue = RequestQueue(client, "p", QueueSettings(buckets=BUCKETS, rate=1))
            await queue.refuse("429", wait_seconds=60)
            await queue.heartbeat("w", b"{}", [])
            until = server.hget(keys.rate_limit("p"), "blocked_until")
            server.incrby("{p}:last_heartbeat", step_ms)
            await queue.heartbeat("w", b"{}", [])
            assert server.hget(keys.rate_limit("p"), "blocked_until") == until

    asyncio.run(act())

"""robots.txt as the fleet knows it: one asks, all hear, and who dies asking is replaced."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from redis import Redis

from realestate.queue import keys
from realestate.queue.connection import connect_to
from realestate.queue.request_queue import QueueSettings, RequestQueue
from realestate.queue.robots import USABLE_MS, RobotsTexts

PORTAL = "immoweb"
ORIGIN = "https://www.example.com"
TEXT = b"User-agent: *\nDisallow: /private\n"
LEASE_MS = 300

Texts = Callable[[str], RobotsTexts]
Run = Callable[[Callable[[RequestQueue, Texts], Awaitable[Any]]], Any]


@pytest.fixture
def run(redis_url: str, server: Redis) -> Run:
    """With a queue, and the texts as a worker of some name sees them."""

    def inside(act: Callable[[RequestQueue, Texts], Awaitable[Any]]) -> Any:
        async def connected() -> Any:
            client = connect_to(redis_url)
            queue = RequestQueue(client, PORTAL, QueueSettings(buckets=64, lease=LEASE_MS))
            try:
                return await act(queue, lambda worker: RobotsTexts(queue, worker))
            finally:
                await client.aclose()

        return asyncio.run(connected())

    return inside


def test_one_of_many_asks_and_all_hear(run: Run) -> None:
    async def act(queue: RequestQueue, texts: Texts) -> None:
        workers = [texts(f"w{number}") for number in range(8)]
        for each in workers:
            await queue.beat(each.worker, b"{}", [])
        copies = await asyncio.gather(*(each.look(ORIGIN) for each in workers))
        assert sum(copy.asks for copy in copies) == 1
        assert all(copy.is_being_asked and copy.text is None for copy in copies)
        asker = next(each for each, copy in zip(workers, copies, strict=True) if copy.asks)
        await asker.heard(ORIGIN, TEXT, 60)
        for copy in await asyncio.gather(*(each.look(ORIGIN) for each in workers)):
            assert (copy.asks, copy.text, copy.is_being_asked) == (False, TEXT, False)
            assert 59_000 < copy.again_at - copy.now <= 60_000
        assert (await workers[0].look("http://www.example.com")).asks, "another origin is another file"

    run(act)


def test_who_dies_asking_is_replaced_as_soon_as_it_is_taken_for_dead(run: Run) -> None:
    async def act(queue: RequestQueue, texts: Texts) -> None:
        await queue.beat("dies", b"{}", [])
        await queue.beat("lives", b"{}", [])
        assert (await texts("dies").look(ORIGIN)).asks
        assert not (await texts("lives").look(ORIGIN)).asks
        await asyncio.sleep(LEASE_MS / 1000 * 1.2)
        assert (await texts("lives").look(ORIGIN)).asks
        await queue.beat("lives", b"{}", [])
        await texts("dies").missed(ORIGIN, "late", 0)
        assert not (await texts("third").look(ORIGIN)).asks, "the late word of the dead does not send a third"

    run(act)


def test_who_leaves_is_replaced_at_once(run: Run) -> None:
    async def act(queue: RequestQueue, texts: Texts) -> None:
        await queue.beat("leaves", b"{}", [])
        assert (await texts("leaves").look(ORIGIN)).asks
        await queue.leave("leaves")
        assert (await texts("other").look(ORIGIN)).asks

    run(act)


def test_what_was_said_counts_while_the_site_cannot_be_asked(run: Run, server: Redis) -> None:
    async def act(queue: RequestQueue, texts: Texts) -> None:
        await queue.beat("w", b"{}", [])
        mine = texts("w")
        await mine.heard(ORIGIN, TEXT, 0)
        assert (await mine.look(ORIGIN)).asks, "it is time again"
        for failures in (1, 2):
            await mine.missed(ORIGIN, "status 503", 60)
            copy = await mine.look(ORIGIN)
            assert (copy.asks, copy.text, copy.failures, copy.reason) == (False, TEXT, failures, "status 503")
        server.hset(keys.robots(PORTAL, ORIGIN), "read_at", int(copy.now - USABLE_MS - 1))
        assert (await mine.look(ORIGIN)).text is None, "too old to go by"
        await mine.heard(ORIGIN, b"", 60)
        copy = await mine.look(ORIGIN)
        assert (copy.text, copy.failures, copy.reason) == (b"", 0, ""), (
            "a site without rules is not one we know nothing of"
        )

    run(act)
    assert 0 < server.pttl(keys.robots(PORTAL, ORIGIN)) <= USABLE_MS


def test_the_slowest_host_is_the_floor_until_it_asks_for_less(run: Run, server: Redis) -> None:
    async def act(queue: RequestQueue, texts: Texts) -> list[Any]:
        told = [(2.0, "https://a"), (5.0, "https://b"), (5.0, "https://b"), (0.0, "https://b"), (0.0, "https://a")]
        floors = []
        for seconds, origin in told:
            await queue.floor(seconds, origin)
            floors.append(await queue.server.hget(keys.pace(PORTAL), "floor"))
        return floors

    assert run(act) == [b"2000", b"5000", b"5000", b"2000", None]

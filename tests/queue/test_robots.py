"""robots.txt as the fleet shares it: one worker fetches it, all read it, and a dead fetcher is replaced."""

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


def test_one_worker_fetches_it_and_all_read_it(run: Run) -> None:
    async def act(queue: RequestQueue, texts: Texts) -> None:
        workers = [texts(f"w{number}") for number in range(8)]
        for each in workers:
            await queue.heartbeat(each.worker, b"{}", [])
        copies = await asyncio.gather(*(each.look(ORIGIN) for each in workers))
        assert sum(copy.must_fetch for copy in copies) == 1
        assert all(copy.is_being_fetched and copy.text is None for copy in copies)
        fetcher = next(each for each, copy in zip(workers, copies, strict=True) if copy.must_fetch)
        await fetcher.save(ORIGIN, TEXT, 60)
        for copy in await asyncio.gather(*(each.look(ORIGIN) for each in workers)):
            assert (copy.must_fetch, copy.text, copy.is_being_fetched) == (False, TEXT, False)
            assert 59_000 < copy.again_at - copy.now <= 60_000
        assert (await workers[0].look("http://www.example.com")).must_fetch, "another origin is another file"

    run(act)


def test_a_worker_that_dies_while_fetching_is_replaced_when_its_lease_ends(run: Run) -> None:
    async def act(queue: RequestQueue, texts: Texts) -> None:
        await queue.heartbeat("dies", b"{}", [])
        await queue.heartbeat("lives", b"{}", [])
        assert (await texts("dies").look(ORIGIN)).must_fetch
        assert not (await texts("lives").look(ORIGIN)).must_fetch
        await asyncio.sleep(LEASE_MS / 1000 * 1.2)
        assert (await texts("lives").look(ORIGIN)).must_fetch
        await queue.heartbeat("lives", b"{}", [])
        await texts("dies").save_failure(ORIGIN, "late", 0)
        assert not (await texts("third").look(ORIGIN)).must_fetch, (
            "a late result of the dead worker does not release the lock"
        )

    run(act)


def test_a_worker_that_leaves_while_fetching_is_replaced_at_once(run: Run) -> None:
    async def act(queue: RequestQueue, texts: Texts) -> None:
        await queue.heartbeat("leaves", b"{}", [])
        assert (await texts("leaves").look(ORIGIN)).must_fetch
        await queue.leave("leaves")
        assert (await texts("other").look(ORIGIN)).must_fetch

    run(act)


def test_the_old_text_is_used_while_the_site_cannot_be_reached(run: Run, server: Redis) -> None:
    async def act(queue: RequestQueue, texts: Texts) -> None:
        await queue.heartbeat("w", b"{}", [])
        mine = texts("w")
        await mine.save(ORIGIN, TEXT, 0)
        assert (await mine.look(ORIGIN)).must_fetch, "it is due again"
        for failures in (1, 2):
            await mine.save_failure(ORIGIN, "status 503", 60)
            copy = await mine.look(ORIGIN)
            assert (copy.must_fetch, copy.text, copy.failures, copy.reason) == (False, TEXT, failures, "status 503")
        server.hset(keys.robots(PORTAL, ORIGIN), "read_at", int(copy.now - USABLE_MS - 1))
        assert (await mine.look(ORIGIN)).text is None, "too old to be used"
        await mine.save(ORIGIN, b"", 60)
        copy = await mine.look(ORIGIN)
        assert (copy.text, copy.failures, copy.reason) == (b"", 0, ""), "a site without rules is not an unknown site"

    run(act)
    assert 0 < server.pttl(keys.robots(PORTAL, ORIGIN)) <= USABLE_MS


def test_the_longest_crawl_delay_of_all_hosts_limits_the_rate(run: Run, server: Redis) -> None:
    async def act(queue: RequestQueue, texts: Texts) -> list[Any]:
        delays = [(2.0, "https://a"), (5.0, "https://b"), (5.0, "https://b"), (0.0, "https://b"), (0.0, "https://a")]
        stored = []
        for seconds, origin in delays:
            await queue.set_crawl_delay(seconds, origin)
            stored.append(await queue.server.hget(keys.rate_limit(PORTAL), "crawl_delay"))
        return stored

    assert run(act) == [b"2000", b"5000", b"5000", b"2000", None]


def test_a_worker_that_holds_the_lock_and_does_not_fetch_fetches(run: Run) -> None:
    """The reply that gave it the lock was lost."""

    async def act(queue: RequestQueue, texts: Texts) -> None:
        await queue.heartbeat("w", b"{}", [])
        await queue.heartbeat("other", b"{}", [])
        assert (await texts("w").look(ORIGIN)).must_fetch
        assert not (await texts("other").look(ORIGIN)).must_fetch
        assert not (await texts("w").look(ORIGIN, fetching=True)).must_fetch
        assert (await texts("w").look(ORIGIN)).must_fetch

    run(act)

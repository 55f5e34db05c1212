"""Values in Redis that somebody else wrote: each becomes a dead letter or counts as unknown, and the queue goes on."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, cast

import msgspec
import pytest
from redis import Redis
from scrapy import Spider
from scrapy.statscollectors import StatsCollector

from realestate.jobs.fleet import job_progress, look
from realestate.queue import keys, stored
from realestate.queue.codec import MalformedRequest, decode
from realestate.queue.connection import connect_to
from realestate.queue.dead_letters import DeadLetters
from realestate.queue.open_jobs import OpenJobs
from realestate.queue.proxy_health import ProxyRef
from realestate.queue.request_ids import identify
from realestate.queue.request_queue import Pushed, QueueSettings, RequestQueue, Settlement
from realestate.queue.robots import RobotsTexts
from realestate.queue.seed_source import SeedSource
from realestate.queue.seeds import SeedList
from realestate.queue.shared_page import LONGEST_NAME, LONGEST_URL, PageRecord, SharedPage

BUCKETS = 64
ORIGIN = "http://x.example"
PROXY = ProxyRef("one", 0)
GARBAGE = [b"garbage", b"\xff\xfe", b"", b"nan", b"1e400", b"[[1]]"]


def packed(*values: Any) -> bytes:
    return b"".join(map(msgspec.msgpack.encode, values))


#: None of them is priority, arrival, job, stage and request.
NO_REQUESTS = {
    "nothing": b"",
    "a text": b"hello",
    "JSON": b'{"url": "https://x.example/"}',
    "bytes": b"\xff\xfe\x00\xc1",
    "too few values": packed(0, 1),
    "cut short": packed(0, 1, "job", "extract")[:6],
    "a priority that is a text": packed("high", 1, "job", "extract"),
    "a priority that is no number": packed(float("nan"), 1, "job", "extract"),
    "an endless priority": packed(float("inf"), 1, "job", "extract"),
    "an arrival that is a list": packed(0, [], "job", "extract"),
    "a job that is a number": packed(0, 1, 5, "extract"),
    "no job": packed(0, 1, None, "extract"),
    "a stage that is a map": packed(0, 1, "job", {}),
    "a job of bytes": packed(0, 1, b"\xff", "extract"),
    "a job that is not UTF-8": packed(0, 1) + b"\xa2\xff\xfe" + packed("extract"),
    "deeply nested lists": b"\x91" * 50_000,
}


@pytest.fixture
def run(redis_url: str, server: Redis) -> Callable[..., Any]:
    def with_queue(act: Callable[[RequestQueue], Awaitable[Any]]) -> Any:
        async def inside() -> Any:
            client = connect_to(redis_url)
            try:
                return await act(RequestQueue(client, "p", QueueSettings(buckets=BUCKETS, poison=3)))
            finally:
                await client.aclose()

        return asyncio.run(inside())

    return with_queue


def request(name: str) -> Pushed:
    return Pushed.of(identify("j", name.encode(), BUCKETS), 0, "j", "extract", name.encode(), 0)


@pytest.mark.parametrize("place", [keys.ready, keys.delayed], ids=["ready", "delayed"])
def test_what_is_no_request_becomes_a_dead_letter_and_holds_up_no_request(
    run: Callable[..., Any], server: Redis, place: Callable[[str], str]
) -> None:
    async def act(queue: RequestQueue) -> dict[bytes, bytes]:
        await queue.push([request("good")])
        for name, value in NO_REQUESTS.items():
            server.hset(keys.requests("p"), name, value)
            server.zadd(place("p"), {name: 1})
        taken: dict[bytes, bytes] = {}
        for _ in range(2):
            for lease in (await queue.take("w", 100)).leases:
                taken[lease.id] = lease.payload
                letter = json.dumps({"reason": "malformed"})
                dead = Settlement(lease.id, lease.token, "dead", letter)
                done = Settlement(lease.id, lease.token, "done")
                assert await queue.settle([done if lease.payload == b"good" else dead]) == [True]
        return taken

    taken = run(act)
    assert taken.keys() == {request("good").id, *(name.encode() for name in NO_REQUESTS)}
    spider = Spider("p")
    for payload in taken.values():
        with pytest.raises(MalformedRequest):
            decode(payload, spider)
    assert set(server.hkeys(keys.dead_letters("p"))) == {name.encode() for name in NO_REQUESTS}
    assert look(server, "p").waiting == look(server, "p").in_flight == 0


def spoil(server: Any, garbage: bytes) -> None:
    """Write garbage into all that a portal keeps in Redis: into each string, field, and as a member of each set."""
    for key in server.scan_iter("{p}:*"):
        kind = server.type(key)
        if kind == b"string":
            server.set(key, garbage, keepttl=True)
        elif kind == b"hash" and key != keys.requests("p").encode():
            server.hset(key, mapping={**dict.fromkeys(server.hkeys(key), garbage), garbage: garbage})
        elif kind == b"set":
            server.sadd(key, garbage)
        elif kind == b"zset":
            server.zadd(key, {garbage: 1})


async def fill(queue: RequestQueue, *, proxies: bool) -> None:
    """A queue in the middle of a crawl: requests that are ready, delayed, retried, and held by a worker that died."""
    await queue.push([request(str(number)) for number in range(6)])
    (dead,) = (await queue.take("dead", 1)).leases
    await queue.heartbeat("dead", b"{}", [dead.id])
    (retried,) = (await queue.take("w", 1)).leases
    await queue.settle([Settlement(retried.id, retried.token, "retry", [0, b"again", 1])])
    await queue.set_crawl_delay(0.001, ORIGIN)
    await queue.refuse("status 429")
    robots = RobotsTexts(queue, "w")
    await robots.look(ORIGIN)
    await robots.save_failure(ORIGIN, "status 500", 0.0)
    await OpenJobs(queue.server, "p").open("j", "full", "all")
    await queue.grant("j", "page", 1, 10)
    await queue.pause("ban pages", "w", 0.001)
    if proxies:
        await queue.server.hset(keys.proxies("p"), PROXY.id, b"{}")
        await queue.server.hset(keys.prefix("p") + "proxies:free_at", PROXY.id, b"1")
        await queue.server.hset(keys.prefix("p") + "proxies:used_at", PROXY.id, b"1")
        queue.proxies = [PROXY]


@pytest.mark.parametrize("proxies", [False, True], ids=["direct", "through a proxy"])
@pytest.mark.parametrize("garbage", GARBAGE, ids=repr)
def test_garbage_in_any_key_counts_as_unknown(
    run: Callable[..., Any], server: Redis, garbage: bytes, proxies: bool
) -> None:
    async def act(queue: RequestQueue) -> int:
        await fill(queue, proxies=proxies)
        spoil(server, garbage)
        robots = RobotsTexts(queue, "w2")
        jobs = OpenJobs(queue.server, "p")
        settled = 0
        for _ in range(3):
            await queue.heartbeat("w2", b"{}", [])
            for lease in (await queue.take("w2", 2)).leases:
                settled += sum(await queue.settle([Settlement(lease.id, lease.token, "done")]))
        await robots.look(ORIGIN)
        await robots.save_failure(ORIGIN, "status 500", 0.0)
        await queue.refuse("status 429")
        await queue.set_crawl_delay(0.001, "http://y.example")
        await queue.grant("j", "another page", 1, 10)
        await queue.pause("ban pages", "w", 0.001)
        await queue.resume()
        await jobs.some()
        await jobs.totals("j")
        await jobs.given_up("j", "extract")
        await queue.is_over("j")
        await queue.is_empty()
        await queue.leave("w2")
        return settled

    assert run(act) >= 1
    look(server, "p")
    job_progress(server, "p", "j")


@pytest.mark.parametrize("name", sorted(keys.TYPES))
def test_a_key_of_a_wrong_type_is_set_aside(run: Callable[..., Any], server: Redis, name: str) -> None:
    async def act(queue: RequestQueue) -> int:
        await queue.push([request("before")])
        key = keys.prefix("p") + name
        server.delete(key)
        if keys.TYPES[name] == "list":
            server.sadd(key, "x")
        else:
            server.rpush(key, "x")
        await queue.push([request("after")])
        await queue.heartbeat("w", b"{}", [])
        settled = 0
        for lease in (await queue.take("w", 10)).leases:
            settled += sum(await queue.settle([Settlement(lease.id, lease.token, "retry", [0, b"x", 1])]))
        for lease in (await queue.take("w", 10)).leases:
            settled += sum(await queue.settle([Settlement(lease.id, lease.token, "dead", "{}")]))
        await queue.leave("w")
        return settled

    assert run(act) >= 2
    for each, kind in keys.TYPES.items():
        if each != name:
            assert server.type(f"{{p}}:{each}") in (kind.encode(), b"none"), each


def test_the_seeds_of_a_dead_worker_that_are_no_list_are_set_aside(redis_url: str, server: Redis) -> None:
    async def act() -> list[str]:
        refused: list[str] = []
        client = connect_to(redis_url)
        try:
            stats = cast(StatsCollector, None)  # it counts only seeds that are taken twice
            seeds = SeedList(client, "p", "w", stats, SeedSource("p:start_urls"), refused.append)
            await seeds.recover()
            await seeds.recover()
        finally:
            await client.aclose()
        return refused

    server.sadd(keys.dead_workers("p"), "dead")
    server.set(keys.taken_seeds("p", "dead"), "x")
    (sentence,) = asyncio.run(act())
    assert "is a string, not a list" in sentence
    assert not server.exists(keys.dead_workers("p"))


def test_dead_letters_that_somebody_else_wrote_are_listed_and_replayed(run: Callable[..., Any], server: Redis) -> None:
    letters: dict[bytes, Any] = {
        b"endless": {"reason": "seed", "seed": 5, "seeds_key": [1], "at": "x"},
        b"before": {"reason": 5, "job": {}, "url": [1]},
        b"\xff": "{",
    }
    times = dict(zip(letters, (float("inf"), -1e18, 1e300), strict=True))

    async def act(queue: RequestQueue) -> tuple[int, int]:
        server.hset(keys.dead_letters("p"), mapping={id: json.dumps(each) for id, each in letters.items()})
        server.zadd(keys.dead_letter_times("p"), times)
        dead_letters = DeadLetters(queue)
        found = [each for each in await dead_letters.newest(10) if not each.matches("http", "j")]
        assert [await dead_letters.one(each.id) for each in found] == found
        return len(found), await dead_letters.replay([each.id for each in found], 1.0)

    assert run(act) == (3, 0), "none of them has a request"


def test_a_counter_without_a_number_begins_again_above_all_that_it_can_have_had(
    run: Callable[..., Any], server: Redis
) -> None:
    async def act(queue: RequestQueue) -> tuple[int, int]:
        await queue.push([request("a"), request("b")])
        (first,) = (await queue.take("w", 1)).leases
        server.set(keys.prefix("p") + "tokens", "garbage")
        (second,) = (await queue.take("w", 1, [first.id])).leases
        return int(first.token), int(second.token)

    first, second = run(act)
    assert second > first + 1_000_000


@pytest.mark.parametrize(
    ("value", "number"), [(b"1.5", 1.5), (None, 3.0), (b"x", 3.0), (b"nan", 3.0), (b"1e400", 3.0), (b"9" * 400, 3.0)]
)
def test_a_number_that_is_none_is_the_default(value: bytes | None, number: float) -> None:
    assert stored.number(value, 3.0) == number
    assert stored.count(b"7") == 7
    assert stored.text(b"a\xff") == "a\\xff"


def test_the_longest_page_fits_into_the_memory_that_the_parent_reads() -> None:
    letter = "\U0001f600"
    url, name = letter * LONGEST_URL, letter * LONGEST_NAME
    page = PageRecord(portal="p", id="a" * LONGEST_URL, token="1", url=url, job=name, stage=name, tries=0)
    shared = SharedPage()
    shared.enter(msgspec.json.encode(page), 0.0)
    found = shared.in_hand()
    assert found is not None
    assert found.page == page

"""A call whose reply was lost is sent again: every script and every seed command has the same effect once and twice."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import msgspec
import pytest
from redis import Redis
from scrapy.statscollectors import DummyStatsCollector, StatsCollector

from realestate.jobs.submit import submit
from realestate.queue import keys
from realestate.queue.connection import connect_blocking, connect_to
from realestate.queue.dead_letters import DeadLetters, dead_letter
from realestate.queue.open_jobs import OpenJobs
from realestate.queue.redis_client import AsyncRedis, BlockingRedis
from realestate.queue.request_ids import identify
from realestate.queue.request_queue import Lease, Pushed, QueueSettings, RequestQueue, Settlement
from realestate.queue.robots import RobotsTexts
from realestate.queue.seeds import SeedList

BUCKETS = 64
Run = Callable[[Callable[[RequestQueue], Awaitable[Any]]], Any]


@pytest.fixture
def run(redis_url: str, server: Redis, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a coroutine with a queue whose client sends every command twice and gets the second reply only."""
    send = AsyncRedis.execute_command

    async def send_twice(self: AsyncRedis, *args: Any, **options: Any) -> Any:
        if str(args[0]) not in ("SCRIPT LOAD", "BLPOP"):
            await send(self, *args, **options)
        return await send(self, *args, **options)

    def with_queue(act: Callable[[RequestQueue], Awaitable[Any]]) -> Any:
        async def inside() -> Any:
            async with connect_to(redis_url) as client:
                return await act(RequestQueue(client, "p", QueueSettings(buckets=BUCKETS, rate=0)))

        return asyncio.run(asyncio.wait_for(inside(), 30))

    monkeypatch.setattr(AsyncRedis, "execute_command", send_twice)
    return with_queue


def request(name: str) -> Pushed:
    return Pushed.of(identify("j", name.encode(), BUCKETS), 0, "j", "extract", name.encode())


def ended(lease: Lease, outcome: Any = "done", detail: Any = None, children: tuple[Pushed, ...] = ()) -> Settlement:
    return Settlement(lease.id, lease.token, outcome, detail, children)


def counts(server: Redis) -> dict[str, int]:
    found: Any = server.hgetall(keys.counts("p", "j"))
    return {name.decode(): int(value) for name, value in found.items()}


def test_requests_are_pushed_leased_and_settled_once(run: Run, server: Redis) -> None:
    async def act(queue: RequestQueue) -> list[str]:
        await queue.push([request("page"), request("bad"), request("again"), request("back")])
        page, bad, again, back = (await queue.take("w", 10, [])).leases
        await queue.settle(
            [
                ended(page, children=(request("child"),)),
                ended(bad, "dead", dead_letter("http", "status 500", job="j")),
                ended(again, "retry", (0, b"again", 1)),
                ended(back, "back"),
            ],
            [request("early")],
        )
        leases = (await queue.take("w", 10, [])).leases
        await queue.leave("w")
        return sorted(lease.payload.decode() for lease in leases)

    assert run(act) == ["again", "back", "child", "early"]
    found = counts(server)
    assert (found["extract:pushed"], found["extract:done"], found["extract:dead"]) == (6, 1, 1)
    assert server.hvals("{p}:tries") == [b"1"]
    assert server.zcard(keys.ready("p")) == 4
    assert not server.exists("{p}:held:w", "{p}:inflight")


def test_a_refusal_halves_the_rate_once(run: Run, server: Redis) -> None:
    async def act(queue: RequestQueue) -> None:
        await queue.refuse("429")
        assert server.hget(keys.rate_limit("p"), "factor") == b"0.5"
        await queue.refuse("429")

    run(act)
    assert server.hget(keys.rate_limit("p"), "factor") == b"0.25", "another refusal counts"


def test_replay_and_drop_say_how_many_there_were(run: Run, server: Redis) -> None:
    async def act(queue: RequestQueue) -> None:
        await queue.push([request("a"), request("b")])
        first, second = (await queue.take("w", 10, [])).leases
        text = dead_letter("http", "status 500", job="j")
        await queue.settle([ended(first, "dead", text), ended(second, "dead", text)])
        dead = DeadLetters(queue)
        assert await dead.replay([first.id], 1000) == 1
        assert await dead.drop([second.id]) == 1

    run(act)
    assert server.zcard(keys.delayed("p")) == 1


def test_a_refused_seed_is_replayed_once(run: Run, server: Redis) -> None:
    async def act(queue: RequestQueue) -> None:
        await queue.add_dead_letter(b"seed", dead_letter("seed", "no address", seed="nonsense"))
        assert await DeadLetters(queue).replay([b"seed"], 1000) == 1

    run(act)
    assert server.lrange(keys.start_urls("p"), 0, -1) == [b"nonsense"]


def test_the_health_of_a_proxy_is_changed_once(run: Run, server: Redis) -> None:
    async def act(queue: RequestQueue) -> None:
        assert await queue.set_proxy_health("proxy", None, b"{}")
        assert await queue.set_proxy_health("proxy", b"{}", b'{"rate": 1}')
        assert not await queue.set_proxy_health("proxy", b"{}", b'{"rate": 2}')

    run(act)


def test_the_worker_that_has_to_fetch_robots_txt_learns_it(run: Run) -> None:
    async def act(queue: RequestQueue) -> None:
        await queue.heartbeat("w", b"{}", [])
        assert (await RobotsTexts(queue, "w").look("https://x.example")).must_fetch

    run(act)


def test_the_worker_that_may_finish_a_job_learns_it(run: Run) -> None:
    async def act(queue: RequestQueue) -> None:
        jobs = OpenJobs(queue.server, "p")
        assert await jobs.claim("j")
        assert not await jobs.claim("j"), "another claim"

    run(act)


def test_one_of_two_equal_seeds_is_removed(run: Run, server: Redis) -> None:
    async def act(queue: RequestQueue) -> None:
        server.rpush(keys.start_urls("p"), "same", "same")
        stats = cast(StatsCollector, DummyStatsCollector.__new__(DummyStatsCollector))
        seeds = SeedList(queue.server, "p", "w", stats)
        first, second = await seeds.next(1), await seeds.next(1)
        assert first is not None
        assert second is not None
        assert first[1] != second[1]
        await seeds.remove(first[1])
        assert server.lrange(keys.taken_seeds("p", "w"), 0, -1) == [b"same"]
        await seeds.remove(second[1])
        assert not server.exists(keys.taken_seeds("p", "w"), keys.seed_names("p"))

    run(act)


def test_the_seeds_of_a_job_are_submitted_once(redis_url: str, server: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    send = BlockingRedis.execute_command

    def send_twice(self: BlockingRedis, *args: Any, **options: Any) -> Any:
        send(self, *args, **options)
        return send(self, *args, **options)

    monkeypatch.setattr(BlockingRedis, "execute_command", send_twice)
    urls = [f"https://x.example/{number}" for number in range(2_500)]
    with connect_blocking(redis_url) as client:
        submit(client, "p", urls)
    pushed: Any = server.lrange(keys.start_urls("p"), 0, -1)
    assert [msgspec.json.decode(seed)["url"] for seed in pushed] == urls

"""Every script and every seed command on a real Redis Cluster of three nodes: one portal is one slot."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, cast

import pytest
from redis.asyncio import RedisCluster
from redis.crc import key_slot
from scrapy.statscollectors import StatsCollector

from realestate.queue import keys
from realestate.queue.connection import connect_to
from realestate.queue.dead_letters import DeadLetters, dead_letter
from realestate.queue.request_ids import identify
from realestate.queue.request_queue import Lease, Pushed, QueueSettings, RequestQueue, Settlement
from realestate.queue.seeds import SeedList
from tests import redis_fleet
from tests.redis_fleet import HOST, Node


class DummyStats:
    """Statistics that count nothing."""

    def inc_value(self, name: str) -> None: ...


Act = Callable[[RequestQueue], Awaitable[Any]]
Run = Callable[..., Any]
BUCKETS = 64
#: Their slots are on the first, the second and the third node (asserted below).
PORTALS = ("emlak", "immoweb", "seloger")


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Node]]:
    with redis_fleet.cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


def cluster_url(nodes: list[Node]) -> str:
    return "redis+cluster://" + ",".join(f"{HOST}:{node.port}" for node in nodes)


@pytest.fixture
def run(nodes: list[Node]) -> Run:
    """Run a test's coroutine with a portal's queue in the cluster, empty at first."""

    def with_queue(act: Act, portal: str = "emlak", **limits: Any) -> Any:
        async def inside() -> Any:
            client = connect_to(cluster_url(nodes))
            try:
                await client.flushall(target_nodes=RedisCluster.PRIMARIES)
                return await act(RequestQueue(client, portal, QueueSettings(buckets=BUCKETS, **limits)))
            finally:
                await client.aclose()

        return asyncio.run(inside())

    return with_queue


def request(name: str | int, job: str = "j", due: int = 0) -> Pushed:
    return Pushed.of(identify(job, str(name).encode(), BUCKETS), 0, job, "extract", str(name).encode(), due)


def ended(lease: Lease, outcome: Any = "done", detail: Any = None, children: tuple[Pushed, ...] = ()) -> Settlement:
    return Settlement(lease.id, lease.token, outcome, detail, children)


def names(leases: list[Lease]) -> list[str]:
    return [lease.payload.decode() for lease in leases]


@pytest.mark.parametrize("portal", PORTALS)
def test_every_script_runs_on_the_node_that_has_the_portal(run: Run, portal: str) -> None:
    async def act(queue: RequestQueue) -> None:
        assert await queue.push([request("page"), request("bad"), request("again"), request("back")]) == [True] * 4
        taken = await queue.take("w", 10)
        assert names(taken.leases) == ["page", "bad", "again", "back"]
        assert (await queue.heartbeat("w", b"{}", [taken.leases[0].id])).known
        page, bad, again, back = taken.leases
        early = [request("child")]
        settlements = [
            ended(page, children=(request("child"), request("later", due=taken.now + 3_600_000))),
            ended(bad, "dead", dead_letter("http", "status 500", job="j")),
            ended(again, "retry", (0, b"again, please", 1)),
            ended(back, "back"),
        ]
        assert await queue.settle(settlements, early) == [True] * 4
        await queue.add_dead_letter(b"seed", dead_letter("seed", "no address", seed="nonsense"))
        dead = DeadLetters(queue)
        assert {each.details["reason"] for each in await dead.newest()} == {"seed", "http"}
        assert await dead.replay([bad.id], per_second=1000) == 1
        assert await dead.drop([b"seed"]) == 1
        left: list[str] = []
        while len(left) < 4:
            left += names((await queue.take("w", 10)).leases)
        assert sorted(left) == ["again, please", "back", "bad", "child"]
        assert await queue.leave("w") == 4
        await queue.refuse("429", wait_seconds=60)
        assert (await queue.take("other", 10)).leases == [], "blocked"

    run(act, portal)


def test_requests_of_a_dead_worker_are_reclaimed(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[str]:
        await queue.push([request("suspect"), request("innocent")])
        leases = (await queue.take("dead", 2)).leases
        await queue.heartbeat("dead", b"{}", [leases[0].id])
        found: list[str] = []
        async with asyncio.timeout(30):
            while len(found) < 2:
                await queue.heartbeat("living", b"{}", [])
                again = (await queue.take("living", 2)).leases
                await queue.settle([ended(lease) for lease in again])
                found += names(again)
                await asyncio.sleep(0.02)
        return sorted(found)

    assert run(act, lease=150) == ["innocent", "suspect"]


def test_pause_crawl_delay_resume_and_the_bell(run: Run) -> None:
    async def act(queue: RequestQueue) -> None:
        await queue.pause("a test", "somebody")
        await queue.set_crawl_delay(0.5, "https://www.example.com")
        await queue.push([request("a"), request("b")])
        assert (await queue.take("w", 2)).paused
        await queue.server.delete(keys.wake_ups(queue.portal))
        waiting = asyncio.ensure_future(queue.wait_for_wake_up(30))
        await queue.resume()
        await asyncio.wait_for(waiting, 10)
        first, second = (await queue.take("w", 2)).leases
        assert second.send_at - first.send_at >= 500

    run(act, rate=100)


def test_a_seed_is_moved_named_removed_given_back_and_recovered(run: Run) -> None:
    async def act(queue: RequestQueue) -> None:
        server, portal = queue.server, queue.portal
        source = keys.start_urls(portal)
        seeds = SeedList(server, portal, "w", cast(StatsCollector, DummyStats()))
        assert await seeds.next(1) is None
        waiting = asyncio.ensure_future(seeds.next(30))
        await server.rpush(source, "same", "same", "third")
        first = await asyncio.wait_for(waiting, 10)
        second = await seeds.next(1)
        assert first is not None
        assert second is not None
        assert (first[0], second[0]) == (b"same", b"same")
        assert first[1] != second[1], "the same seed twice is two seeds"
        await seeds.remove(first[1])
        await seeds.give_back()
        assert await server.lrange(source, 0, -1) == [b"same", b"third"]
        await SeedList(server, portal, "dead", cast(StatsCollector, DummyStats())).next(1)
        await server.sadd(keys.dead_workers(portal), "dead")
        await seeds.recover()
        assert await server.lrange(source, 0, -1) == [b"same", b"third"]

    run(act)


def test_all_keys_of_a_portal_are_in_its_slot_and_the_portals_are_on_three_nodes(run: Run, nodes: list[Node]) -> None:
    async def act(queue: RequestQueue) -> None:
        await queue.push([request(number) for number in range(50)])
        for lease in (await queue.take("w", 20)).leases:
            await queue.heartbeat("w", b"{}", [lease.id])
            await queue.settle([ended(lease, "retry", (60_000, b"", 1))])
        await queue.add_dead_letter(b"seed", dead_letter("seed", "no address"))
        await queue.server.rpush(keys.start_urls(queue.portal), "seed")
        await SeedList(queue.server, queue.portal, "w", cast(StatsCollector, DummyStats())).next(1)

    holders = set()
    for portal in PORTALS:
        run(act, portal)
        for number, node in enumerate(nodes):
            with node.client() as client:
                found: Any = client.keys("*")
            for name in found:
                seeds = keys.start_urls(portal).encode()
                assert key_slot(name) == key_slot(seeds if seeds in name else portal.encode()), name
            if keys.requests(portal).encode() in found:
                holders.add(number)
    assert holders == {0, 1, 2}


def test_the_queue_continues_after_a_restart_of_its_node(run: Run, nodes: list[Node]) -> None:
    """The scripts are loaded again, and the leases are still valid."""

    async def act(queue: RequestQueue) -> list[bool]:
        await queue.push([request("a"), request("b")])
        leases = (await queue.take("w", 1)).leases
        holder = nodes[key_slot(keys.prefix(queue.portal).encode()) * 3 // redis_fleet.SLOTS]
        holder.stop()
        waiting = asyncio.ensure_future(queue.heartbeat("w", b"{}", []))
        done, _ = await asyncio.wait({waiting}, timeout=1)
        assert not done, "it waits for the node"
        holder.start()
        async with asyncio.timeout(60):
            await waiting
            leases += (await queue.take("w", 1)).leases
        return await queue.settle([ended(lease) for lease in leases])

    assert run(act) == [True, True]


def test_the_queue_waits_while_no_node_or_only_some_nodes_answer(run: Run, nodes: list[Node]) -> None:
    async def act(queue: RequestQueue) -> list[bool]:
        await queue.push([request("a"), request("b")])
        leases = (await queue.take("w", 1)).leases
        for node in nodes:
            node.stop()
        waiting = asyncio.ensure_future(queue.take("w", 1, [lease.id for lease in leases]))
        done, _ = await asyncio.wait({waiting}, timeout=2)
        assert not done, "no node answers"
        holder = nodes[key_slot(keys.prefix(queue.portal).encode()) * 3 // redis_fleet.SLOTS]
        await asyncio.to_thread(next(node for node in nodes if node is not holder).start)
        done, _ = await asyncio.wait({waiting}, timeout=2)
        assert not done, "the node of the portal does not answer"
        for node in nodes:
            if node.process is None:
                await asyncio.to_thread(node.start)
        async with asyncio.timeout(60):
            leases += (await waiting).leases
        return await queue.settle([ended(lease) for lease in leases])

    assert run(act) == [True, True]


def test_a_new_client_waits_for_the_first_node(nodes: list[Node]) -> None:
    async def act() -> None:
        for node in nodes:
            node.stop()
        client = connect_to(cluster_url(nodes))
        try:
            asked = asyncio.ensure_future(client.set("key", "value"))
            done, _ = await asyncio.wait({asked}, timeout=1)
            assert not done
            for node in nodes:
                await asyncio.to_thread(node.start)
            async with asyncio.timeout(60):
                await asked
                assert await client.in_one_step(lambda commands: commands.get("key")) == [b"value"]
        finally:
            await client.aclose()

    asyncio.run(act())

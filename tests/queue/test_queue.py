"""The scripts, one call at a time, on a real Redis."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import pytest
from redis import Redis

from realestate.queue import keys
from realestate.queue.connection import connect_to
from realestate.queue.dead_letters import DeadLetters, dead_letter
from realestate.queue.request_ids import identify
from realestate.queue.request_queue import Lease, Pushed, QueueSettings, RequestQueue, Settlement

Act = Callable[[RequestQueue], Awaitable[Any]]
Run = Callable[..., Any]
BUCKETS = 64


@pytest.fixture
def run(redis_url: str, server: Redis) -> Run:
    """Run a test's coroutine with an empty queue."""

    def with_queue(act: Act, **limits: Any) -> Any:
        async def inside() -> Any:
            client = connect_to(redis_url)
            try:
                return await act(RequestQueue(client, "p", QueueSettings(buckets=BUCKETS, **limits)))
            finally:
                await client.aclose()

        return asyncio.run(inside())

    return with_queue


def request(name: str | int, priority: int = 0, job: str = "j", due: int = 0) -> Pushed:
    return Pushed.of(identify(job, str(name).encode(), BUCKETS), priority, job, "extract", str(name).encode(), due)


def ended(lease: Lease, outcome: Any = "done", detail: Any = None, children: tuple[Pushed, ...] = ()) -> Settlement:
    return Settlement(lease.id, lease.token, outcome, detail, children)


def names(leases: list[Lease]) -> list[str]:
    return [lease.payload.decode() for lease in leases]


def test_priority_first_then_the_order_of_arrival(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[str]:
        await queue.push([request("b", 1), request("a", 1), request("low", -5), request("high", 20), request("c", 1)])
        return names((await queue.take("w", 10)).leases)

    assert run(act) == ["high", "b", "a", "c", "low"]


def test_a_job_sees_a_request_once_and_another_job_again(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[bool]:
        return await queue.push([request("a"), request("a"), request("a", job="other"), request("b")])

    assert run(act) == [True, False, True, True]


def test_a_done_request_stays_in_the_duplicate_filter(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[bool]:
        await queue.push([request("a")])
        (lease,) = (await queue.take("w", 1)).leases
        assert await queue.settle([ended(lease)]) == [True]
        return await queue.push([request("a")])

    assert run(act) == [False]


def test_a_page_is_acknowledged_and_its_children_stored_in_one_call(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[str]:
        await queue.push([request("page")])
        (lease,) = (await queue.take("w", 1)).leases
        await queue.settle([], early=[request("next")])
        await queue.settle([ended(lease, children=(request("next"), request("child")))])
        return names((await queue.take("w", 10)).leases)

    assert run(act) == ["next", "child"], "a child sent early is not sent twice"


def test_a_lease_can_be_ended_once_and_only_by_its_token(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[bool]:
        await queue.push([request("a")])
        (lease,) = (await queue.take("w", 1)).leases
        wrong = await queue.settle([ended(lease._replace(token="999"))])
        first = await queue.settle([ended(lease)])
        second = await queue.settle([ended(lease)])
        return wrong + first + second

    assert run(act) == [False, True, False]


def test_requests_of_a_dead_worker_are_taken_by_another_and_its_late_acknowledgement_is_refused(run: Run) -> None:
    async def act(queue: RequestQueue) -> tuple[list[str], list[bool], list[bool]]:
        await queue.push([request("a"), request("b")])
        dead = (await queue.take("dead", 2)).leases
        taken: list[Lease] = []
        while len(taken) < 2:
            await asyncio.sleep(0.02)
            await queue.heartbeat("living", b"{}", [])
            taken += (await queue.take("living", 2)).leases
        late = await queue.settle([ended(lease) for lease in dead])
        return names(taken), late, await queue.settle([ended(lease) for lease in taken])

    assert run(act, lease=150) == (["a", "b"], [False, False], [True, True])


def test_an_expired_lease_that_was_not_taken_can_still_be_ended(run: Run, server: Redis) -> None:
    async def act(queue: RequestQueue) -> list[bool]:
        await queue.push([request("a")])
        (lease,) = (await queue.take("slow", 1)).leases
        await queue.pause("a test", "somebody")
        while server.zscore(keys.workers("p"), "slow") is not None:
            await asyncio.sleep(0.02)
            await queue.heartbeat("living", b"{}", [])
            await queue.take("living", 1)
        return await queue.settle([ended(lease)])

    # While the portal is paused, a take still reclaims requests of dead workers, and leases none.
    assert run(act, lease=150) == [True]
    assert server.zcard(keys.ready("p")) == 0


def test_a_heartbeat_renews_every_lease(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[bool]:
        await queue.push([request("a"), request("b")])
        leases = (await queue.take("w", 2)).leases
        for _ in range(10):
            await asyncio.sleep(0.05)
            await queue.heartbeat("w", b"{}", [])
            assert (await queue.take("other", 2)).leases == []
        return await queue.settle([ended(lease) for lease in leases])

    assert run(act, lease=200) == [True, True]


def test_after_an_outage_workers_can_send_a_heartbeat_before_any_is_taken_for_dead(run: Run) -> None:
    async def act(queue: RequestQueue) -> tuple[list[Lease], list[bool]]:
        await queue.push([request("a")])
        (lease,) = (await queue.take("w", 1)).leases
        await asyncio.sleep(0.5)  # Redis was away: no worker could send a heartbeat, and the lease has expired long ago
        taken = (await queue.take("other", 1)).leases
        await queue.heartbeat("w", b"{}", [])
        return taken, await queue.settle([ended(lease)])

    assert run(act, lease=200) == ([], [True])


def test_a_worker_that_leaves_hands_everything_back_at_once(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[str]:
        await queue.push([request("a"), request("b")])
        await queue.take("w", 2)
        assert await queue.leave("w") == 2
        return names((await queue.take("other", 2)).leases)

    assert run(act) == ["a", "b"]


def test_a_request_that_is_handed_back_keeps_its_place(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[str]:
        await queue.push([request("a"), request("b"), request("c")])
        first = (await queue.take("w", 2)).leases
        await queue.settle([ended(lease, "back") for lease in reversed(first)])
        return names((await queue.take("w", 3)).leases)

    assert run(act) == ["a", "b", "c"]


def test_a_retry_waits_its_time_and_remembers_its_tries(run: Run) -> None:
    async def act(queue: RequestQueue) -> Lease:
        await queue.push([request("a")])
        (lease,) = (await queue.take("w", 1)).leases
        await queue.settle([ended(lease, "retry", (150, b"a again", 1))])
        soon = await queue.take("w", 1)
        assert soon.leases == []
        assert soon.ask_again_at > soon.now
        while not (again := (await queue.take("w", 1)).leases):
            await asyncio.sleep(0.02)
        assert await queue.settle([ended(lease)]) == [False], "the first lease is over"
        return again[0]

    lease = run(act)
    assert (lease.payload, lease.tries) == (b"a again", 1)


def test_a_delayed_request_is_taken_when_it_is_due(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[str]:
        now = (await queue.take("w", 1)).now
        await queue.push([request("later", due=now + 150), request("now")])
        found = names((await queue.take("w", 2)).leases)
        while len(found) < 2:
            found += names((await queue.take("w", 2)).leases)
            await asyncio.sleep(0.02)
        return found

    assert run(act) == ["now", "later"]


def test_a_request_that_kills_workers_is_leased_alone_and_then_becomes_a_dead_letter(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[list[str]]:
        await queue.push([request("poison"), request("innocent")])
        rounds = []
        for number in range(2):
            worker = f"victim {number}"
            leases: list[Lease] = []
            while "poison" not in names(leases):
                leases = (await queue.take(worker, 1 if number == 0 else 5)).leases
                await asyncio.sleep(0.02)
            rounds.append(names(leases))
            await queue.heartbeat(worker, b"{}", [leases[0].id])
            while await queue.server.zscore(keys.workers("p"), worker) is not None:
                await asyncio.sleep(0.02)
                await queue.heartbeat("living", b"{}", [])
                await queue.take("living", 0)
        rounds.append(names((await queue.take("living", 5)).leases))
        rounds.append([each.details["reason"] for each in await DeadLetters(queue).newest()])
        return rounds

    assert run(act, lease=150, poison=2) == [["poison"], ["poison"], ["innocent"], ["poison"]]


def test_a_suspected_request_does_not_wait_for_the_end_of_all_other_work(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[str]:
        await queue.push([request("suspect", priority=9)])
        (lease,) = (await queue.take("victim", 1)).leases
        await queue.heartbeat("victim", b"{}", [lease.id])
        await queue.push([request(number) for number in range(20)])
        busy = (await queue.take("living", 2)).leases
        while await queue.server.zscore(keys.workers("p"), "victim") is not None:
            await asyncio.sleep(0.02)
            await queue.heartbeat("living", b"{}", [])
            busy += (await queue.take("living", 0)).leases
        assert (await queue.take("living", 5)).leases == [], "the worker finishes its other requests first"
        await queue.settle([ended(each) for each in busy])
        return names((await queue.take("living", 5)).leases)

    assert run(act, lease=150) == ["suspect"]


def test_a_dead_letter_is_kept_replayed_and_dropped(run: Run, server: Redis) -> None:
    async def act(queue: RequestQueue) -> list[Any]:
        await queue.push([request("a"), request("b")])
        for lease in (await queue.take("w", 2)).leases:
            await queue.settle([ended(lease, "dead", dead_letter("http", "status 500", job="j", url="u"))])
        await queue.add_dead_letter(b"seed", dead_letter("seed", "no address", seed="nonsense"))
        dead = DeadLetters(queue)
        found = await dead.newest(reason="http", job="j")
        assert (await queue.take("w", 2)).leases == []
        assert await dead.replay([found[0].id], per_second=1000) == 1
        assert await dead.drop([found[1].id]) == 1
        replayed = names((await queue.take("w", 2)).leases)
        (seed,) = await dead.newest()
        assert await dead.replay([seed.id], per_second=1) == 1
        return [len(found), replayed, await dead.newest()]

    assert run(act) == [2, ["b"], []]
    assert server.lrange(keys.start_urls("p"), 0, -1) == [b"nonsense"]


def test_no_more_dead_letters_are_kept_than_allowed(run: Run, server: Redis) -> None:
    async def act(queue: RequestQueue) -> list[str]:
        for number in range(5):
            await queue.add_dead_letter(str(number).encode(), dead_letter("seed", str(number)))
            await asyncio.sleep(0.002)
        return [each.details["error"] for each in await DeadLetters(queue).newest()]

    assert run(act, dead_letters_keep=3) == ["4", "3", "2"]


def test_the_rate_limit_spaces_the_send_slots_of_the_fleet(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[float]:
        await queue.push([request(number) for number in range(40)])
        taken = [await queue.take(f"w{number}", 10) for number in range(4)]
        return sorted(lease.send_at for each in taken for lease in each.leases)

    send_times = run(act, rate=20, ahead=1500)
    assert len(send_times) > 20
    assert min(later - earlier for earlier, later in pairwise(send_times)) >= 50


def test_a_refusal_halves_the_rate_and_blocks_all_workers(run: Run) -> None:
    async def act(queue: RequestQueue) -> tuple[float, float]:
        await queue.push([request(number) for number in range(40)])
        await queue.refuse("429", wait_seconds=1)
        taken = await queue.take("w", 10)
        waits = taken.leases[0].send_at - taken.now
        return waits, taken.leases[1].send_at - taken.leases[0].send_at

    waits, spacing = run(act, rate=20, ahead=5000)
    assert waits > 900
    assert spacing >= 100, "ten a second, where it was twenty"


def test_a_crawl_delay_limits_the_rate(run: Run) -> None:
    async def act(queue: RequestQueue) -> float:
        await queue.set_crawl_delay(0.5, "https://www.example.com")
        await queue.push([request(1), request(2)])
        first, second = (await queue.take("w", 2)).leases
        return second.send_at - first.send_at

    assert run(act, rate=100, ahead=5000) >= 500


def test_the_concurrency_limit_counts_for_the_whole_fleet(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[int]:
        await queue.push([request(number) for number in range(10)])
        first = await queue.take("w1", 10)
        second = await queue.take("w2", 10)
        await queue.settle([ended(first.leases[0])])
        return [len(each.leases) for each in (first, second, await queue.take("w2", 10))]

    assert run(act, concurrency=3) == [3, 0, 1]


def test_a_paused_portal_leases_nothing_until_it_is_resumed(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[Any]:
        await queue.push([request("a")])
        await queue.pause("a test", "somebody")
        paused = await queue.take("w", 1)
        reply = await queue.heartbeat("w", b"{}", [])
        await queue.resume()
        return [paused.paused, paused.leases, reply.paused, names((await queue.take("w", 1)).leases)]

    assert run(act) == [True, [], True, ["a"]]


def test_a_request_removed_from_the_duplicate_filter_can_be_crawled_again(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[bool]:
        first = await queue.push([request("a"), request("b"), request("a", job="other")])
        await queue.drop_fingerprints("j", identify("j", b"a", BUCKETS))
        one = await queue.push([request("a"), request("b")])
        await queue.drop_fingerprints("j")
        return first + one + await queue.push([request("a"), request("b"), request("a", job="other")])

    assert run(act) == [True, True, True, True, False, True, True, False]


def test_all_jobs_of_a_portal_can_share_one_duplicate_filter(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[bool]:
        shared = identify("", b"a", BUCKETS)
        one, other = (Pushed.of(shared, 0, job, "extract", b"a") for job in ("one", "other"))
        known = await queue.push([one]) + await queue.push([other])
        await queue.drop_fingerprints("any", shared)
        return known + await queue.push([other])

    assert run(act, scope="portal") == [True, False, True]


def test_a_duplicate_filter_with_times_says_when_a_request_was_last_seen(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[Any]:
        seen = identify("j", b"a", BUCKETS)
        before = await queue.last_seen("j", seen)
        answers = await queue.push([request("a")]) + await queue.push([request("a")])
        seconds, _ = await queue.server.time()
        age = seconds - (await queue.last_seen("j", seen) or 0)
        life = await queue.server.ttl(keys.seen(queue.portal, "j", seen.bucket))
        await queue.drop_fingerprints("j", seen)
        return [before, answers, 0 <= age < 60, life > 0, await queue.last_seen("j", seen)]

    assert run(act, last_seen=True) == [None, [True, False], True, True, None]


def test_a_job_is_finished_when_nothing_of_it_is_left(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[bool]:
        await queue.push([request("a"), request("b", job="other")])
        (lease,) = (await queue.take("w", 1)).leases
        in_flight = await queue.is_over("j")
        await queue.settle([Settlement(lease.id, lease.token, "done")])
        return [in_flight, await queue.is_over("j"), await queue.is_over("other")]

    assert run(act) == [False, True, False]


def test_only_the_newest_jobs_are_named(run: Run) -> None:
    async def act(queue: RequestQueue) -> int:
        await queue.push([request("a", job=f"job {number}") for number in range(1_010)])
        return int(await queue.server.zcard(keys.jobs(queue.portal)))

    assert run(act) == 1_000


def test_a_push_wakes_waiting_workers(run: Run) -> None:
    async def act(queue: RequestQueue) -> bool:
        waiting = asyncio.ensure_future(queue.wait_for_wake_up(30))
        await asyncio.sleep(0)
        await queue.push([request("a")])
        await asyncio.wait_for(waiting, 10)
        return True

    assert run(act)


def test_the_requests_of_a_job_are_counted_exactly(run: Run, server: Redis) -> None:
    async def act(queue: RequestQueue) -> None:
        await queue.push([request("a"), request("b"), request("c", job="other")])
        for lease in (await queue.take("w", 3)).leases:
            await queue.settle([ended(lease, children=(request("child", job=lease.job),) if lease.job == "j" else ())])

    run(act)
    assert server.scard(keys.job("p", "j")) == 1
    assert server.scard(keys.job("p", "other")) == 0
    counts: Any = server.hgetall(keys.counts("p", "j"))
    assert {name.decode(): int(count) for name, count in counts.items()} == {
        "extract:pushed": 3,
        "extract:done": 2,
        "extract:duplicate": 1,
    }

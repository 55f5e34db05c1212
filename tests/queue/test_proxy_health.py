"""Proxy health: what the fleet learns about each proxy, and how proxies are granted with the requests."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis import Redis

from realestate.queue import keys, proxy_health
from realestate.queue.connection import connect_to
from realestate.queue.ledger import Ledger
from realestate.queue.proxy_health import (
    ProxyHealth,
    ProxyHealthStore,
    ProxyRef,
    after_fault,
    after_success,
    most_are_refused,
    site_limits,
)
from realestate.queue.request_ids import identify
from realestate.queue.request_queue import Pushed, QueueSettings, RequestQueue, Settlement

NOW = 1_000_000.0
Run = Callable[..., Any]


# ----- what the fleet learns


def after(health: ProxyHealth, *faults: Any, now: float = NOW) -> ProxyHealth:
    """The health after faults of requests that were each sent after the fault before was recorded."""
    for fault in faults:
        now += 10_000
        health = after_fault(health, fault, now - 1, now)
    return health


def test_a_rate_is_doubled_while_it_is_proven() -> None:
    health = ProxyHealth()
    for _ in range(3):
        health = after_success(health, proxy_health.STEP)
    assert (health.proven, health.rate) == (proxy_health.START_RATE * 4, proxy_health.START_RATE * 8)


def test_a_high_rate_is_not_proven_in_half_a_second() -> None:
    """Ten responses at 25 per second take less than half a second: too short for any site to count."""
    health = ProxyHealth(rate=25.6, proven=12.8)
    assert after_success(health, proxy_health.STEP).proven == 12.8
    enough = round(25.6 * proxy_health.STEP_SECONDS)
    assert after_success(after_success(health, enough - 1), 1).proven == 25.6


def learned_by(health: ProxyHealth, limit: float, answers: int) -> tuple[ProxyHealth, int]:
    """The health of one proxy after this many requests to a site that refuses more than `limit`, and its refusals."""
    now, refused = NOW, 0
    for _ in range(answers):
        now += 60_000 / 100
        limits = site_limits({"a": health}, now)
        if health.condition == "healthy" and health.rate > limit:
            health, refused = after_fault(health, "refused", now - 1, now, limits=limits), refused + 1
        else:
            health = after_success(health, 1, limits)
    return health, refused


@pytest.mark.parametrize("limit", [0.5, 1.0, 5.0, 20.0])
def test_the_limit_of_a_site_is_found_with_few_refusals(limit: float) -> None:
    health, refused = learned_by(ProxyHealth(), limit, 900)
    assert refused <= 1, "two hundredths of the answers at most are refusals"
    assert limit / proxy_health.NEAR <= health.rate <= limit


def test_the_other_proxies_use_the_rate_that_the_leader_proved() -> None:
    leader = ProxyHealth(rate=3.2, proven=1.6)
    limits = site_limits({"a": leader, "b": ProxyHealth()}, NOW)
    assert (limits.leader, limits.proven) == ("a", 1.6)
    assert after_success(ProxyHealth(), proxy_health.STEP, limits, leads=False).rate == 1.6
    refused = after_fault(leader, "refused", NOW - 1, NOW, limits=limits)
    assert (refused.rate, refused.ceiling) == (1.6, 3.2)
    limits = site_limits({"a": refused, "b": ProxyHealth(rate=1.6, proven=1.6)}, NOW)
    assert (limits.leader, limits.proven, limits.ceiling) == ("b", 1.6, 3.2)
    assert after_success(ProxyHealth(rate=1.6), proxy_health.STEP, limits, leads=True).rate == 1.6, "near enough"
    far = limits._replace(ceiling=4.8, may_try=True)
    assert after_success(ProxyHealth(rate=1.6), proxy_health.STEP, far, leads=True).rate == pytest.approx(3.2)
    assert after_success(ProxyHealth(rate=1.6), proxy_health.STEP, limits, leads=False).rate == 1.6


def test_a_higher_rate_is_tried_only_after_enough_good_responses() -> None:
    few, many = proxy_health.RESPONSES_PER_TRY - 1, proxy_health.RESPONSES_PER_TRY
    assert not site_limits({"a": ProxyHealth(responses=few)}, NOW).may_try
    assert site_limits({"a": ProxyHealth(responses=few), "b": ProxyHealth(responses=1)}, NOW).may_try
    assert not site_limits({"a": ProxyHealth(responses=many), "b": ProxyHealth(refusals=1)}, NOW).may_try
    assert (
        after_success(ProxyHealth(), proxy_health.STEP, site_limits({"a": ProxyHealth()}, NOW)).rate
        == proxy_health.START_RATE
    )


def test_a_ban_of_one_proxy_does_not_lower_the_rate_that_others_proved() -> None:
    limits = site_limits({"a": ProxyHealth(), "b": ProxyHealth(rate=0.8, proven=0.8)}, NOW)
    banned = after_fault(ProxyHealth(), "banned", NOW - 1, NOW, limits=limits)
    assert (banned.rate, banned.ceiling, banned.condition) == (proxy_health.START_RATE, 0, "banned")


def test_a_proven_rate_that_is_refused_later_is_lowered() -> None:
    health = after_fault(ProxyHealth(rate=2.0, proven=2.0), "refused", NOW - 1, NOW)
    assert health.rate == pytest.approx(1.2)
    assert site_limits({"a": health, "b": ProxyHealth(proven=2.0)}, NOW).proven < 2


def test_a_refusal_expires() -> None:
    health = ProxyHealth(rate=2.0, proven=2.0, ceiling=2.4, refused_at=NOW)
    assert site_limits({"a": health}, NOW + proxy_health.REFUSAL_VALID_MS).ceiling == 2.4
    assert site_limits({"a": health}, NOW + proxy_health.REFUSAL_VALID_MS + 1).ceiling == 0


@pytest.mark.parametrize(
    ("faults", "condition"),
    [
        (["failed"], "healthy"),
        (["failed", "failed"], "cooling"),
        (["failed"] * 5, "banned"),
        (["refused"], "cooling"),
        (["bad"], "cooling"),
        (["banned"], "banned"),
    ],
)
def test_the_condition_after_each_fault(faults: list[str], condition: str) -> None:
    assert after(ProxyHealth(one_at_a_time=False), *faults).condition == condition


def test_only_a_refusal_lowers_the_rate_and_a_failure_keeps_the_identity() -> None:
    failed, bad, refused = (after(ProxyHealth(rate=5), *faults) for faults in (["failed"] * 3, ["bad"], ["refused"]))
    assert (failed.rate, failed.session) == (5, 0)
    assert (bad.rate, bad.session) == (5, 1), "somebody else, at the same rate"
    assert (refused.rate, refused.session) == (3, 1)


def test_each_rest_is_longer_but_never_longer_than_an_hour() -> None:
    rests = []
    health, now = ProxyHealth(), NOW
    for _ in range(20):
        now = health.until + 1_000 + now
        health = after_fault(health, "banned", now - 1, now)
        rests.append(health.until - now)
    assert rests[1] > rests[0]
    assert max(rests) == proxy_health.LONGEST_REST_MS


def test_a_longer_wait_that_the_site_asks_for_counts() -> None:
    assert after_fault(ProxyHealth(), "refused", NOW - 1, NOW, wait_ms=7_200_000).until == NOW + 7_200_000


def test_a_request_sent_before_the_last_fault_is_no_new_fault() -> None:
    health = after_fault(ProxyHealth(rate=10), "refused", NOW - 5, NOW)
    again = after_fault(health, "refused", NOW - 1, NOW + 100)
    assert again == health
    assert after_fault(health, "refused", NOW - 1, NOW + 100, wait_ms=60_000).until == NOW + 60_100


def test_faults_with_good_responses_between_them_do_not_add_up() -> None:
    """A site that fails one request in eight must not make its best proxies rest for an hour."""
    health, now = ProxyHealth(), NOW
    for _ in range(50):
        health, now = after_success(health, proxy_health.HEALTHY_AFTER), now + 60_000
        health = after_fault(health, "bad", now - 1, now)
        assert health.until - now <= 1.5 * proxy_health.REST_MS["bad"]


def test_a_proxy_that_seldom_works_rests_longer_each_time() -> None:
    health, now = ProxyHealth(), NOW
    for _ in range(20):
        health, now = after_success(health, proxy_health.HEALTHY_AFTER - 1), now + 60_000
        health = after_fault(health, "bad", now - 1, now)
    assert health.until - now == proxy_health.LONGEST_REST_MS


def test_a_fault_is_followed_by_probation() -> None:
    health = after(ProxyHealth(), "banned")
    assert after_success(health, 1).condition == "probation"
    assert after_success(after_success(health, 1), proxy_health.HEALTHY_AFTER).condition == "healthy"


def test_when_most_proxies_are_refused_at_once_the_site_means_us() -> None:
    fine, refused = ProxyHealth(), ProxyHealth(refused_at=NOW - 1_000)
    long_ago = ProxyHealth(refused_at=NOW - 2 * proxy_health.WINDOW_MS)
    assert not most_are_refused([refused, refused, fine, fine], NOW)
    assert most_are_refused([refused, refused, refused, fine], NOW)
    assert not most_are_refused([long_ago] * 4, NOW)
    assert not most_are_refused([refused], NOW), "one proxy alone is not most of them"


@given(st.lists(st.one_of(st.integers(1, 40), st.sampled_from(["refused", "banned", "failed", "bad"])), max_size=60))
def test_whatever_happens_a_proxy_keeps_a_rate_and_its_rest_ends(happened: list[Any]) -> None:
    health, now = ProxyHealth(), NOW
    for each in happened:
        now += 5_000
        limits = site_limits({"a": health}, now)
        if isinstance(each, int):
            health = after_success(health, each, limits)
        else:
            health = after_fault(health, each, now - 1, now, limits=limits)
        assert health.rate >= proxy_health.LEAST_RATE
        assert health.until <= now + proxy_health.LONGEST_REST_MS


# ----- how proxies are granted, on a real Redis


@pytest.fixture
def run(redis_url: str, server: Redis) -> Run:
    def with_queue(act: Callable[[RequestQueue], Awaitable[Any]], pool: list[ProxyRef] | None, **limits: Any) -> Any:
        async def inside() -> Any:
            client = connect_to(redis_url)
            try:
                queue = RequestQueue(client, "p", QueueSettings(buckets=64, **limits))
                queue.proxies = pool
                return await act(queue)
            finally:
                await client.aclose()

        return asyncio.run(inside())

    return with_queue


async def filled(queue: RequestQueue, count: int = 60) -> None:
    identities = [identify("j", str(number).encode(), 64) for number in range(count)]
    await queue.push([Pushed.of(identity, 0, "j", "extract", b"x") for identity in identities])


async def health_store(queue: RequestQueue) -> ProxyHealthStore:
    now = (await queue.take("clock", 0)).now
    return ProxyHealthStore(queue, lambda: now)


async def set_health(queue: RequestQueue, **healths: Any) -> None:
    """Store the health of some proxies."""
    now = (await queue.take("clock", 0)).now
    for name, changes in healths.items():
        moved = {key: now + value if key == "until" else value for key, value in changes.items()}
        assert await queue.set_proxy_health(name, None, msgspec.json.encode(ProxyHealth(**moved)))


def test_each_proxy_keeps_its_own_rate_across_workers(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[tuple[str, float]]:
        await filled(queue)
        await set_health(queue, a={"rate": 5.0, "one_at_a_time": False}, b={"rate": 1.0, "one_at_a_time": False})
        taken = [await queue.take(f"w{number}", 20) for number in range(3)]
        return [(lease.proxy_id, lease.send_at) for each in taken for lease in each.leases]

    granted = run(act, [ProxyRef("a"), ProxyRef("b")], ahead=4_000, proxy_ahead=4_000)
    times = {name: sorted(at for proxy_id, at in granted if proxy_id == name) for name in ("a", "b")}
    assert min(later - earlier for earlier, later in pairwise(times["a"])) >= 200
    assert min(later - earlier for earlier, later in pairwise(times["b"])) >= 1_000
    assert 10 <= len(times["a"]) <= 21
    assert 2 <= len(times["b"]) <= 5
    intervals = {round(later - earlier) for earlier, later in pairwise(times["a"])}
    assert len(intervals) > 5, "intervals that are all equal show a robot"
    assert [at for _, at in granted] == sorted(at for _, at in granted), "a worker sends in the order of its leases"


def test_a_proxy_without_a_response_yet_gets_one_request_at_a_time(run: Run) -> None:
    async def act(queue: RequestQueue) -> tuple[Counter[str], Counter[str], Counter[str]]:
        await filled(queue)
        first, second = [Counter(lease.proxy_id for lease in (await queue.take("w", 9)).leases) for _ in range(2)]
        store = await health_store(queue)
        await store.record_successes({"a": 1})
        await queue.set_proxy_health("b", None, msgspec.json.encode(ProxyHealth(one_at_a_time=False, rate=5.0)))
        return first, second, Counter(lease.proxy_id for lease in (await queue.take("w", 3)).leases)

    first, second, third = run(act, [ProxyRef("a"), ProxyRef("b")], ahead=5_000, proxy_ahead=5_000)
    assert first == {"a": 1, "b": 1}
    assert second == {}
    assert set(third) == {"a", "b"}, "good responses end that"


def test_the_health_of_unused_proxies_is_deleted(run: Run, server: Redis) -> None:
    """Each new id deletes old ones: however many came in a year, little more is kept than was used lately."""
    hashes = [f"{keys.proxies('p')}{part}" for part in ("", ":free_at", ":used_at")]

    async def act(queue: RequestQueue) -> None:
        now = (await queue.take("clock", 0)).now
        for name, used in (("old", now - proxy_health.KEEP_MS - 1), ("new", now - proxy_health.KEEP_MS + 60_000)):
            for hash in hashes:
                await queue.server.hset(hash, mapping={f"{name}{number}": int(used) for number in range(100)})
        for number in range(100):
            assert await queue.set_proxy_health(f"come{number}", None, msgspec.json.encode(ProxyHealth()))

    run(act, None)
    for hash in hashes:
        kept: Any = server.hkeys(hash)
        beginnings = Counter(name.decode().rstrip("0123456789") for name in kept)
        assert beginnings["new"] == 100, hash
        assert beginnings["old"] < 5, hash


def test_the_rate_limit_of_the_site_counts_for_all_proxies_together(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[float]:
        await filled(queue)
        await set_health(queue, a={"rate": 100.0, "one_at_a_time": False}, b={"rate": 100.0, "one_at_a_time": False})
        return [lease.send_at for lease in (await queue.take("w", 20)).leases]

    times = run(act, [ProxyRef("a"), ProxyRef("b")], rate=10, ahead=1_500)
    assert min(later - earlier for earlier, later in pairwise(times)) >= 100


def test_the_cheapest_tier_that_works_is_used(run: Run) -> None:
    pool = [ProxyRef("residential", 2), ProxyRef("first", 1), ProxyRef("second", 1)]

    async def act(queue: RequestQueue) -> tuple[Counter[str], Counter[str]]:
        await filled(queue)
        await set_health(queue, first={"rate": 50.0}, second={"until": 60_000})
        cheap = Counter(lease.proxy_id for lease in (await queue.take("w", 5)).leases)
        store = await health_store(queue)
        await store.record_fault("first", "banned", store.now())
        return cheap, Counter(lease.proxy_id for lease in (await queue.take("w", 5)).leases)

    cheap, dear = run(act, pool, ahead=1_000)
    assert set(cheap) == {"first"}
    assert set(dear) == {"residential"}


def test_a_proxy_that_was_granted_and_not_used_is_free_at_once(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[Counter[str]]:
        await filled(queue)
        granted = []
        for number, outcome in enumerate(("back", "retry", "done")):
            leases = (await queue.take("w", 9)).leases
            granted.append(Counter(lease.proxy_id for lease in leases))
            detail = (60_000, b"x", 0) if outcome == "retry" else None
            ledger: list[Settlement] = []
            held = Ledger(ledger.append)
            for lease in leases:
                held.end(held.open(lease), outcome, detail)  # type: ignore[arg-type]
            await queue.settle(ledger)
            assert len(ledger) == len(leases), number
        granted.append(Counter(lease.proxy_id for lease in (await queue.take("w", 9)).leases))
        return granted

    both: Counter[str] = Counter(a=1, b=1)
    assert run(act, [ProxyRef("a"), ProxyRef("b")], ahead=20_000, proxy_ahead=20_000) == [both, both, both, Counter()]


def test_a_damaged_health_is_ignored(run: Run, server: Redis) -> None:
    async def act(queue: RequestQueue) -> int:
        await filled(queue)
        server.hset("{p}:proxies", "a", b'{"until": null, "rate": null}')
        return len((await queue.take("w", 1)).leases)

    assert run(act, [ProxyRef("a")]) == 1


def test_a_proxy_of_an_unused_tier_is_not_the_leader(run: Run) -> None:
    async def act(queue: RequestQueue) -> float:
        store = await health_store(queue)
        for _ in range(30):
            await store.record_successes({"used": 20})
        return (await store.all())["used"].rate

    assert run(act, [ProxyRef("a dear one", 2), ProxyRef("used", 1)]) > proxy_health.START_RATE


def test_when_all_proxies_rest_the_worker_learns_when_to_ask_again(run: Run) -> None:
    async def act(queue: RequestQueue) -> tuple[int, float]:
        await filled(queue)
        await set_health(queue, a={"until": 60_000}, b={"until": 4_000})
        taken = await queue.take("w", 5)
        return len(taken.leases), taken.ask_again_at - taken.now

    granted, wait = run(act, [ProxyRef("a"), ProxyRef("b")], ahead=1_000, lease=9_000)
    assert granted == 0
    assert 0 < wait <= 4_000


def test_concurrent_changes_all_count(run: Run) -> None:
    async def act(queue: RequestQueue) -> ProxyHealth:
        store = await health_store(queue)
        await asyncio.gather(
            store.record_successes({"a": 3}), store.record_successes({"a": 4}), store.record_successes({"a": 2})
        )
        return (await store.all())["a"]

    assert run(act, [ProxyRef("a")]).good == 9


def test_record_fault_returns_whether_most_proxies_are_refused(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[bool]:
        store = await health_store(queue)
        return [await store.record_fault(name, fault, store.now()) for name, fault in FAULTS]

    assert run(act, [ProxyRef(name) for name in "abc"]) == [False, False, True]


FAULTS: list[tuple[str, Any]] = [("a", "refused"), ("b", "failed"), ("c", "banned")]


def test_without_proxies_requests_use_the_direct_connection(run: Run) -> None:
    async def act(queue: RequestQueue) -> set[str]:
        await filled(queue)
        return {lease.proxy_id for lease in (await queue.take("w", 5)).leases}

    assert run(act, None) == {""}


def test_with_an_empty_list_of_proxies_a_worker_waits(run: Run) -> None:
    async def act(queue: RequestQueue) -> tuple[int, bool]:
        await filled(queue)
        taken = await queue.take("w", 5)
        return len(taken.leases), taken.ask_again_at > taken.now

    assert run(act, []) == (0, True)

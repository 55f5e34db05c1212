"""Exits: what is learned of each at a site, and how they are granted with the requests."""

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

from realestate.queue import exits, keys
from realestate.queue.connection import connect_to
from realestate.queue.exits import Exit, Standing, blamed, is_us, lessons, worked
from realestate.queue.identity import identify
from realestate.queue.ledger import Ledger
from realestate.queue.request_queue import Ending, Pushed, QueueSettings, RequestQueue
from realestate.queue.standings import Standings

NOW = 1_000_000.0
Run = Callable[..., Any]


# ----- what is learned


def after(standing: Standing, *signals: Any, now: float = NOW) -> Standing:
    """Each signal answers something sent after the last one was blamed."""
    for signal in signals:
        now += 10_000
        standing = blamed(standing, signal, now - 1, now)
    return standing


def test_a_rate_is_doubled_while_it_is_proven() -> None:
    standing = Standing()
    for _ in range(3):
        standing = worked(standing, exits.STEP)
    assert (standing.proven, standing.rate) == (exits.START_RATE * 4, exits.START_RATE * 8)


def test_a_high_rate_is_not_proven_in_a_moment() -> None:
    """Ten answers at 25 a second are less than half a second: too short for any site to mind."""
    standing = Standing(rate=25.6, proven=12.8)
    assert worked(standing, exits.STEP).proven == 12.8
    enough = round(25.6 * exits.STEP_SECONDS)
    assert worked(worked(standing, enough - 1), 1).proven == 25.6


def learned_by(standing: Standing, limit: float, answers: int) -> tuple[Standing, int]:
    """An exit alone at a site that refuses more than `limit`, for so many answers; how often it was refused."""
    now, refused = NOW, 0
    for _ in range(answers):
        now += 60_000 / 100
        learned = lessons({"a": standing}, now)
        if standing.condition == "healthy" and standing.rate > limit:
            standing, refused = blamed(standing, "refused", now - 1, now, learned=learned), refused + 1
        else:
            standing = worked(standing, 1, learned)
    return standing, refused


@pytest.mark.parametrize("limit", [0.5, 1.0, 5.0, 20.0])
def test_the_limit_of_a_site_is_found_with_few_refusals(limit: float) -> None:
    standing, refused = learned_by(Standing(), limit, 900)
    assert refused <= 1, "two hundredths of the answers at most are refusals"
    assert limit / exits.NEAR <= standing.rate <= limit


def test_the_others_follow_who_goes_first() -> None:
    leader = Standing(rate=3.2, proven=1.6)
    learned = lessons({"a": leader, "b": Standing()}, NOW)
    assert (learned.leader, learned.proven) == ("a", 1.6)
    assert worked(Standing(), exits.STEP, learned, leads=False).rate == 1.6
    refused = blamed(leader, "refused", NOW - 1, NOW, learned=learned)
    assert (refused.rate, refused.ceiling) == (1.6, 3.2)
    learned = lessons({"a": refused, "b": Standing(rate=1.6, proven=1.6)}, NOW)
    assert (learned.leader, learned.proven, learned.ceiling) == ("b", 1.6, 3.2)
    assert worked(Standing(rate=1.6), exits.STEP, learned, leads=True).rate == 1.6, "near enough"
    far = learned._replace(ceiling=4.8, may_try=True)
    assert worked(Standing(rate=1.6), exits.STEP, far, leads=True).rate == pytest.approx(3.2)
    assert worked(Standing(rate=1.6), exits.STEP, learned, leads=False).rate == 1.6


def test_nobody_tries_for_more_before_a_refusal_would_be_few_among_the_answers() -> None:
    few, many = exits.ANSWERS_FOR_A_TRY - 1, exits.ANSWERS_FOR_A_TRY
    assert not lessons({"a": Standing(answers=few)}, NOW).may_try
    assert lessons({"a": Standing(answers=few), "b": Standing(answers=1)}, NOW).may_try
    assert not lessons({"a": Standing(answers=many), "b": Standing(refusals=1)}, NOW).may_try
    assert worked(Standing(), exits.STEP, lessons({"a": Standing()}, NOW)).rate == exits.START_RATE


def test_a_ban_of_one_is_no_lesson_for_the_others() -> None:
    learned = lessons({"a": Standing(), "b": Standing(rate=0.8, proven=0.8)}, NOW)
    banned = blamed(Standing(), "banned", NOW - 1, NOW, learned=learned)
    assert (banned.rate, banned.ceiling, banned.condition) == (exits.START_RATE, 0, "banned")


def test_what_was_proven_and_is_refused_now_is_not_believed_any_more() -> None:
    standing = blamed(Standing(rate=2.0, proven=2.0), "refused", NOW - 1, NOW)
    assert standing.rate == pytest.approx(1.2)
    assert lessons({"a": standing, "b": Standing(proven=2.0)}, NOW).proven < 2


def test_a_refusal_is_forgotten() -> None:
    standing = Standing(rate=2.0, proven=2.0, ceiling=2.4, refused_at=NOW)
    assert lessons({"a": standing}, NOW + exits.FORGET_MS).ceiling == 2.4
    assert lessons({"a": standing}, NOW + exits.FORGET_MS + 1).ceiling == 0


@pytest.mark.parametrize(
    ("signals", "condition"),
    [
        (["failed"], "healthy"),
        (["failed", "failed"], "cooling"),
        (["failed"] * 5, "banned"),
        (["refused"], "cooling"),
        (["bad"], "cooling"),
        (["banned"], "banned"),
    ],
)
def test_three_different_blames(signals: list[str], condition: str) -> None:
    assert after(Standing(alone=False), *signals).condition == condition


def test_what_does_not_connect_is_not_asked_less_often_and_stays_who_it_is() -> None:
    failed, bad, refused = (after(Standing(rate=5), *signals) for signals in (["failed"] * 3, ["bad"], ["refused"]))
    assert (failed.rate, failed.session) == (5, 0)
    assert (bad.rate, bad.session) == (5, 1), "somebody else, at the same rate"
    assert (refused.rate, refused.session) == (3, 1)


def test_it_rests_twice_as_long_each_time_but_no_longer_than_an_hour() -> None:
    rests = []
    standing, now = Standing(), NOW
    for _ in range(20):
        now = standing.until + 1_000 + now
        standing = blamed(standing, "banned", now - 1, now)
        rests.append(standing.until - now)
    assert rests[1] > rests[0]
    assert max(rests) == exits.LONGEST_REST_MS


def test_the_sites_own_word_counts_if_it_is_longer() -> None:
    assert blamed(Standing(), "refused", NOW - 1, NOW, wait_ms=7_200_000).until == NOW + 7_200_000


def test_what_was_on_its_way_already_is_not_blamed_again() -> None:
    standing = blamed(Standing(rate=10), "refused", NOW - 5, NOW)
    again = blamed(standing, "refused", NOW - 1, NOW + 100)
    assert again == standing
    assert blamed(standing, "refused", NOW - 1, NOW + 100, wait_ms=60_000).until == NOW + 60_100


def test_troubles_with_good_answers_between_them_do_not_add_up() -> None:
    """A site that fails one request in eight is no reason to leave its best exits unused for an hour."""
    standing, now = Standing(), NOW
    for _ in range(50):
        standing, now = worked(standing, exits.TRUST), now + 60_000
        standing = blamed(standing, "bad", now - 1, now)
        assert standing.until - now <= 1.5 * exits.REST_MS["bad"]


def test_an_exit_that_brings_something_now_and_then_rests_longer_and_longer() -> None:
    standing, now = Standing(), NOW
    for _ in range(20):
        standing, now = worked(standing, exits.TRUST - 1), now + 60_000
        standing = blamed(standing, "bad", now - 1, now)
    assert standing.until - now == exits.LONGEST_REST_MS


def test_trouble_is_followed_by_probation() -> None:
    standing = after(Standing(), "banned")
    assert worked(standing, 1).condition == "probation"
    assert worked(worked(standing, 1), exits.TRUST).condition == "healthy"


def test_when_most_are_refused_at_once_it_is_us() -> None:
    fine, refused = Standing(), Standing(refused_at=NOW - 1_000)
    long_ago = Standing(refused_at=NOW - 2 * exits.WINDOW_MS)
    assert not is_us([refused, refused, fine, fine], NOW)
    assert is_us([refused, refused, refused, fine], NOW)
    assert not is_us([long_ago] * 4, NOW)
    assert not is_us([refused], NOW), "one exit alone is no crowd"


@given(st.lists(st.one_of(st.integers(1, 40), st.sampled_from(["refused", "banned", "failed", "bad"])), max_size=60))
def test_whatever_happens_an_exit_has_a_rate_and_comes_back(happened: list[Any]) -> None:
    standing, now = Standing(), NOW
    for each in happened:
        now += 5_000
        learned = lessons({"a": standing}, now)
        if isinstance(each, int):
            standing = worked(standing, each, learned)
        else:
            standing = blamed(standing, each, now - 1, now, learned=learned)
        assert standing.rate >= exits.LEAST_RATE
        assert standing.until <= now + exits.LONGEST_REST_MS


# ----- how they are granted, on a real Redis


@pytest.fixture
def run(redis_url: str, server: Redis) -> Run:
    def with_queue(act: Callable[[RequestQueue], Awaitable[Any]], pool: list[Exit] | None, **limits: Any) -> Any:
        async def inside() -> Any:
            client = connect_to(redis_url)
            try:
                queue = RequestQueue(client, "p", QueueSettings(buckets=64, **limits))
                queue.exits = pool
                return await act(queue)
            finally:
                await client.aclose()

        return asyncio.run(inside())

    return with_queue


async def filled(queue: RequestQueue, count: int = 60) -> None:
    identities = [identify("j", str(number).encode(), 64) for number in range(count)]
    await queue.push([Pushed.of(identity, 0, "j", "extract", b"x") for identity in identities])


async def standings(queue: RequestQueue) -> Standings:
    now = (await queue.take("clock", 0)).now
    return Standings(queue, lambda: now)


async def stands(queue: RequestQueue, **told: Any) -> None:
    """The exits stand with the site as told."""
    now = (await queue.take("clock", 0)).now
    for name, changes in told.items():
        moved = {key: now + value if key == "until" else value for key, value in changes.items()}
        assert await queue.stand(name, None, msgspec.json.encode(Standing(**moved)))


def test_each_exit_keeps_its_own_pace_whoever_asks(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[tuple[str, float]]:
        await filled(queue)
        await stands(queue, a={"rate": 5.0, "alone": False}, b={"rate": 1.0, "alone": False})
        taken = [await queue.take(f"w{number}", 20) for number in range(3)]
        return [(lease.exit, lease.send_at) for each in taken for lease in each.leases]

    granted = run(act, [Exit("a"), Exit("b")], ahead=4_000, exit_ahead=4_000)
    times = {name: sorted(at for exit, at in granted if exit == name) for name in ("a", "b")}
    assert min(later - earlier for earlier, later in pairwise(times["a"])) >= 200
    assert min(later - earlier for earlier, later in pairwise(times["b"])) >= 1_000
    assert 10 <= len(times["a"]) <= 21
    assert 2 <= len(times["b"]) <= 5
    intervals = {round(later - earlier) for earlier, later in pairwise(times["a"])}
    assert len(intervals) > 5, "intervals that are all alike give a robot away"
    assert [at for _, at in granted] == sorted(at for _, at in granted), "a worker sends in the order of its leases"


def test_who_has_not_answered_yet_is_asked_one_thing_at_a_time(run: Run) -> None:
    async def act(queue: RequestQueue) -> tuple[Counter[str], Counter[str], Counter[str]]:
        await filled(queue)
        first, second = [Counter(lease.exit for lease in (await queue.take("w", 9)).leases) for _ in range(2)]
        told = await standings(queue)
        await told.praise({"a": 1})
        await queue.stand("b", None, msgspec.json.encode(Standing(alone=False, rate=5.0)))
        return first, second, Counter(lease.exit for lease in (await queue.take("w", 3)).leases)

    first, second, third = run(act, [Exit("a"), Exit("b")], ahead=5_000, exit_ahead=5_000)
    assert first == {"a": 1, "b": 1}
    assert second == {}
    assert set(third) == {"a", "b"}, "answers set them free"


def test_exits_that_nobody_uses_any_more_are_forgotten(run: Run, server: Redis) -> None:
    """Each new name makes room: however many came in a year, few more are kept than were used of late."""
    hashes = [f"{keys.exits('p')}{part}" for part in ("", ":free", ":asked")]

    async def act(queue: RequestQueue) -> None:
        now = (await queue.take("clock", 0)).now
        for name, used in (("old", now - exits.KEEP_MS - 1), ("new", now - exits.KEEP_MS + 60_000)):
            for hash in hashes:
                await queue.server.hset(hash, mapping={f"{name}{number}": int(used) for number in range(100)})
        for number in range(100):
            assert await queue.stand(f"come{number}", None, msgspec.json.encode(Standing()))

    run(act, None)
    for hash in hashes:
        kept: Any = server.hkeys(hash)
        beginnings = Counter(name.decode().rstrip("0123456789") for name in kept)
        assert beginnings["new"] == 100, hash
        assert beginnings["old"] < 5, hash


def test_the_sites_pace_counts_for_all_exits_together(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[float]:
        await filled(queue)
        await stands(queue, a={"rate": 100.0, "alone": False}, b={"rate": 100.0, "alone": False})
        return [lease.send_at for lease in (await queue.take("w", 20)).leases]

    moments = run(act, [Exit("a"), Exit("b")], rate=10, ahead=1_500)
    assert min(later - earlier for earlier, later in pairwise(moments)) >= 100


def test_the_cheapest_tier_that_works_is_used(run: Run) -> None:
    pool = [Exit("residential", 2), Exit("first", 1), Exit("second", 1)]

    async def act(queue: RequestQueue) -> tuple[Counter[str], Counter[str]]:
        await filled(queue)
        await stands(queue, first={"rate": 50.0}, second={"until": 60_000})
        cheap = Counter(lease.exit for lease in (await queue.take("w", 5)).leases)
        told = await standings(queue)
        await told.blame("first", "banned", told.now())
        return cheap, Counter(lease.exit for lease in (await queue.take("w", 5)).leases)

    cheap, dear = run(act, pool, ahead=1_000)
    assert set(cheap) == {"first"}
    assert set(dear) == {"residential"}


def test_who_was_not_asked_after_all_is_free_at_once(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[Counter[str]]:
        await filled(queue)
        granted = []
        for number, outcome in enumerate(("back", "retry", "done")):
            leases = (await queue.take("w", 9)).leases
            granted.append(Counter(lease.exit for lease in leases))
            detail = (60_000, b"x", 0) if outcome == "retry" else None
            ledger: list[Ending] = []
            held = Ledger(ledger.append)
            for lease in leases:
                held.end(held.open(lease), outcome, detail)  # type: ignore[arg-type]
            await queue.settle(ledger)
            assert len(ledger) == len(leases), number
        granted.append(Counter(lease.exit for lease in (await queue.take("w", 9)).leases))
        return granted

    both: Counter[str] = Counter(a=1, b=1)
    assert run(act, [Exit("a"), Exit("b")], ahead=20_000, exit_ahead=20_000) == [both, both, both, Counter()]


def test_a_damaged_standing_is_none(run: Run, server: Redis) -> None:
    async def act(queue: RequestQueue) -> int:
        await filled(queue)
        server.hset("{p}:exits", "a", b'{"until": null, "rate": null}')
        return len((await queue.take("w", 1)).leases)

    assert run(act, [Exit("a")]) == 1


def test_an_exit_that_nobody_uses_leads_nobody(run: Run) -> None:
    async def act(queue: RequestQueue) -> float:
        told = await standings(queue)
        for _ in range(30):
            await told.praise({"used": 20})
        return (await told.all())["used"].rate

    assert run(act, [Exit("a dear one", 2), Exit("used", 1)]) > exits.START_RATE


def test_when_all_rest_the_worker_is_told_when_to_ask_again(run: Run) -> None:
    async def act(queue: RequestQueue) -> tuple[int, float]:
        await filled(queue)
        await stands(queue, a={"until": 60_000}, b={"until": 4_000})
        taken = await queue.take("w", 5)
        return len(taken.leases), taken.ask_again_at - taken.now

    granted, wait = run(act, [Exit("a"), Exit("b")], ahead=1_000, lease=9_000)
    assert granted == 0
    assert 0 < wait <= 4_000


def test_two_who_blame_at_once_both_count(run: Run) -> None:
    async def act(queue: RequestQueue) -> Standing:
        told = await standings(queue)
        await asyncio.gather(told.praise({"a": 3}), told.praise({"a": 4}), told.praise({"a": 2}))
        return (await told.all())["a"]

    assert run(act, [Exit("a")]).good == 9


def test_blame_tells_when_it_is_us(run: Run) -> None:
    async def act(queue: RequestQueue) -> list[bool]:
        told = await standings(queue)
        return [await told.blame(name, signal, told.now()) for name, signal in BLAMES]

    assert run(act, [Exit(name) for name in "abc"]) == [False, False, True]


BLAMES: list[tuple[str, Any]] = [("a", "refused"), ("b", "failed"), ("c", "banned")]


def test_without_exits_nothing_changes(run: Run) -> None:
    async def act(queue: RequestQueue) -> set[str]:
        await filled(queue)
        return {lease.exit for lease in (await queue.take("w", 5)).leases}

    assert run(act, None) == {""}


def test_with_none_of_its_exits_a_worker_waits(run: Run) -> None:
    async def act(queue: RequestQueue) -> tuple[int, bool]:
        await filled(queue)
        taken = await queue.take("w", 5)
        return len(taken.leases), taken.ask_again_at > taken.now

    assert run(act, []) == (0, True)

"""How many requests an address may send, and what it gets for more. The clock is a fake."""

from itertools import accumulate
from random import Random

import pytest

from realestate.simulator.adversary.limits import (
    BAN_COUNTS_SECONDS,
    EXCESS_COUNTS_SECONDS,
    GRACE_SECONDS,
    INTERVALS,
    IntervalDetector,
    Limits,
    RateWindow,
    Refusal,
)
from realestate.simulator.adversary.profiles import PROFILES

ALLOWED = {"gentle": 60, "normal": 15, "strict": 3, "hostile": 3}
IN_SECONDS = {"gentle": 3.0, "normal": 3.0, "strict": 3.0, "hostile": 6.0}


def statuses(limits: Limits, *times: float) -> list[int]:
    return [refusal.status if (refusal := limits.refusal(now)) else 200 for now in times]


def after_a_burst(profile: str, now: float = 100.0) -> Limits:
    """Limits of an address that has just used up its rate."""
    limits = Limits(PROFILES[profile])
    assert statuses(limits, *[now] * ALLOWED[profile]) == [200] * ALLOWED[profile]
    return limits


@pytest.mark.parametrize("profile", PROFILES)
def test_a_burst_of_one_window_is_accepted_and_no_more(profile: str) -> None:
    window = RateWindow(PROFILES[profile].rate)
    assert [window.admits(50.0) for _ in range(ALLOWED[profile] + 1)] == [True] * ALLOWED[profile] + [False]
    assert not window.admits(50.0 + IN_SECONDS[profile] - 0.01)
    assert window.admits(50.0 + IN_SECONDS[profile])


@pytest.mark.parametrize("profile", PROFILES)
def test_an_address_that_keeps_the_rate_is_never_refused(profile: str) -> None:
    rate, rng, limits = PROFILES[profile].rate, Random(1), Limits(PROFILES[profile])
    times = accumulate(rng.uniform(1, 1.6) / rate for _ in range(500))
    assert set(statuses(limits, *times)) == {200}


def test_excess_is_429_with_a_time_to_wait_and_is_accepted_after_it() -> None:
    limits = after_a_burst("normal")
    assert limits.refusal(100.1) == Refusal("rate", 429, 2)
    assert statuses(limits, *[102.1] * 15) == [200] * 15


def test_requests_in_flight_are_refused_but_do_not_count_as_excess() -> None:
    limits = after_a_burst("normal")
    on_their_way = [100.1 + GRACE_SECONDS * 0.9] * 20
    assert set(statuses(limits, 100.1, *on_their_way)) == {429}
    assert limits.refusal(102.2) is None


def test_the_time_to_wait_is_the_rest_of_the_window() -> None:
    limits = after_a_burst("gentle")
    waits = [refusal.retry_after for now in (100.0, 100.9, 101.5) if (refusal := limits.refusal(now))]
    assert waits == [2, 2, 1]
    assert limits.refusal(102.0) is None


def test_the_gentle_profile_never_bans() -> None:
    limits = after_a_burst("gentle")
    times = [100.0 + step * 0.02 for step in range(1, 2_000)]
    assert set(statuses(limits, *times)) == {200, 429}


@pytest.mark.parametrize(("profile", "seconds"), [("normal", 10.0), ("strict", 20.0)])
def test_the_third_excess_causes_a_temporary_ban(profile: str, seconds: float) -> None:
    limits = after_a_burst(profile)
    assert statuses(limits, 100.0, 101.0, 101.5) == [429, 429, 403]
    assert limits.refusal(101.5 + seconds - 0.01) == Refusal("banned", 403)
    assert limits.refusal(101.5 + seconds) is None


def test_excesses_are_forgiven_after_a_while() -> None:
    limits = after_a_burst("normal")
    assert statuses(limits, 100.0, 101.0) == [429, 429]
    later = 101.0 + EXCESS_COUNTS_SECONDS + 1
    assert statuses(limits, *[later] * 16) == [200] * 15 + [429]


def test_a_new_ban_differs_from_a_continued_one() -> None:
    limits = after_a_burst("hostile")
    assert limits.refusal(100.0) == Refusal("rate", 403, is_new_ban=True)
    assert limits.refusal(100.1) == Refusal("banned", 403)


def test_the_hostile_profile_bans_at_once_and_twice_as_long_each_time() -> None:
    limits, now, lengths = Limits(PROFILES["hostile"]), 0.0, []
    for _ in range(4):
        assert statuses(limits, *[now] * 4) == [200, 200, 200, 403]
        banned_at = now
        while limits.refusal(now) is not None:
            now += 1
        lengths.append(now - banned_at)
        now += 10
    assert lengths == [30, 60, 120, 240]
    now += BAN_COUNTS_SECONDS
    assert statuses(limits, *[now] * 4)[-1] == 403
    assert (limits.refusal(now + 29), limits.refusal(now + 31)) == (Refusal("banned", 403), None)


def test_requests_during_a_ban_do_not_extend_it() -> None:
    limits = after_a_burst("hostile")
    assert set(statuses(limits, *[100.0 + step / 10 for step in range(300)])) == {403}
    assert limits.refusal(130.0) is None


def regularity(jitter: float, seed: int, requests: int = 400) -> bool:
    detector, rng = IntervalDetector(), Random(seed)
    times = accumulate(2 * rng.uniform(1 - jitter, 1 + jitter) for _ in range(requests))
    return any(map(detector.is_regular, times))


@pytest.mark.parametrize("seed", range(20))
def test_regular_intervals_are_detected_and_irregular_ones_are_not(seed: int) -> None:
    assert regularity(0.01, seed)
    assert not regularity(0.5, seed)


def test_it_takes_some_intervals_to_be_sure() -> None:
    detector = IntervalDetector()
    assert [detector.is_regular(now * 1.5) for now in range(INTERVALS + 1)] == [False] * INTERVALS + [True]


@pytest.mark.parametrize(
    ("profile", "minds"), [("gentle", False), ("normal", False), ("strict", True), ("hostile", True)]
)
def test_only_strict_profiles_check_intervals_within_the_rate(profile: str, minds: bool) -> None:
    limits = Limits(PROFILES[profile])
    reasons = {refusal.reason for step in range(30) if (refusal := limits.refusal(step * 4.0))}
    assert ("regular" in reasons) is minds

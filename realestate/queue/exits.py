"""Exits: the addresses from which a site is asked, and what the fleet has learned of each at this site.

An exit is granted together with its request (`lua/take.lua`), at the rate that was learned for it: down when the site
refuses it, slowly up again. How to leave by an exit is known to who fetches; here is nothing but its name.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

Condition = Literal["healthy", "cooling", "banned", "probation"]
Signal = Literal["refused", "banned", "failed", "bad"]
"""What an exit can be blamed for: it came too often, it is not wanted, it does not work, it brings something else."""

#: The rate of an exit of which nothing is known; doubled after so many good answers until it is refused.
START_RATE, STEP = 0.4, 10
#: After a refusal so much of the rate is left; it grows again by a tenth, and stays below what was refused
CUT, GROWTH, BELOW = 0.6, 1.1, 0.9
#: until that is so long ago.
FORGET_MS = 600_000
LEAST_RATE = 1 / 60
#: One failure to connect happens to anybody. So many in a row are the exit's own,
FAILURES = 2
#: and with so many it is taken for dead.
DEAD_AFTER = 5
#: Good answers after which an exit that was in trouble is trusted again.
TRUST = 3
#: How long an exit rests at first, by what it is blamed for; twice as long each time, up to an hour.
REST_MS: Mapping[Signal, int] = {"refused": 1_000, "banned": 15_000, "failed": 2_000, "bad": 5_000}
LONGEST_REST_MS = 3_600_000
#: More than this share of the exits refused within a minute: the site means us, not them.
OURSELVES, WINDOW_MS = 0.5, 60_000


class Exit(NamedTuple):
    """A way out, as the queue knows it."""

    id: str
    tier: int = 0
    """What it costs: the cheapest tier that works is used."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How an exit stands with one site. Times are Redis' own, in milliseconds."""

    condition: Condition = "healthy"
    rate: float = START_RATE
    """Requests a second."""
    ceiling: float = 0.0
    """The rate at which it was last refused; 0: never, as far as is remembered."""
    until: float = 0.0
    """It is not used before."""
    strikes: int = 0
    blamed_at: float = 0.0
    refused_at: float = 0.0
    good: int = 0
    """Good answers since anything changed."""
    session: int = 0
    """How often it had to become somebody else."""


def worked(standing: Standing, times: int) -> Standing:
    """It brought good answers."""
    good = standing.good + times
    if standing.condition != "healthy":
        return replace(standing, condition="healthy" if good >= TRUST else "probation", good=good % TRUST)
    if good < STEP:
        return replace(standing, good=good)
    return replace(standing, strikes=0, rate=_raised(standing), good=0)


def blamed(standing: Standing, signal: Signal, sent_at: float, now: float, wait_ms: float = 0.0) -> Standing:
    """It did not. Answers to what was sent before it was last blamed tell nothing new, but for a longer wait."""
    if sent_at <= standing.blamed_at:
        return replace(standing, until=max(standing.until, now + wait_ms if wait_ms else 0))
    strikes = standing.strikes + 1
    if signal == "failed" and strikes < FAILURES:
        return replace(standing, strikes=strikes, blamed_at=now, good=0)
    rest = min(REST_MS[signal] * 2 ** (strikes - 1) * random.uniform(1, 1.5), LONGEST_REST_MS)
    is_banned = signal == "banned" or (signal == "failed" and strikes >= DEAD_AFTER)
    changed = replace(
        standing,
        condition="banned" if is_banned else "cooling",
        until=now + max(rest, wait_ms),
        strikes=strikes,
        blamed_at=now,
        good=0,
    )
    if signal == "failed":
        return changed
    slower = {} if signal == "bad" else {"rate": max(standing.rate * CUT, LEAST_RATE), "ceiling": standing.rate}
    return replace(changed, session=standing.session + 1, refused_at=now, **slower)


def aged(standing: Standing, now: float) -> Standing:
    """What has been long enough ago is forgotten."""
    if standing.ceiling and now - standing.refused_at > FORGET_MS:
        return replace(standing, ceiling=0.0)
    return standing


def is_us(standings: Sequence[Standing], now: float) -> bool:
    """Whether so many exits are refused at once that it cannot be theirs."""
    refused = sum(now - each.refused_at <= WINDOW_MS for each in standings if each.refused_at)
    return len(standings) > 1 and refused > OURSELVES * len(standings)


def _raised(standing: Standing) -> float:
    if standing.ceiling:
        return max(standing.rate, min(standing.rate * GROWTH, standing.ceiling * BELOW))
    return standing.rate * (GROWTH if standing.refused_at else 2)

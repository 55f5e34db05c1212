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

#: The rate of an exit of which nothing is known; the good answers in a row after which a rate is proven, and the
#: seconds it has to be kept up: a site counts over some time, within which it lets anything pass.
START_RATE, STEP, STEP_SECONDS = 0.4, 10, 5.0
#: One exit goes first: it tries twice the proven rate, and once refused the middle of what was proven and what was
#: refused, until these are so near each other. The others follow as far as it got, so that one pays for all.
NEAR = 2.0
#: It tries only when so many good answers stand beside each refusal there was, and beside the one it may earn.
ANSWERS_FOR_A_TRY = 60
#: What is left of a rate that was refused although it had been proven.
CUT = 0.6
#: So long ago it was refused, and it may be tried again.
FORGET_MS = 600_000
LEAST_RATE = 1 / 60
#: An exit from which nothing came yet, or nothing since it was in trouble, is asked one thing at a time: the next when
#: it has answered, or after so long.
ALONE_MS = 30_000
#: So many failures in a row, and it is taken for dead.
DEAD_AFTER = 5
#: Good answers in a row after which an exit that was in trouble is trusted again, and its troubles are forgotten.
TRUST = 3
#: How long an exit rests at first, by what it is blamed for, and how many times as long each further time, up to an
#: hour. A refusal passes; what is banned, broken or lying mostly stays so, and each try costs a request.
REST_MS: Mapping[Signal, int] = {"refused": 1_000, "banned": 60_000, "failed": 2_000, "bad": 5_000}
GROWTH: Mapping[Signal, int] = {"refused": 2, "banned": 4, "failed": 4, "bad": 4}
LONGEST_REST_MS = 3_600_000
#: So long unused, an exit is forgotten: longer than a weekly crawl waits.
KEEP_MS = 15 * 24 * 3_600_000
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
    proven: float = 0.0
    """The highest rate at which it brought enough good answers in a row."""
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
    alone: bool = True
    """Whether it is asked one thing at a time."""
    answers: int = 0
    refusals: int = 0
    """All there ever were."""


class Lessons(NamedTuple):
    """What all exits together have learned of a site."""

    leader: str = ""
    """The one that goes first."""
    proven: float = 0.0
    ceiling: float = 0.0
    may_try: bool = True
    """Whether one more refusal would be few among the answers."""


def lessons(standings: Mapping[str, Standing], now: float) -> Lessons:
    """A refusal counts more than what was proven before it."""
    fresh = [each.ceiling for each in standings.values() if each.ceiling and now - each.refused_at <= FORGET_MS]
    ceiling = min(fresh, default=0.0)
    proven = max((each.proven for each in standings.values() if not ceiling or each.proven < ceiling), default=0.0)
    leader = min((name for name, each in standings.items() if each.condition == "healthy"), default="")
    answers, refusals = (sum(getattr(each, name) for each in standings.values()) for name in ("answers", "refusals"))
    return Lessons(leader, proven, ceiling, answers >= ANSWERS_FOR_A_TRY * (refusals + 1))


def worked(standing: Standing, times: int, learned: Lessons = Lessons(), *, leads: bool = True) -> Standing:  # noqa: B008
    """It brought good answers."""
    good = standing.good + times
    # What happens to anybody now and then must not add up to a rest of an hour.
    strikes = 0 if good >= TRUST else standing.strikes
    standing = replace(standing, alone=False, answers=standing.answers + times, strikes=strikes)
    if standing.condition != "healthy":
        return replace(standing, condition="healthy" if good >= TRUST else "probation", good=good % TRUST)
    if good < max(STEP, STEP_SECONDS * standing.rate):
        return replace(standing, good=good)
    proven = max(standing.proven, standing.rate)
    known = max(proven, learned.proven)
    rate = _tried(known, learned.ceiling) if leads and learned.may_try else known
    return replace(standing, proven=proven, rate=rate, good=0)


def _tried(proven: float, ceiling: float) -> float:
    """What is worth trying next."""
    if not ceiling:
        return 2 * proven
    return (
        (proven + ceiling) / 2
        if ceiling > NEAR * proven
        else min(proven, ceiling * CUT if ceiling <= proven else proven)
    )


def blamed(
    standing: Standing,
    signal: Signal,
    sent_at: float,
    now: float,
    wait_ms: float = 0.0,
    learned: Lessons = Lessons(),  # noqa: B008
) -> Standing:
    """It did not. Answers to what was sent before it was last blamed tell nothing new, but for a longer wait."""
    if sent_at <= standing.blamed_at:
        return replace(standing, until=max(standing.until, now + wait_ms if wait_ms else 0))
    strikes = standing.strikes + 1
    if signal == "failed" and not standing.alone:  # once happens to anybody
        return replace(standing, strikes=strikes, blamed_at=now, good=0, alone=True)
    rest = min(REST_MS[signal] * GROWTH[signal] ** min(strikes - 1, 12) * random.uniform(1, 1.5), LONGEST_REST_MS)
    is_banned = signal == "banned" or (signal == "failed" and strikes >= DEAD_AFTER)
    changed = replace(
        standing,
        condition="banned" if is_banned else "cooling",
        until=now + max(rest, wait_ms),
        strikes=strikes,
        blamed_at=now,
        good=0,
        alone=signal != "refused",
    )
    if signal == "failed":
        return changed
    changed = replace(changed, session=standing.session + 1)
    if signal == "bad":
        return changed
    changed = replace(changed, refused_at=now, refusals=standing.refusals + 1)
    # Where others do well at this rate, it is not the rate that is banned.
    return changed if signal == "banned" and standing.rate <= learned.proven else _slower(changed, learned)


def _slower(standing: Standing, learned: Lessons) -> Standing:
    """Back to what was proven; if that was refused itself, well below it."""
    proven = max((rate for rate in (standing.proven, learned.proven) if rate < standing.rate), default=0.0)
    rate = proven or max(standing.rate * CUT, LEAST_RATE)
    return replace(standing, rate=rate, ceiling=standing.rate, proven=min(standing.proven, rate))


def is_us(standings: Sequence[Standing], now: float) -> bool:
    """Whether so many exits are refused at once that it cannot be theirs."""
    refused = sum(now - each.refused_at <= WINDOW_MS for each in standings if each.refused_at)
    return len(standings) > 1 and refused > OURSELVES * len(standings)

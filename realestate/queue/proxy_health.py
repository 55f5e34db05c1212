"""Proxies as the queue knows them, and what the fleet has learned about each of them at one site.

A proxy is granted together with its request (`lua/take.lua`), at the rate that was learned for it. The rate goes down
when the site refuses the proxy, and slowly up again. The queue knows only a proxy's id and tier; the download side
knows its address and credentials.

The functions here are pure decisions. `ProxyHealthStore` keeps their results in Redis.
"""

import random
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from realestate.queue import keys

if TYPE_CHECKING:
    from realestate.queue.request_queue import RequestQueue

Condition = Literal["healthy", "cooling", "banned", "probation"]
Fault = Literal["refused", "banned", "failed", "bad"]
"""Why a proxy rests.

`refused`: it sent requests too often. `banned`: the site bans its address. `failed`: no connection or no
response. `bad`: the response was not the site's page.
"""

#: Requests per second of a proxy that is not known yet.
START_RATE = 0.4
#: A rate is proven after this many good responses in a row ...
STEP = 10
#: ... over at least this many seconds: a site counts requests over some time and lets short bursts pass.
STEP_SECONDS = 5.0
#: One proxy, the leader, tries higher rates for all: twice the proven rate or, once refused, the middle between the
#: proven and the refused rate. It stops when refused rate / proven rate is at most this. The others use what it proved.
NEAR = 2.0
#: The leader tries a higher rate only if there are this many good responses for each refusal, the next one included.
RESPONSES_PER_TRY = 60
#: A proven rate that is refused later is multiplied by this.
CUT = 0.6
#: After this time without a refusal, a refused rate may be tried again.
REFUSAL_VALID_MS = 600_000
LEAST_RATE = 1 / 60
#: A proxy that has not brought a response yet, or none since its last fault, gets one request at a time: the next one
#: after its response, or after this time.
ONE_AT_A_TIME_MS = 30_000
#: After this many failures in a row a proxy counts as dead.
DEAD_AFTER = 5
#: After this many good responses in a row a proxy is healthy again and its faults are cleared.
HEALTHY_AFTER = 3
#: How long a proxy rests after its first fault, by kind of fault. Refusals pass quickly. A proxy that is banned, broken
#: or manipulating pages mostly stays so, and each try costs a request.
REST_MS: Mapping[Fault, int] = {"refused": 1_000, "banned": 60_000, "failed": 2_000, "bad": 5_000}
#: Each further rest is this many times as long, up to LONGEST_REST_MS.
GROWTH: Mapping[Fault, int] = {"refused": 2, "banned": 4, "failed": 4, "bad": 4}
LONGEST_REST_MS = 3_600_000
#: The health of a proxy that was not used for this long is deleted: longer than the pause between two weekly crawls.
KEEP_MS = 15 * 24 * 3_600_000
#: If more than this share of the proxies was refused within WINDOW_MS, the site refuses us and not single proxies.
MOST_SHARE = 0.5
WINDOW_MS = 60_000


class ProxyRef(NamedTuple):
    """A proxy as the queue knows it."""

    id: str
    tier: int = 0
    """Its price class, 0 is the cheapest. The cheapest tier with a proxy that works is used."""


class ProxyHealth(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about one proxy at one site. Stored as JSON. Times are Redis' time in milliseconds."""

    condition: Condition = "healthy"
    rate: float = START_RATE
    """Requests per second."""
    proven: float = 0.0
    """The highest rate with enough good responses in a row."""
    ceiling: float = 0.0
    """The rate at which it was last refused; 0 if no refusal is known."""
    until: float = 0.0
    """It rests until this time."""
    strikes: int = 0
    """Faults in a row."""
    blamed_at: float = 0.0
    """When its last fault was recorded."""
    refused_at: float = 0.0
    good: int = 0
    """Good responses since the last change."""
    session: int = 0
    """How many times it had to change its identity."""
    one_at_a_time: bool = msgspec.field(default=True, name="alone")
    """Whether it gets the next request only after the response to the last one."""
    responses: int = msgspec.field(default=0, name="answers")
    """All good responses so far."""
    refusals: int = 0
    """All refusals so far."""


def cheapest_tier(proxies: Sequence[ProxyRef], resting: Container[str] = ()) -> int:
    """The tier in use: the cheapest that has a proxy that does not rest, or the cheapest if all rest.

    `lua/take.lua` follows the same rule when it grants a proxy.
    """
    awake = [proxy.tier for proxy in proxies if proxy.id not in resting]
    return min(awake or [proxy.tier for proxy in proxies], default=0)


class SiteLimits(NamedTuple):
    """What all proxies together have learned about a site."""

    leader: str = ""
    """The proxy that tries higher rates."""
    proven: float = 0.0
    ceiling: float = 0.0
    may_try: bool = True
    """Whether there are enough good responses to risk one more refusal."""


def site_limits(healths: Mapping[str, ProxyHealth], now: float) -> SiteLimits:
    """What the proxies have learned. A recent refusal overrules higher rates that were proven before it."""
    recent = [each.ceiling for each in healths.values() if each.ceiling and now - each.refused_at <= REFUSAL_VALID_MS]
    ceiling = min(recent, default=0.0)
    proven = max((each.proven for each in healths.values() if not ceiling or each.proven < ceiling), default=0.0)
    leader = min((id for id, each in healths.items() if each.condition == "healthy"), default="")
    responses = sum(each.responses for each in healths.values())
    refusals = sum(each.refusals for each in healths.values())
    return SiteLimits(leader, proven, ceiling, responses >= RESPONSES_PER_TRY * (refusals + 1))


def after_success(
    health: ProxyHealth,
    times: int,
    limits: SiteLimits = SiteLimits(),  # noqa: B008
    *,
    leads: bool = True,
) -> ProxyHealth:
    """The health after this many good responses."""
    good = health.good + times
    # Occasional faults must not add up to a rest of an hour.
    strikes = 0 if good >= HEALTHY_AFTER else health.strikes
    health = replace(health, one_at_a_time=False, responses=health.responses + times, strikes=strikes)
    if health.condition != "healthy":
        return replace(health, condition="healthy" if good >= HEALTHY_AFTER else "probation", good=good % HEALTHY_AFTER)
    if good < max(STEP, STEP_SECONDS * health.rate):
        return replace(health, good=good)
    proven = max(health.proven, health.rate)
    known = max(proven, limits.proven)
    rate = _next_rate(known, limits.ceiling) if leads and limits.may_try else known
    return replace(health, proven=proven, rate=rate, good=0)


def _next_rate(proven: float, ceiling: float) -> float:
    """The rate that the leader tries next."""
    if not ceiling:
        return 2 * proven
    if ceiling > NEAR * proven:
        return (proven + ceiling) / 2
    return min(proven, ceiling * CUT) if ceiling <= proven else proven


def after_fault(
    health: ProxyHealth,
    fault: Fault,
    sent_at: float,
    now: float,
    wait_ms: float = 0.0,
    limits: SiteLimits = SiteLimits(),  # noqa: B008
) -> ProxyHealth:
    """The health after a fault of a request that was sent at `sent_at`; the site asked to wait `wait_ms`.

    Requests that were sent before the last fault was recorded say nothing new: only a longer wait counts.
    """
    if sent_at <= health.blamed_at:
        return replace(health, until=max(health.until, now + wait_ms if wait_ms else 0))
    strikes = health.strikes + 1
    if fault == "failed" and not health.one_at_a_time:  # a single failure is normal
        return replace(health, strikes=strikes, blamed_at=now, good=0, one_at_a_time=True)
    rest = min(REST_MS[fault] * GROWTH[fault] ** min(strikes - 1, 12) * random.uniform(1, 1.5), LONGEST_REST_MS)
    is_banned = fault == "banned" or (fault == "failed" and strikes >= DEAD_AFTER)
    changed = replace(
        health,
        condition="banned" if is_banned else "cooling",
        until=now + max(rest, wait_ms),
        strikes=strikes,
        blamed_at=now,
        good=0,
        one_at_a_time=fault != "refused",
    )
    if fault == "failed":
        return changed
    changed = replace(changed, session=health.session + 1)
    if fault == "bad":
        return changed
    changed = replace(changed, refused_at=now, refusals=health.refusals + 1)
    # If other proxies work at this rate, the rate is not the reason for the ban.
    return changed if fault == "banned" and health.rate <= limits.proven else _slower(changed, limits)


def _slower(health: ProxyHealth, limits: SiteLimits) -> ProxyHealth:
    """Return the health with the proven rate, or well below it if the proven rate was refused."""
    proven = max((rate for rate in (health.proven, limits.proven) if rate < health.rate), default=0.0)
    rate = proven or max(health.rate * CUT, LEAST_RATE)
    return replace(health, rate=rate, ceiling=health.rate, proven=min(health.proven, rate))


def most_are_refused(healths: Sequence[ProxyHealth], now: float) -> bool:
    """Whether so many proxies were refused at once that the site refuses us, not single proxies."""
    refused = sum(now - each.refused_at <= WINDOW_MS for each in healths if each.refused_at)
    return len(healths) > 1 and refused > MOST_SHARE * len(healths)


class ProxyHealthStore:
    """The health of one portal's proxies, shared by the fleet in Redis. `now` is Redis' time in milliseconds."""

    def __init__(self, queue: "RequestQueue", now: Callable[[], float]) -> None:
        self.queue = queue
        self.now = now

    async def record_successes(self, counts: Mapping[str, int]) -> None:
        """Record this many good responses for each proxy id."""
        if not counts:
            return
        limits = site_limits(self._in_use(await self.all()), self.now())
        for id, count in counts.items():
            await self._change(id, partial(after_success, times=count, limits=limits, leads=id == limits.leader))

    async def record_fault(self, id: str, fault: Fault, sent_at: float, wait_seconds: float = 0.0) -> bool:
        """Record a fault of one proxy. Return whether the site refuses most proxies now."""
        now = self.now()
        limits = site_limits(self._in_use(await self.all()), now)
        wait_ms = wait_seconds * 1000
        await self._change(
            id, partial(after_fault, fault=fault, sent_at=sent_at, now=now, wait_ms=wait_ms, limits=limits)
        )
        return fault in ("refused", "banned") and most_are_refused(list((await self.all()).values()), now)

    async def all(self) -> dict[str, ProxyHealth]:
        """The health of each proxy of this worker; a proxy that is not known yet is healthy."""
        ids = [proxy.id for proxy in self.queue.proxies or ()]
        found: Any = await self.queue.server.hmget(keys.proxies(self.queue.portal), ids) if ids else []
        return {id: _decoded(stored) for id, stored in zip(ids, found, strict=True)}

    def _in_use(self, healths: Mapping[str, ProxyHealth]) -> dict[str, ProxyHealth]:
        """The proxies of the tier in use. The rates of other tiers say nothing about these."""
        proxies = self.queue.proxies or ()
        now = self.now()
        resting = {id for id, health in healths.items() if health.until > now}
        tier = cheapest_tier(proxies, resting)
        return {proxy.id: healths[proxy.id] for proxy in proxies if proxy.tier == tier}

    async def _change(self, id: str, change: Callable[[ProxyHealth], ProxyHealth]) -> None:
        """Write the changed health; start again if another worker has written in between."""
        while True:
            old: Any = await self.queue.server.hget(keys.proxies(self.queue.portal), id)
            new = change(_decoded(old))
            if new == _decoded(old) or await self.queue.set_proxy_health(id, old, msgspec.json.encode(new)):
                return


def _decoded(stored: bytes | None) -> ProxyHealth:
    try:
        return ProxyHealth() if stored is None else msgspec.json.decode(stored, type=ProxyHealth)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return ProxyHealth()

"""Limits how often one client address may send requests, and decides what happens if it sends more.

The rate is measured in a sliding window of WINDOW_SECONDS, or as long as SMALLEST_BURST requests take at this rate if
that is longer. As many requests as the rate allows in the window may come at once, and no more until the first of them
is older than the window. At 20 a second that is 60 in 3 s, at 5 it is 15 in 3 s, at 1 it is 3 in 3 s, at 0.5 it is 3 in
6 s.

An excess gets a 429 with Retry-After. The address is refused until then and begins with an empty window after that, so
a client that waits as long as Retry-After says is served. Earlier requests are refused too. They count as a further
excess unless they were sent before the 429 arrived (GRACE_SECONDS). Too many excesses within EXCESS_COUNTS_SECONDS
bring a ban: 403 for everything until it is over. Requests during a ban do not make it longer. Times are passed in, in
seconds.
"""

from collections import deque
from itertools import pairwise
from math import ceil
from typing import Literal, NamedTuple

from realestate.simulator.adversary.profiles import Profile

WINDOW_SECONDS = 3.0
SMALLEST_BURST = 3
#: A request that comes so soon after a refusal was sent before the refusal arrived.
GRACE_SECONDS = 0.5
#: After this long without an excess, the earlier ones do not count any more.
EXCESS_COUNTS_SECONDS = 60.0
#: After this long without a ban, the next one is as short as the first.
BAN_COUNTS_SECONDS = 600.0
#: The number of intervals that are compared, and the highest standard deviation / mean that counts as a machine's.
INTERVALS = 12
REGULAR = 0.05

Reason = Literal["rate", "regular", "held", "banned", "agent", "headers", "proxy"]


class Refusal(NamedTuple):
    """Why a request is refused, and with which response."""

    reason: Reason
    status: int
    retry_after: int | None = None
    is_new_ban: bool = False


class RateWindow:
    """Whether another request is within the rate."""

    def __init__(self, rate: float) -> None:
        self._seconds = max(WINDOW_SECONDS, SMALLEST_BURST / rate)
        self._times: deque[float] = deque(maxlen=round(rate * self._seconds))

    def admits(self, now: float) -> bool:
        """Count a request, unless there are too many in the window."""
        times = self._times
        if len(times) == times.maxlen and now - times[0] < self._seconds:
            return False
        times.append(now)
        return True

    def clear(self) -> None:
        self._times.clear()


class IntervalDetector:
    """Whether requests come like those of a machine: always after the same time."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=INTERVALS + 1)

    def is_regular(self, now: float) -> bool:
        """Record a request. Return whether it and those before it come too regularly."""
        times = self._times
        times.append(now)
        if len(times) <= INTERVALS:
            return False
        intervals = [later - earlier for earlier, later in pairwise(times)]
        mean = sum(intervals) / INTERVALS
        variance = sum((each - mean) ** 2 for each in intervals) / INTERVALS
        return variance <= (REGULAR * mean) ** 2

    def clear(self) -> None:
        self._times.clear()


class Bans:
    """When an address is banned, and for how long."""

    def __init__(self, seconds: float, *, double: bool) -> None:
        self._seconds = seconds
        self._double = double
        self._given = 0
        self._until = float("-inf")

    def is_banned(self, now: float) -> bool:
        return now < self._until

    def ban(self, now: float) -> None:
        if now - self._until > BAN_COUNTS_SECONDS:
            self._given = 0
        self._until = now + self._seconds * (2**self._given if self._double else 1)
        self._given += 1


class Limits:
    """All limits of one client address."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._window = RateWindow(profile.rate)
        self._intervals = IntervalDetector()
        self._bans = Bans(profile.ban_seconds, double=profile.bans_double)
        self._excesses = 0
        self._last_excess = float("-inf")
        self._held_since = self._held_until = float("-inf")

    def refusal(self, now: float) -> Refusal | None:
        """Record a request. Return why it is refused, or None if it is served."""
        if self._bans.is_banned(now):
            return Refusal("banned", 403)
        if now < self._held_until:
            is_on_its_way = now - self._held_since < GRACE_SECONDS
            return self._held(now) if is_on_its_way else self._excess("held", now)
        if not self._window.admits(now):
            return self._excess("rate", now)
        if self._profile.checks_clients and self._intervals.is_regular(now):
            return self._excess("regular", now)
        return None

    def _excess(self, reason: Reason, now: float) -> Refusal:
        if now - self._last_excess > EXCESS_COUNTS_SECONDS:
            self._excesses = 0
        self._excesses += 1
        self._last_excess = now
        self._window.clear()
        self._intervals.clear()
        if self._profile.bans_at is not None and self._excesses >= self._profile.bans_at:
            return self._ban(reason, now)
        if now >= self._held_until:
            self._held_since = now
            self._held_until = now + self._profile.retry_after
        return self._held(now, reason)

    def _held(self, now: float, reason: Reason = "held") -> Refusal:
        return Refusal(reason, 429, max(1, ceil(self._held_until - now)))

    def _ban(self, reason: Reason, now: float) -> Refusal:
        self._excesses = 0
        self._held_until = now
        self._bans.ban(now)
        return Refusal(reason, 403, is_new_ban=True)

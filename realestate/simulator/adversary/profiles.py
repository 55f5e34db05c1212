"""The settings of each adversary: the rates it allows, what it does about an excess, and the faults it injects.

Times are short, so that a test crawl ends in minutes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Fault = Literal[
    "server_error",
    "reset",
    "truncated",
    "challenge",
    "drip",
    "redirect_loop",
    "bomb",
    "encoding",
    "length",
    "empty",
]
"""What can happen to a request that was not refused."""

ProxyKind = Literal["fine", "dead", "slow", "lying"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One adversary. All of it is per client address."""

    rate: float
    """Requests per second that are allowed (`limits.py` says how they are measured)."""
    retry_after: int = 2
    """Seconds in the Retry-After of a 429."""
    bans_at: int | None = None
    """The number of the excess that brings a ban instead of a 429. None: there are no bans."""
    ban_seconds: float = 0.0
    bans_double: bool = False
    """Each further ban lasts twice as long."""
    checks_clients: bool = False
    """Whether it checks intervals, headers, user agents and the headers that proxies add."""
    faults: Mapping[Fault, float] = field(default_factory=dict)
    """fault -> its share of the requests that are served."""
    changes_layout: bool = False
    """Whether its pages get a new layout half-way through a crawl."""
    has_empty_spell: bool = False
    """Whether for a while every second page comes without its content."""
    proxies: Mapping[ProxyKind, int] = field(default_factory=dict)
    """kind of bad proxy -> how many of eight proxies. The others work."""


_STRICT: Mapping[Fault, float] = {"server_error": 0.03, "reset": 0.01, "truncated": 0.01, "challenge": 0.01}
_WORSE: Mapping[Fault, float] = {"drip": 0.01, "redirect_loop": 0.01, "bomb": 0.01, "encoding": 0.01, "length": 0.01}

PROFILES: Mapping[str, Profile] = {
    "gentle": Profile(rate=20),
    "normal": Profile(rate=5, bans_at=3, ban_seconds=10, faults={"server_error": 0.01, "reset": 0.005}),
    "strict": Profile(rate=1, bans_at=3, ban_seconds=20, checks_clients=True, faults=_STRICT, proxies={"dead": 1}),
    "hostile": Profile(
        rate=0.5,
        bans_at=1,
        ban_seconds=30,
        bans_double=True,
        checks_clients=True,
        faults={**{fault: 3 * share for fault, share in _STRICT.items()}, **_WORSE},
        changes_layout=True,
        has_empty_spell=True,
        proxies={"dead": 2, "slow": 1, "lying": 1},
    ),
}

"""The portals as the pages show them: numbers of the queue and the store, and their health in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from realestate.jobs.fleet import State, WorkerProcess, look, worker_processes
from realestate.jobs.work import all_portals, portals
from realestate.queue import stored
from realestate.queue.credentials import without_credentials
from realestate.queue.redis_client import REDIS_ERRORS
from realestate.storage.event_counts import Changes

if TYPE_CHECKING:
    from redis import Redis


Kind = Literal["good", "warn", "bad", "idle"]


@dataclass(frozen=True, slots=True)
class Health:
    """How a portal is doing, in a few words, and the reason in a sentence."""

    kind: Kind
    word: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Portal:
    """One portal. `state` is None while Redis is away, the numbers are None while the store is."""

    name: str
    health: Health
    state: State | None = None
    listings: int | None = None
    quarantined: int | None = None
    changes: Changes = field(default_factory=Changes)

    @property
    def active_at(self) -> datetime | None:
        """When a worker that lives last got a page; if none lives, when one was last heard of."""
        at = (self.state.active_at or self.state.heard_at) if self.state else 0.0
        return stored.moment(at) if at else None


@dataclass(frozen=True, slots=True)
class Fleet:
    """All portals, and why Redis or the store could not be read."""

    portals: Sequence[Portal] = ()
    redis_error: str = ""
    store_error: str = ""

    @property
    def listings(self) -> int:
        return sum(each.listings or 0 for each in self.portals)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is stored and nothing is queued: there is nothing to show yet."""
        if self.redis_error or self.store_error:
            return False
        busy = (each.state is not None and not each.state.finished for each in self.portals)
        return not self.listings and not any(busy)

    @property
    def pages_per_second(self) -> float:
        return sum(each.state.pages_per_second for each in self.portals if each.state)

    @property
    def workers(self) -> Mapping[str, WorkerProcess]:
        """The worker processes by name."""
        return worker_processes(portal.state for portal in self.portals if portal.state)


def read_fleet(
    server: "Redis | None",
    counts: Mapping[str, tuple[int, int]] | None,
    changes: Mapping[str, Changes],
    store_error: str = "",
) -> Fleet:
    """The portals that have anything stored or queued, and all others that can be crawled."""
    kept = counts or {}
    names = sorted({*portals(), *(name for name in all_portals() if name in kept)})
    states: dict[str, State] = {}
    redis_error = "" if server else "REDIS_URL is not set"
    try:
        states = {name: look(server, name) for name in names} if server else {}
    except REDIS_ERRORS as error:
        redis_error = first_line(error)
    found = [_portal(name, states.get(name), counts, changes.get(name, Changes())) for name in names]
    return Fleet(found, redis_error, store_error)


def _portal(name: str, state: State | None, counts: Mapping[str, tuple[int, int]] | None, changes: Changes) -> Portal:
    listings, quarantined = (None, None) if counts is None else counts.get(name, (0, 0))
    health = health_of(state, quarantined or 0, listings or 0)
    return Portal(name, health, state, listings, quarantined, changes)


def health_of(state: State | None, quarantined: int, listings: int) -> Health:
    """The first of these that is true, the worst first."""
    if state is None:
        return Health("warn", "unknown", "Redis is not available.")
    limit = state.rate_limit
    if limit.paused:
        by = f" by {limit.paused_by}" if limit.paused_by else ""
        return Health("warn", "paused", f"Paused{by}: {limit.paused_reason or 'no reason given'}.")
    if limit.robots_failures:
        return Health("bad", "no robots.txt", f"Its robots.txt cannot be fetched: {limit.robots_reason}.")
    if limit.blocked_seconds:
        return Health("bad", "refused", f"The site refuses for {limit.blocked_seconds:.0f} s more: {limit.reason}.")
    if (state.waiting or state.in_flight) and not state.workers:
        return Health("bad", "no worker", "Requests wait, but no worker runs: start `realestate work`.")
    if limit.factor < 1:
        return Health("warn", "slowed down", f"The rate limit is lowered: {limit.reason}.")
    if quarantined and quarantined > 0.05 * (listings + quarantined):
        return Health("warn", "bad data", "More than 5 % of its pages failed validation: look at the quarantine.")
    if state.dead:
        return Health("warn", "dead letters", f"{state.dead} requests were given up.")
    if state.waiting or state.in_flight or state.open_jobs:
        return Health("good", "crawling")
    return Health("good", "healthy") if listings else Health("idle", "not crawled yet")


def first_line(error: Exception) -> str:
    return without_credentials(str(error)).partition("\n")[0]

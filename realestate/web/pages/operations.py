"""Operations: queues by stage, workers, proxies, jobs, the timetable, field coverage, dead letters and quarantine."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from realestate.jobs.state import JobState
from realestate.queue import keys, stored
from realestate.queue.connection import connect_to
from realestate.queue.dead_letters import DeadLetter, DeadLetters
from realestate.queue.redis_client import REDIS_ERRORS, briefly
from realestate.queue.request_queue import QueueSettings, RequestQueue
from realestate.storage import StoreError
from realestate.storage.coverage import FieldCoverage
from realestate.storage.maintenance import InQuarantine
from realestate.web.pages.jobs import newest_jobs
from realestate.web.pages.portals import Fleet
from realestate.web.pages.quality import by_portal
from realestate.web.pages.site import Site
from realestate.web.pages.timetable import NO_TIMETABLE, Timetable

if TYPE_CHECKING:
    from redis import Redis

T = TypeVar("T")

#: How many are listed on the page; the commands list all.
JOBS = 25
LETTERS = 50
ENTRIES = 50
#: The stages of requests, in their order.
STAGES = ("plan", "discover", "extract")


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter in one line."""

    portal: str
    id: str
    letter: DeadLetter

    @property
    def reason(self) -> str:
        return str(self.letter.details.get("reason") or "unknown")

    @property
    def what(self) -> str:
        details = self.letter.details
        return str(details.get("url") or details.get("seed") or details.get("value") or "")

    @property
    def error(self) -> str:
        return str(self.letter.details.get("error") or "")


@dataclass(frozen=True, slots=True)
class Operations:
    """What the page shows. The live parts are all but letters and entries, which somebody may be selecting."""

    fleet: Fleet
    left: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """portal -> stage -> requests of open jobs that are left."""
    jobs: Sequence[JobState] = ()
    letters: Sequence[Letter] = ()
    entries: Sequence[InQuarantine] = ()
    faults: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    timetable: Timetable = NO_TIMETABLE
    coverage: Mapping[str, Sequence[FieldCoverage]] | None = None
    """The days of each portal; None while they are counted."""

    @property
    def dead(self) -> int:
        return sum(each.state.dead for each in self.fleet.portals if each.state)

    @property
    def quarantined(self) -> int:
        return sum(each.quarantined or 0 for each in self.fleet.portals)

    @property
    def proxies(self) -> Mapping[str, Mapping[str, int]]:
        return {each.name: each.state.proxies for each in self.fleet.portals if each.state and each.state.proxies}


def read_operations(site: Site, fleet: Fleet) -> Operations:
    """All but the dead letters."""
    found = Operations(fleet, stages_left(site.server, fleet))
    try:
        entries = site.ask(lambda store: store.quarantined(limit=ENTRIES))
        faults = site.ask(lambda store: store.faults())
    except StoreError:
        return found
    days = site.coverage.soon()
    return replace(
        found,
        jobs=newest_jobs(site, JOBS),
        entries=entries,
        faults=faults,
        timetable=site.timetable.get(),
        coverage=None if days is None else by_portal(days),
    )


def stages_left(server: "Redis | None", fleet: Fleet) -> Mapping[str, Mapping[str, int]]:
    """The requests that are left of each portal's open jobs, by stage."""
    found: dict[str, Mapping[str, int]] = {}
    try:
        for portal in fleet.portals:
            if server and portal.state and portal.state.open_jobs:
                found[portal.name] = _left_of(server, portal.name)
    except REDIS_ERRORS:
        return {}
    return found


def _left_of(server: "Redis", portal: str) -> Counter[str]:
    left: Counter[str] = Counter()
    jobs: Any = server.hkeys(keys.open_jobs(portal))
    for job in jobs:
        counts: Any = server.hgetall(keys.counts(portal, stored.text(job)))
        for name, number in counts.items():
            stage, _, what = stored.text(name).partition(":")
            sign = {"pushed": 1, "done": -1, "dead": -1}.get(what, 0)
            left[stage] += sign * stored.count(number)
    return Counter({stage: max(0, left[stage]) for stage in STAGES})


async def with_queue(redis_url: str, portal: str, act: Callable[[RequestQueue], Awaitable[T]]) -> T:
    """Run a function on the portal's queue."""
    server = connect_to(redis_url, briefly())
    try:
        return await act(RequestQueue(server, portal, QueueSettings()))
    finally:
        await server.aclose()


async def newest_letters(redis_url: str, fleet: Fleet) -> list[Letter]:
    """The newest dead letters of all portals."""
    found: list[Letter] = []
    for portal in fleet.portals:
        if portal.state and portal.state.dead:
            letters = await with_queue(redis_url, portal.name, lambda queue: DeadLetters(queue).newest(LETTERS))
            found += (Letter(portal.name, each.id.hex(), each) for each in letters)
    return sorted(found, key=lambda each: each.letter.at, reverse=True)[:LETTERS]

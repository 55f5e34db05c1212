"""How many workers are wanted: the formula, its limits, and a simulated day."""

from math import inf

import pytest

from realestate.jobs.fleet import State
from realestate.jobs.load import allowed_rate, room_here, worker_speed
from realestate.jobs.scaling import HORIZON_SECONDS, Load, PortalLoad, Scaler, needed_workers
from realestate.queue.rate_limit import RateLimit
from realestate.queue.workers import HeartbeatData

SPEED = 10.0


def load(*portals: tuple[int, float], speed: float | None = SPEED) -> Load:
    return Load([PortalLoad(f"p{number}", *each) for number, each in enumerate(portals)], speed)


@pytest.mark.parametrize(
    ("portals", "expected"),
    [
        ([], 0),
        ([(0, 1.0)], 0),
        ([(1, 1.0)], 1),
        ([(10**6, 1.0)], 1),
        ([(10**6, 0.0)], 0),
        ([(10**6, inf)], 417),
        ([(2400, inf)], 1),
        ([(2401, inf)], 2),
        ([(10**6, 8.0), (10**6, 8.0), (10**6, 8.0)], 3),
    ],
)
def test_the_formula(portals: list[tuple[int, float]], expected: int) -> None:
    assert needed_workers(load(*portals), SPEED)[0] == expected


def test_upwards_at_most_doubling() -> None:
    scaler = Scaler()
    steps = []
    workers = 0
    for moment in range(6):
        workers = scaler.decide(load((10**6, inf)), workers, moment * 15.0).workers
        steps.append(workers)
    assert steps == [1, 2, 4, 8, 16, 32]


def test_downwards_after_five_calm_minutes_and_a_quarter_a_minute() -> None:
    scaler = Scaler()
    scaler.decide(load((10**6, inf)), 16, 0.0)
    found = {}
    workers = 16
    for moment in range(15, 1200, 15):
        workers = scaler.decide(load((0, 1.0)), workers, float(moment)).workers
        found[moment] = workers
    assert {workers for moment, workers in found.items() if moment <= 300} == {16}
    assert (found[315], found[360], found[375], found[435]) == (12, 12, 9, 7)
    assert workers == 1


def test_missing_data_never_takes_a_worker_away() -> None:
    scaler = Scaler()
    scaler.decide(load((0, 1.0)), 8, 0.0)
    assert [scaler.decide(None, 8, moment).workers for moment in (1000.0, 2000.0)] == [8, 8]
    assert scaler.decide(load((2400 * 8, inf), speed=None), 8, 3000.0).workers == 8, "the last known speed counts"


def test_the_reasons_show_the_calculation() -> None:
    text = str(Scaler(most=2).decide(load((6000, 2.0), (900, inf), (5, 0.0)), 2, 0.0))
    assert "p0: 6,000 ready ÷ 300 s = 20.00/s, 2/s allowed now: 2.00/s" in text
    assert "p1: 900 ready ÷ 300 s = 3.00/s, no rate limit: 3.00/s" in text
    assert "p2: 5 ready ÷ 300 s = 0.02/s, 0/s allowed now: 0.00/s" in text
    assert "5.00 pages/s ÷ (0.8 × 10.00 pages/s per worker) = 1 worker" in text


def state(limit: RateLimit, **workers: HeartbeatData) -> State:
    return State(seeds=0, ready=0, delayed=0, in_flight=0, dead=0, open_jobs=0, rate_limit=limit, workers=workers)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (RateLimit(), inf),
        (RateLimit(rate=2.0), 2.0),
        (RateLimit(rate=2.0, factor=0.25), 0.5),
        (RateLimit(rate=2.0, crawl_delay_seconds=4.0), 0.25),
        (RateLimit(crawl_delay_seconds=4.0), 0.25),
        (RateLimit(rate=2.0, paused=True), 0.0),
        (RateLimit(rate=2.0, blocked_seconds=3.0), 0.0),
        (RateLimit(rate=2.0, robots_failures=1), 0.0),
    ],
)
def test_the_rate_that_is_allowed_now(limit: RateLimit, expected: float) -> None:
    assert allowed_rate(state(limit)) == expected


def test_a_worker_that_waits_for_a_rate_limit_does_not_look_slow() -> None:
    slow_site = HeartbeatData(pages_per_second=0.5, cpu_share=0.05)
    two_portals = {
        "a": state(RateLimit(), **{"host:1:x": slow_site}),
        "b": state(RateLimit(), **{"host:1:y": slow_site}),
    }
    assert worker_speed(two_portals) == pytest.approx(20.0)
    assert worker_speed({"a": state(RateLimit(), **{"host:1:x": HeartbeatData()})}) is None


def test_this_machine_has_room_for_at_least_one_worker() -> None:
    assert room_here(worker_bytes=10**15) == 1
    assert room_here(2, worker_bytes=10**15) == min(2, room_here(worker_bytes=1)), "two run already"
    assert room_here() >= 1


class Day:
    """Five portals on a passed clock: what arrives, what their sites allow, and workers that fetch it."""

    STEP = 15.0
    RATES = (10.0, 8.0, 6.0, 4.0, 60.0)
    BLOCKED = (10 * 3600.0, 11 * 3600.0)
    """The second portal is blocked from ten to eleven."""
    CRAWLS = ((1 * 3600.0, 0, 150_000), (9.5 * 3600.0, 1, 60_000), (13 * 3600.0, 4, 600_000))
    """When crawls of a whole portal begin, of which, and their pages. The second is blocked meanwhile, the third is the
    burst."""

    def __init__(self) -> None:
        self.now = 0.0
        self.ready = [0.0] * 5
        self.fetched = 0.0

    def step(self, workers: int) -> None:
        self.now += self.STEP
        hour = self.now / 3600
        for portal, rate in enumerate(self.RATES):
            self.ready[portal] += (0.05 if 8 <= hour < 19 else 0.01) * rate * self.STEP
        for begin, portal, pages in self.CRAWLS:
            if begin <= self.now < begin + self.STEP:
                self.ready[portal] += pages
        left = workers * SPEED * self.STEP
        for portal in range(5):
            done = min(self.ready[portal], self.allowed(portal) * self.STEP, left)
            self.ready[portal] -= done
            left -= done
            self.fetched += done

    def allowed(self, portal: int) -> float:
        is_blocked = portal == 1 and self.BLOCKED[0] <= self.now < self.BLOCKED[1]
        return 0.0 if is_blocked else self.RATES[portal]

    def load(self) -> Load:
        return Load([PortalLoad(f"p{each}", int(self.ready[each]), self.allowed(each)) for each in range(5)], SPEED)


def test_a_simulated_day() -> None:
    day = Day()
    ideal = Day()
    scaler = Scaler()
    workers = 1
    changes = 0
    worker_seconds = ideal_seconds = 0.0
    exactly = 1
    while day.now < 24 * 3600:
        day.step(workers)
        load_now = day.load()
        wanted = scaler.decide(load_now, workers, day.now).workers
        is_blocked = day.BLOCKED[0] <= day.now < day.BLOCKED[1]
        if is_blocked and wanted > workers:
            without = Load([each for each in load_now.portals if each.portal != "p1"], SPEED)
            assert needed_workers(without, SPEED)[0] >= wanted, "a worker for a portal that is blocked"
        changes += wanted != workers
        workers = wanted
        worker_seconds += workers * day.STEP
        ideal.step(exactly)  # a fleet that always has exactly what the formula says, at once
        exactly = max(1, needed_workers(ideal.load(), SPEED)[0])
        ideal_seconds += exactly * day.STEP
    assert sum(day.ready) < HORIZON_SECONDS * sum(day.RATES), "nothing is left behind"
    assert worker_seconds <= 1.1 * ideal_seconds, worker_seconds / ideal_seconds
    assert changes <= 20, changes

"""Leases wait for their send slot by Redis' clock. A slot that has passed is missed."""

import pytest

from realestate.queue import buffer
from realestate.queue.buffer import Buffer
from realestate.queue.request_queue import Lease

#: Redis' clock is this far ahead of the clock of the process.
AHEAD = 1_000_000.0


class Clock:
    """The clock of the process, in milliseconds."""

    def __init__(self) -> None:
        self.ms = 500.0

    def __call__(self) -> float:
        return self.ms


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(buffer, "monotonic_ms", clock)
    return clock


def answered(buffer: Buffer, clock: Clock, *, there: float, back: float, ahead: float = AHEAD) -> None:
    """Read the time of Redis. The request and the reply each take this long."""
    asked_at = clock.ms
    clock.ms += there
    redis_now = int(clock.ms + ahead)
    clock.ms += back
    buffer.set_clock(redis_now, asked_at)


def lease(send_at: float) -> Lease:
    return Lease(b"id", "1", send_at, 0, 0, "j", "extract", b"")


def test_the_clock_is_late_by_the_fastest_reply_and_never_early(clock: Clock) -> None:
    waiting = Buffer()
    for back in (40.0, 5.0, 400.0, 90.0):
        answered(waiting, clock, there=10.0, back=back)
        assert waiting.now() <= clock.ms + AHEAD
    assert waiting.now() == clock.ms + AHEAD - 5.0


def test_the_clock_follows_redis_when_that_is_set_back(clock: Clock) -> None:
    waiting = Buffer()
    answered(waiting, clock, there=1.0, back=1.0)
    answered(waiting, clock, there=1.0, back=1.0, ahead=AHEAD - 5_000)
    assert waiting.now() == clock.ms + AHEAD - 5_000 - 1.0


def test_send_slots_move_with_a_clock_that_is_set_back_by_an_hour(clock: Clock) -> None:
    waiting = Buffer(rate=10)
    answered(waiting, clock, there=0.0, back=0.0)
    waiting.add("key", lease(waiting.now() + 50))
    answered(waiting, clock, there=0.0, back=0.0, ahead=AHEAD - 3_600_000)
    assert waiting.pop() is None
    clock.ms += 51
    assert waiting.pop() is not None


def test_a_clock_that_is_set_forward_makes_slots_due(clock: Clock) -> None:
    waiting = Buffer(rate=10)
    answered(waiting, clock, there=0.0, back=0.0)
    waiting.add("key", lease(waiting.now() + 50))
    answered(waiting, clock, there=0.0, back=0.0, ahead=AHEAD + 3_600_000)
    found = waiting.pop()
    assert found is not None
    assert waiting.is_missed(found[1]), "so it gets another slot, and the rate limit holds"


@pytest.mark.parametrize(
    ("rate", "late", "missed"),
    [
        (0.0, 1e9, False),
        (1.0, 999.0, False),
        (1.0, 1001.0, True),
        (10.0, 99.0, False),
        (10.0, 101.0, True),
        (1000.0, 99.0, False),
        (1000.0, 101.0, True),
    ],
)
def test_a_send_slot_is_missed_after_one_interval(clock: Clock, rate: float, late: float, missed: bool) -> None:
    waiting = Buffer(rate)
    answered(waiting, clock, there=0.0, back=0.0)
    assert waiting.is_missed(lease(waiting.now() - late)) is missed


def test_no_lease_leaves_before_its_send_slot(clock: Clock) -> None:
    waiting = Buffer(1.0)
    answered(waiting, clock, there=0.0, back=0.0)
    waiting.add("first", lease(waiting.now() + 100))
    waiting.add("second", lease(waiting.now() + 300))
    assert waiting.pop() is None
    assert waiting.seconds_to_next() == pytest.approx(0.1)
    clock.ms += 100
    assert [ready[0] for ready in iter(waiting.pop, None)] == ["first"]
    assert list(waiting.drain()) == ["second"]

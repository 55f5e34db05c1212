from redis import Redis

from realestate.jobs.fleet import Finish, State, look
from realestate.jobs.submit import submit
from realestate.queue import keys
from realestate.queue.workers import Beat, Workers


def state(*beats: Beat, at: float, seeds: int = 0, waiting: int = 0) -> State:
    return State(seeds=seeds, waiting=waiting, dead=0, at=at, workers={f"w{n}": beat for n, beat in enumerate(beats)})


def test_a_look_counts_what_is_there(server: Redis) -> None:
    submit(server, "bina", ["https://bina.az/1", "https://bina.az/2"])
    server.zadd(keys.requests("bina"), {"r": 0})
    Workers(server, "bina").beat("w", Beat(in_work=1))
    seen = look(server, "bina")
    assert (seen.seeds, seen.waiting, seen.dead, len(seen.workers)) == (2, 1, 0, 1)
    assert not seen.quiet


def test_finished_when_every_worker_beat_idle_twice_around_an_empty_queue() -> None:
    finish = Finish()
    assert not finish.reached(state(Beat(taken=5, at=1), Beat(taken=3, at=1), at=2))
    assert not finish.reached(state(Beat(taken=5, at=3), Beat(taken=3, at=1), at=3.5))
    assert finish.reached(state(Beat(taken=5, at=3), Beat(taken=3, at=3), at=4))


def test_not_finished_when_one_took_work_between_the_beats() -> None:
    finish = Finish()
    assert not finish.reached(state(Beat(taken=5, at=1), at=2))
    assert not finish.reached(state(Beat(taken=6, at=3), at=4))
    assert finish.reached(state(Beat(taken=6, at=5), at=6))


def test_not_finished_while_anything_is_queued_held_or_unstored() -> None:
    for unfinished in (
        state(Beat(at=1), at=2, seeds=1),
        state(Beat(at=1), at=2, waiting=1),
        state(Beat(at=1, in_work=1), at=2),
        state(Beat(at=1, unstored=1), at=2),
        state(at=2),
    ):
        finish = Finish()
        assert not finish.reached(unfinished)
        assert not finish.reached(state(Beat(at=3), at=4)), "the unfinished moment must not count as the first beat"


def test_a_worker_that_joins_must_beat_twice_too() -> None:
    finish = Finish()
    assert not finish.reached(state(Beat(at=1), at=2))
    assert not finish.reached(state(Beat(at=3), Beat(at=3), at=4))
    assert finish.reached(state(Beat(at=5), Beat(at=5), at=6))

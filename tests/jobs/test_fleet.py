"""The state of a portal's crawl in Redis."""

from typing import Any

from redis import Redis

from realestate.jobs.fleet import State, look
from realestate.jobs.submit import submit
from realestate.queue import keys
from realestate.queue.rate_limit import RateLimit


def state(**changes: int) -> State:
    nothing: Any = {"seeds": 0, "ready": 0, "delayed": 0, "in_flight": 0, "dead": 0, "open_jobs": 0}
    return State(workers={}, rate_limit=RateLimit(), **{**nothing, **changes})


def test_the_state_counts_what_is_in_redis(server: Redis) -> None:
    submit(server, "bina", ["https://bina.az/1", "https://bina.az/2"])
    server.hset(keys.heartbeats("bina"), mapping={"w": b'{"pages": 7}', "garbled": "not json"})
    server.rpush(keys.taken_seeds("bina", "w"), "https://bina.az/3")
    server.zadd(keys.ready("bina"), {"r": 0})
    server.zadd(keys.suspects("bina"), {"s": 0})
    server.zadd(keys.delayed("bina"), {"d": 0})
    server.zadd(keys.inflight("bina"), {"f1": 0, "f2": 0})
    server.zadd(keys.dead_letter_times("bina"), {"x": 0})
    server.hset(keys.open_jobs("bina"), "j", "{}")
    seen = look(server, "bina")
    assert (seen.seeds, seen.ready, seen.delayed, seen.in_flight, seen.dead) == (3, 2, 1, 2, 1)
    assert {worker: heartbeat.pages for worker, heartbeat in seen.workers.items()} == {"w": 7}
    assert (seen.waiting, seen.open_jobs) == (6, 1)
    assert str(seen.rate_limit) == "no limit"


def test_a_crawl_is_finished_when_no_request_waits_or_is_in_flight() -> None:
    assert state().finished
    assert state(dead=5).finished
    for name in ("seeds", "ready", "delayed", "in_flight", "open_jobs"):
        assert not state(**{name: 1}).finished

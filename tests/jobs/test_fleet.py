"""The state of a portal's crawl in Redis."""

from datetime import UTC, datetime
from typing import Any

from redis import Redis

from realestate.jobs.fleet import State, look, worker_processes
from realestate.jobs.submit import submit
from realestate.queue import keys
from realestate.queue.rate_limit import RateLimit
from realestate.queue.workers import HeartbeatData

COUNTS = ("seeds", "ready", "delayed", "in_flight", "dead", "open_jobs")
EMPTY: dict[str, Any] = {**dict.fromkeys(COUNTS, 0), "workers": {}, "rate_limit": RateLimit()}


def state(**changes: int) -> State:
    return State(**{**EMPTY, **changes})


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


def test_a_worker_process_has_the_sums_of_its_portals() -> None:
    states = [
        State(**{**EMPTY, "workers": {"host:2:a1": HeartbeatData(pages=3, cpu_share=0.5)}}),
        State(
            **{
                **EMPTY,
                "workers": {
                    "host:2:b2": HeartbeatData(pages=4, unstored=1, cpu_share=0.5, active_at=60.0),
                    "host:1:c3": HeartbeatData(stored=9),
                },
            }
        ),
    ]
    found = worker_processes(states)
    assert list(found) == ["host:1", "host:2"]
    both = found["host:2"]
    assert (both.portals, both.pages, both.unstored, both.cpu_share) == (2, 7, 1, 0.5)
    assert both.last_page_at == datetime(1970, 1, 1, 0, 1, tzinfo=UTC)
    assert found["host:1"].stored == 9
    assert found["host:1"].last_page_at is None

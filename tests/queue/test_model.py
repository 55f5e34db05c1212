"""The queue against a simple model, under any interleaving: no request is lost, and none is in two places.

The test does not sleep: a worker dies when its deadline in Redis is set to the past, and delayed requests are made due.
"""

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)
from redis import Redis

from realestate.queue import keys
from realestate.queue.connection import connect_to
from realestate.queue.dead_letters import dead_letter
from realestate.queue.request_ids import identify
from realestate.queue.request_queue import Lease, Pushed, QueueSettings, RequestQueue, Settlement

BUCKETS = 4
WORKERS = st.sampled_from(["w1", "w2", "w3"])
NAMES = st.integers(0, 30)


def request(name: int, priority: int = 0) -> Pushed:
    return Pushed.of(identify("j", str(name).encode(), BUCKETS), priority, "j", "extract", str(name).encode())


class QueueMachine(RuleBasedStateMachine):
    """`where` says where each request must be; `valid` which lease of it may still be ended."""

    url = ""
    leases = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.client = connect_to(self.url)
        limits = QueueSettings(buckets=BUCKETS, lease=3_600_000, poison=3)
        self.queue = RequestQueue(self.client, "p", limits)
        self.server = Redis.from_url(self.url)
        self.server.flushall()
        self.where: dict[bytes, str] = {}
        self.valid: dict[bytes, str] = {}
        self.holder: dict[bytes, str] = {}

    def teardown(self) -> None:
        self.do(self.client.aclose())
        self.server.close()
        self.loop.close()

    def do(self, act: Any) -> Any:
        return self.loop.run_until_complete(act)

    def pushed(self, requests: list[Pushed]) -> None:
        for each in requests:
            self.where.setdefault(each.id, "ready")

    @rule(names=st.lists(NAMES, max_size=5), priority=st.integers(-3, 3))
    def push(self, names: list[int], priority: int) -> None:
        requests = [request(name, priority) for name in names]
        new = self.do(self.queue.push(requests))
        assert sum(new) == len({each.id for each in requests} - self.where.keys())
        self.pushed(requests)

    @rule(target=leases, worker=WORKERS, most=st.integers(1, 4))
    def take(self, worker: str, most: int) -> Any:
        taken = self.do(self.queue.take(worker, most)).leases
        for lease in taken:
            assert self.where[lease.id] == "ready"
            self.where[lease.id], self.valid[lease.id], self.holder[lease.id] = "in flight", lease.token, worker
        waiting = sum(place == "ready" for place in self.where.values())
        assert len(taken) == most or waiting == 0
        return multiple(*taken)

    @rule(lease=leases, children=st.lists(NAMES, max_size=3))
    def send_children_early(self, lease: Lease, children: list[int]) -> None:
        requests = [request(name) for name in children]
        self.do(self.queue.settle([], early=requests))
        self.pushed(requests)

    @rule(
        lease=consumes(leases),
        outcome=st.sampled_from(["done", "retry", "dead", "back"]),
        children=st.lists(NAMES, max_size=3),
    )
    def settle(self, lease: Lease, outcome: Any, children: list[int]) -> None:
        requests = [request(name) for name in children]
        detail = {"retry": (3_600_000, lease.payload, 1), "dead": dead_letter("http", "500", job="j")}.get(outcome)
        (ours,) = self.do(self.queue.settle([Settlement(lease.id, lease.token, outcome, detail, requests)]))
        assert ours == (self.valid.get(lease.id) == lease.token)
        if ours:
            self.pushed(requests)
            places = {"done": "done", "retry": "delayed", "dead": "dead", "back": "ready"}
            self.where[lease.id] = places[outcome]
            del self.valid[lease.id], self.holder[lease.id]

    @rule(worker=WORKERS)
    def die(self, worker: str) -> None:
        """The deadline of the worker passes, and another worker asks for work and gets none."""
        if self.server.zscore(keys.workers("p"), worker) is None:
            return
        self.server.zadd(keys.workers("p"), {worker: 1})
        self.do(self.queue.take("undertaker", 0))
        for id, holder in list(self.holder.items()):
            if holder == worker and self.where[id] == "in flight":
                self.where[id] = "ready"  # its lease stays valid until another worker takes it

    @rule(worker=WORKERS)
    def leave(self, worker: str) -> None:
        self.do(self.queue.leave(worker))
        for id, holder in list(self.holder.items()):
            if holder == worker and self.where[id] == "in flight":
                self.where[id] = "ready"
                del self.valid[id], self.holder[id]

    @rule(worker=WORKERS)
    def beat(self, worker: str) -> None:
        self.do(self.queue.heartbeat(worker, b"{}", []))

    @rule()
    def become_due(self) -> None:
        delayed: Any = self.server.zrange(keys.delayed("p"), 0, -1)
        if delayed:
            self.server.zadd(keys.delayed("p"), dict.fromkeys(delayed, 1))
            self.do(self.queue.take("undertaker", 0))
            self.where.update(dict.fromkeys(delayed, "ready"))

    @rule(drop=st.booleans())
    def see_to_the_dead(self, drop: bool) -> None:
        dead = [id for id, place in self.where.items() if place == "dead"]
        count = self.do(self.queue.drop(dead) if drop else self.queue.replay(dead, 0))
        assert count == len(dead)
        self.do(self.queue.take("undertaker", 0))  # a replayed request is due at once
        self.where.update(dict.fromkeys(dead, "done" if drop else "ready"))

    @invariant()
    def every_request_is_in_exactly_one_place(self) -> None:
        places = {
            "ready": keys.ready,
            "delayed": keys.delayed,
            "in flight": keys.inflight,
            "dead": keys.dead_letter_times,
        }
        found: dict[bytes, str] = {}
        for place, key in places.items():
            ids: Any = self.server.zrange(key("p"), 0, -1)
            for id in ids:
                assert id not in found, "in two places"
                found[id] = place
        assert found == {id: place for id, place in self.where.items() if place != "done"}
        bodies: Any = self.server.hkeys(keys.requests("p"))
        assert set(bodies) == set(found), "one body for each request, and no other"
        pending: Any = self.server.smembers(keys.job("p", "j"))
        assert pending == {id for id, place in found.items() if place != "dead"}

    @invariant()
    def who_holds_what_is_known(self) -> None:
        for worker in ("w1", "w2", "w3"):
            held: Any = self.server.smembers(f"{keys.prefix('p')}held:{worker}")
            assert held == {
                id for id, holder in self.holder.items() if holder == worker and self.where[id] == "in flight"
            }


@pytest.mark.timeout(600)
def test_no_request_is_lost_under_any_interleaving(redis_url: str, server: Redis) -> None:
    QueueMachine.url = redis_url
    run_state_machine_as_test(
        QueueMachine,
        settings=settings(
            max_examples=80,
            stateful_step_count=40,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert server.ping()

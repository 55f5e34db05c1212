"""Jobs on a real Redis and a real store: one job for each key, states, cancel, pause, retry."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from itertools import count
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from redis import Redis

from realestate.jobs import manage
from realestate.jobs.finish import LOST, REFUSED, finish_jobs, reporter
from realestate.jobs.manage import JobConflict, JobDesk, NoSuchJobId
from realestate.jobs.order import JobOrder, job_id_of
from realestate.monitoring.channels import Channels
from realestate.monitoring.reports import report_jobs
from realestate.queue import job_marks, keys
from realestate.queue.connection import connect_blocking, connect_to
from realestate.queue.open_jobs import OpenJob
from realestate.queue.request_ids import identify
from realestate.queue.request_queue import Pushed, QueueSettings, RequestQueue, Settlement
from realestate.storage import FullStore, open_store

EMLAK = JobOrder(portal="emlak", key="nightly", mode="sweep")


@pytest.fixture(params=["store_url", "mongodb_url"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


@pytest.fixture
def store(url: str) -> Iterator[FullStore]:
    with closing(open_store(url)) as opened:
        yield opened


@pytest.fixture
def desk(store: FullStore, server: Redis, redis_url: str) -> Iterator[JobDesk]:
    with connect_blocking(redis_url) as client:
        yield JobDesk(store, client)


class Worker:
    """What a worker does with a job, step by step, on the real queue and the real store."""

    def __init__(self, redis_url: str, desk: JobDesk, portal: str = "emlak") -> None:
        self.redis_url = redis_url
        self.desk = desk
        self.portal = portal

    def open(self, job: str) -> None:
        """Take the seed, open the job, and enqueue its first request."""
        self.desk.server.delete(keys.start_urls(self.portal))
        self.desk.store.begin_job(job, self.portal, "sweep", "")
        self.desk.server.hset(keys.open_jobs(self.portal), job, msgspec.json.encode(OpenJob("sweep")))
        self.push(job, "plan")

    def push(self, job: str, stage: str, count: int = 1) -> list[bool]:
        made = [Pushed.of(identify(job, uuid4().bytes, 4096), 0, job, stage, b"x") for _ in range(count)]
        new: list[bool] = self.run(lambda queue: queue.push(made))
        return new

    def work(self, outcome: Any = "done", most: int = 10) -> list[str]:
        """Take some requests and settle them. Returns their jobs."""

        async def act(queue: RequestQueue) -> list[str]:
            taken = (await queue.take("w", most)).leases
            detail = "{}" if outcome == "dead" else None
            done = [Settlement(each.id, each.token, outcome, detail, (), "", (1, 500, 0)) for each in taken]
            await queue.settle(done)
            return [each.job for each in taken]

        found: list[str] = self.run(act)
        return found

    def conclude(self, job: str) -> None:
        self.desk.store.end_sweep(job, self.portal, complete=True)
        self.desk.store.conclude(job, self.portal)
        self.desk.server.hdel(keys.open_jobs(self.portal), job)

    def run(self, act: Any) -> Any:
        async def inside() -> Any:
            client = connect_to(self.redis_url)
            try:
                return await act(RequestQueue(client, self.portal, QueueSettings()))
            finally:
                await client.aclose()

        return asyncio.run(inside())


@pytest.fixture
def worker(redis_url: str, desk: JobDesk) -> Worker:
    return Worker(redis_url, desk)


def test_a_submitted_job_is_queued_at_once(desk: JobDesk, server: Redis) -> None:
    submitted = desk.submit(EMLAK)
    state = desk.show(submitted.job)
    assert (state.state, state.key, state.mode, state.started_at) == ("queued", "nightly", "sweep", None)
    assert submitted.job == job_id_of("nightly")
    assert server.llen(keys.start_urls("emlak")) == submitted.seeds
    assert [each.job for each in desk.newest()] == [submitted.job]


def test_the_same_key_a_hundred_times_at_once_is_one_job(
    url: str, redis_url: str, desk: JobDesk, server: Redis
) -> None:
    def submit(_: int) -> str:
        with closing(open_store(url)) as own, connect_blocking(redis_url) as client:
            return JobDesk(own, client).submit(EMLAK).job

    seeds = desk.submit(EMLAK).seeds
    with ThreadPoolExecutor(20) as threads:
        assert set(threads.map(submit, range(100))) == {job_id_of("nightly")}
    assert server.llen(keys.start_urls("emlak")) == seeds
    assert len(desk.newest()) == 1


def test_other_content_with_the_same_key_is_refused(desk: JobDesk, server: Redis) -> None:
    seeds = desk.submit(EMLAK).seeds
    with pytest.raises(JobConflict, match="the key 'nightly' belongs to job"):
        desk.submit(JobOrder(portal="emlak", key="nightly", mode="full"))
    with pytest.raises(JobConflict, match="other content"):
        desk.submit(JobOrder(portal="immoweb", key="nightly", mode="sweep"))
    assert server.llen(keys.start_urls("emlak")) == seeds
    assert not server.exists(keys.start_urls("immoweb"))


def test_a_submitter_that_dies_before_the_push_loses_nothing(
    desk: JobDesk, server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*arguments: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(manage, "push_seeds", die)
        with pytest.raises(SystemExit):
            desk.submit(EMLAK)
    assert desk.show(job_id_of("nightly")).state == "queued"
    assert not server.exists(keys.start_urls("emlak"))
    monkeypatch.setattr("realestate.jobs.finish.PUSH_SECONDS", -1)
    finish_jobs(desk)
    assert server.llen(keys.start_urls("emlak")) > 0
    finish_jobs(desk)
    assert not desk.submit(EMLAK).is_new
    assert server.llen(keys.start_urls("emlak")) == desk.submit(EMLAK).seeds


def test_a_job_passes_through_its_states(desk: JobDesk, worker: Worker) -> None:
    job = desk.submit(EMLAK).job
    worker.open(job)
    assert desk.show(job).state == "planning"
    worker.work()
    worker.push(job, "discover", 3)
    state = desk.show(job)
    assert (state.state, state.left, state.parts) == ("running", 3, 1)
    assert state.pages["discover"].found == 3
    worker.work(most=2)
    worker.work("dead")
    assert desk.show(job).state == "concluding"
    worker.conclude(job)
    assert desk.show(job).state == "finished"
    assert finish_jobs(desk) == 1
    assert finish_jobs(desk) == 0
    worker.desk.server.flushall()
    ended = desk.show(job)
    assert (ended.state, ended.done, ended.failed) == ("finished", 3, 1), "the store has the numbers now"
    assert (ended.requests, ended.bytes, ended.complete) == (4, 2000, True)


def test_a_job_that_read_no_page_failed(desk: JobDesk, worker: Worker) -> None:
    job = desk.submit(EMLAK).job
    worker.open(job)
    worker.work("dead")
    worker.conclude(job)
    finish_jobs(desk)
    state = desk.show(job)
    assert (state.state, state.reason) == ("failed", "no page could be read: 1 dead letter")


def test_a_job_whose_seeds_were_refused_failed(desk: JobDesk, server: Redis) -> None:
    job = desk.submit(EMLAK).job
    assert finish_jobs(desk) == 0
    server.delete(keys.start_urls("emlak"))
    assert finish_jobs(desk) == 1
    assert (desk.show(job).state, desk.show(job).reason) == ("failed", REFUSED)


def test_a_job_whose_requests_redis_lost_failed_and_can_be_retried(
    desk: JobDesk, worker: Worker, server: Redis
) -> None:
    job = desk.submit(EMLAK).job
    worker.open(job)
    with pytest.raises(JobConflict, match="has not ended: planning"):
        desk.retry(job)
    server.flushall()
    finish_jobs(desk)
    assert desk.show(job).reason == LOST
    again = desk.retry(job)
    assert again.job != job
    assert desk.retry(job).job == again.job, "one new job, however often"
    assert desk.show(again.job).state == "queued"
    assert server.llen(keys.start_urls("emlak")) == again.seeds


def test_a_cancelled_job_sends_nothing_and_leaves_nothing(desk: JobDesk, worker: Worker, server: Redis) -> None:
    job = desk.submit(EMLAK).job
    worker.open(job)
    worker.push(job, "extract", 1200)
    worker.push("other", "extract", 2)
    steps: list[tuple[int, int]] = []
    state = desk.cancel(job, "wrong city", removed=lambda *step: steps.append(step))
    assert (state.state, state.reason, state.left) == ("cancelled", "wrong city", 0)
    assert len(steps) >= 3, "in bounded steps"
    assert worker.push(job, "extract", 5) == [False] * 5
    assert worker.work() == ["other", "other"]
    worker.conclude(job)
    assert finish_jobs(desk) == 1
    assert (desk.show(job).state, desk.show(job).reason) == ("cancelled", "wrong city")
    assert not [
        key for key in server.scan_iter("*") if job.encode() in key and b"counts" not in key and b"pushed" not in key
    ]
    with pytest.raises(JobConflict, match="has ended already"):
        desk.pause(job)


def test_the_memory_of_a_cancelled_job_comes_back_although_others_go_on(
    desk: JobDesk, worker: Worker, server: Redis
) -> None:
    """Redis makes a table smaller little by little, and only while commands look into it."""
    job = desk.submit(EMLAK).job
    worker.open(job)
    worker.push("other", "extract", 20)

    def memory() -> list[int]:
        return [int(server.memory_usage(name) or 0) for name in (keys.requests("emlak"), keys.ready("emlak"))]

    before = memory()
    for _ in range(6):
        worker.push(job, "extract", 2000)
    full = memory()
    desk.cancel(job, removed=lambda removed, left: None)
    for small, large, now in zip(before, full, memory(), strict=True):
        assert now < small + (large - small) / 20


def test_the_mark_alone_keeps_requests_from_being_leased(desk: JobDesk, worker: Worker, server: Redis) -> None:
    job = desk.submit(EMLAK).job
    worker.open(job)
    worker.push(job, "extract", 700)
    worker.push("other", "extract", 1)
    desk.cancel(job)
    assert server.zcard(keys.ready("emlak")) == 702, "the command removed nothing"
    leased = [worker.work() for _ in range(6)]
    assert leased.index(["other"]) == 3, "at most two hundred are skipped in one call"
    assert sum(map(len, leased)) == 1


def test_a_job_is_cancelled_at_its_deadline_by_the_queue_itself(desk: JobDesk, worker: Worker, server: Redis) -> None:
    job = desk.submit(JobOrder(portal="emlak", deadline="2h")).job
    worker.open(job)
    assert server.zscore(keys.deadlines("emlak"), job) is not None
    server.zadd(keys.deadlines("emlak"), {job: 1})
    assert worker.work() == []
    assert desk.show(job).state == "cancelled"


def test_a_paused_job_waits_and_others_go_on(desk: JobDesk, worker: Worker, server: Redis) -> None:
    job = desk.submit(EMLAK).job
    worker.open(job)
    worker.push(job, "extract", 150)
    worker.push("other", "extract", 2)
    assert desk.pause(job).paused
    assert worker.work() == ["other", "other"]
    assert worker.work() == []
    assert desk.show(job).left == 151
    assert not desk.resume(job).paused
    assert [len(worker.work(most=100)) for _ in range(3)] == [100, 51, 0]
    assert not server.exists("{emlak}:aside_jobs")


def test_a_paused_job_can_be_cancelled(desk: JobDesk, worker: Worker, server: Redis) -> None:
    job = desk.submit(EMLAK).job
    worker.open(job)
    desk.pause(job)
    worker.work()
    desk.cancel(job, removed=lambda removed, left: None)
    assert desk.show(job).left == 0
    assert not list(server.scan_iter("{emlak}:aside*"))
    assert server.hlen(keys.requests("emlak")) == 0


def test_another_job_follows_once(desk: JobDesk, worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    order = JobOrder(portal="emlak", then=({"submit": {"portal": "immoweb", "limit": 5}}, {"report": True}))
    job = desk.submit(order).job
    worker.open(job)
    worker.work()
    worker.conclude(job)
    reports: list[str] = []

    def dies(*arguments: Any) -> bool:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(desk.store, "order_ended", dies)
        with pytest.raises(SystemExit):
            finish_jobs(desk)
    finish_jobs(desk, lambda state: reports.append(state.job))
    follower = desk.show(job_id_of(f"after:{job}:0"))
    assert (follower.portal, follower.state) == ("immoweb", "queued")
    assert reports == [job]
    assert len(desk.newest("immoweb")) == 1


def test_a_job_that_names_a_report_is_reported_once(desk: JobDesk, worker: Worker, store: FullStore) -> None:
    job = desk.submit(JobOrder(portal="emlak", then=({"report": True},))).job
    worker.open(job)
    worker.work()
    worker.conclude(job)
    before = store.server_state().now - timedelta(hours=1)
    url = "https://example.org/hook"
    finish_jobs(desk, reporter(store, [url]))
    report_jobs(store, Channels([url]), before)
    (message,) = store.notifications(topic="report:job")
    assert message.title == f"emlak: job {job[:12]} has ended"
    assert "0 new" in message.body


def test_a_job_that_failed_before_a_worker_opened_it_is_reported(
    desk: JobDesk, store: FullStore, server: Redis
) -> None:
    job = desk.submit(EMLAK).job
    before = store.server_state().now - timedelta(hours=1)
    server.delete(keys.start_urls("emlak"))
    finish_jobs(desk)
    report_jobs(store, Channels(["https://example.org/hook"]), before)
    (message,) = store.notifications(topic="report:job")
    assert (message.title, message.body) == (f"emlak: job {job[:12]} has failed", REFUSED)


def test_the_cost_of_showing_a_job_depends_neither_on_the_queue_nor_on_old_jobs(
    desk: JobDesk, worker: Worker, server: Redis
) -> None:
    job = desk.submit(EMLAK).job
    worker.open(job)

    def cost() -> dict[str, int]:
        server.config_resetstat()
        desk.show(job)
        stats: Any = server.info("commandstats")
        return {name: each["calls"] for name, each in stats.items() if "info" not in name and "config" not in name}

    before = cost()
    worker.push(job, "extract", 3000)
    for number in range(20):
        desk.submit(JobOrder(portal="emlak", key=f"old-{number}"))
    assert cost() == before
    assert sum(before.values()) <= 20


def test_cancelling_is_one_script_that_looks_at_no_request(desk: JobDesk, worker: Worker, server: Redis) -> None:
    job = desk.submit(EMLAK).job
    worker.open(job)
    worker.push(job, "extract", 3000)
    server.config_resetstat()
    job_marks.cancel(desk.server, "emlak", job, 60)
    stats: Any = server.info("commandstats")
    calls = {name.removeprefix("cmdstat_"): each["calls"] for name, each in stats.items()}
    marks = {"zremrangebyscore": 1, "zadd": 1, "sadd": 1, "zrem": 1, "srem": 1, "scard": 1}
    assert {name: count for name, count in calls.items() if name in marks} == marks
    assert calls.keys() - marks.keys() <= {
        "evalsha",
        "eval",
        "script|load",
        "time",
        "info",
        "config",
        "config|resetstat",
    }


# ----- killed at every step


class Killed(BaseException):
    """The process was killed at this point."""


class Mortal:
    """An object whose caller is killed before or after one of its calls: the one at which `steps` is used up."""

    def __init__(self, wrapped: Any, steps: Iterator[int]) -> None:
        self._wrapped = wrapped
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._wrapped, name)
        if not callable(member):
            return member

        def call(*arguments: Any, **named: Any) -> Any:
            self._step()
            result = member(*arguments, **named)
            self._step()
            return result

        return call

    def _step(self) -> None:
        if next(self._steps, None) is None:
            raise Killed


def kills(desk: JobDesk, act: Callable[[JobDesk, int], Any]) -> Iterator[int]:
    """Do it in a process that is killed at its first step, at its second ... until it survives."""
    for number in count():
        steps = iter(range(number))
        mortal: Any = Mortal(desk.store, steps), Mortal(desk.server, steps)
        try:
            act(JobDesk(*mortal), number)
        except Killed:
            yield number
        else:
            assert number > 4, "it was killed often"
            yield number
            return


def test_a_submitter_killed_at_any_step_leaves_one_job_or_none(
    desk: JobDesk, server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("realestate.jobs.finish.PUSH_SECONDS", -1)

    def order(number: int) -> JobOrder:
        return JobOrder(portal="emlak", key=f"k{number}", deadline="2h")

    for number in kills(desk, lambda killed, number: killed.submit(order(number))):
        is_stored = bool(desk.store.orders(jobs=[job_id_of(f"k{number}")]))
        finish_jobs(desk)  # another process, which knows nothing of it
        pushed = Counter(msgspec.json.decode(seed)["job"] for seed in server.lrange(keys.start_urls("emlak"), 0, -1))
        assert pushed[job_id_of(f"k{number}")] == is_stored, "a stored job starts by itself"
        desk.submit(order(number))  # the user repeats it
    pushed = Counter(msgspec.json.decode(seed)["job"] for seed in server.lrange(keys.start_urls("emlak"), 0, -1))
    assert pushed == {job_id_of(f"k{each}"): 1 for each in range(number + 1)}


def test_a_cancel_killed_at_any_step_is_done_or_not_begun(desk: JobDesk, worker: Worker, server: Redis) -> None:
    def cancel(killed: JobDesk, number: int) -> None:
        worker.open(desk.submit(JobOrder(portal="emlak", key=f"k{number}")).job)
        killed.cancel(job_id_of(f"k{number}"), "wrong city", removed=lambda removed, left: None)

    outcomes = Counter[str]()
    for number in kills(desk, cancel):
        job = job_id_of(f"k{number}")
        finish_jobs(desk)
        leased = worker.work()
        state = desk.show(job)
        outcomes[state.state] += 1
        assert leased == ([] if state.state == "cancelled" else [job])
        assert state.reason == ("wrong city" if state.state == "cancelled" else None)
    assert outcomes["cancelled"] > 2
    assert len(outcomes) == 2


@pytest.mark.parametrize("is_paused", [True, False])
def test_a_pause_or_its_end_killed_at_any_step_is_done_or_not_begun(
    is_paused: bool, desk: JobDesk, worker: Worker, server: Redis
) -> None:
    def change(killed: JobDesk, number: int) -> None:
        job = desk.submit(JobOrder(portal="emlak", key=f"k{number}")).job
        worker.open(job)
        if not is_paused:
            desk.pause(job)
        (killed.pause if is_paused else killed.resume)(job)

    for number in kills(desk, change):
        job = job_id_of(f"k{number}")
        finish_jobs(desk)
        leased = worker.work()
        assert leased == ([] if desk.show(job).paused else [job])
        desk.cancel(job, removed=lambda removed, left: None)


def test_a_job_of_another_program_is_shown_too(desk: JobDesk, worker: Worker) -> None:
    worker.open("bare")
    state = desk.show("bare")
    assert (state.state, state.order, state.is_submitted) == ("planning", None, False)
    worker.work()
    worker.conclude("bare")
    assert desk.show("bare").state == "finished"
    with pytest.raises(JobConflict, match="what was ordered is not known"):
        desk.retry("bare")
    with pytest.raises(NoSuchJobId):
        desk.show("no such job")

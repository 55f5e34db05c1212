import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from redis import Redis

from realestate.queue import keys
from realestate.queue.connection import connect_to
from realestate.queue.open_jobs import OpenJob, OpenJobs

Run = Callable[[Callable[[OpenJobs], Awaitable[Any]]], Any]


@pytest.fixture
def run(redis_url: str, server: Redis) -> Run:
    def with_jobs(act: Callable[[OpenJobs], Awaitable[Any]]) -> Any:
        async def inside() -> Any:
            client = connect_to(redis_url)
            try:
                return await act(OpenJobs(client, "p"))
            finally:
                await client.aclose()

        return asyncio.run(inside())

    return with_jobs


def test_the_first_worker_that_opens_a_job_sets_its_fields(run: Run) -> None:
    async def act(jobs: OpenJobs) -> list[Any]:
        before = await jobs.is_open("j")
        await jobs.open("j", "sweep", "all")
        await jobs.open("j", "full", "")
        return [before, await jobs.is_open("j"), await jobs.some()]

    assert run(act) == [False, True, {"j": OpenJob("sweep", "all")}]


def test_a_job_is_checked_then_closed(run: Run) -> None:
    async def act(jobs: OpenJobs) -> list[Any]:
        await jobs.open("j", "full", "all")
        (state,) = (await jobs.some()).values()
        await jobs.check("j", state)
        checking = await jobs.some()
        await jobs.close("j")
        return [checking, await jobs.some()]

    assert run(act) == [{"j": OpenJob("full", "all", checking=True)}, {}]


def test_one_worker_at_a_time_concludes_a_job(run: Run, server: Redis) -> None:
    async def act(jobs: OpenJobs) -> list[bool]:
        claims = [await jobs.claim("j"), await jobs.claim("j"), await jobs.claim("other")]
        await jobs.release("j")
        return [*claims, await jobs.claim("j")]

    assert run(act) == [True, False, True, True]
    assert 0 < server.ttl(keys.finishing("p", "j")) <= 30, (
        "a worker that dies meanwhile blocks the others only for a short time"
    )


def test_very_many_jobs_are_all_seen_in_turns(run: Run) -> None:
    async def act(jobs: OpenJobs) -> set[str]:
        for number in range(3_000):
            await jobs.open(str(number), "full", "")
        seen: set[str] = set()
        for _ in range(3_000):
            seen |= (await jobs.some()).keys()
            if jobs._cursor == 0:
                break
        return seen

    assert len(run(act)) == 3_000


def test_a_damaged_job_is_skipped(run: Run, server: Redis) -> None:
    server.hset(keys.open_jobs("p"), mapping={"bad": "\x80", "odd": "{}", "good": '{"mode": "full"}'})

    async def act(jobs: OpenJobs) -> Any:
        return await jobs.some()

    assert run(act) == {"good": OpenJob("full")}


def test_the_dead_letters_of_a_stage_are_counted(run: Run, server: Redis) -> None:
    server.hset(keys.counts("p", "j"), "discover:dead", 3)

    async def act(jobs: OpenJobs) -> list[int]:
        return [await jobs.given_up("j", "discover"), await jobs.given_up("j", "extract")]

    assert run(act) == [3, 0]

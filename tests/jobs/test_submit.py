"""Submitting a job."""

from typing import Any

import msgspec
from redis import Redis

from realestate.crawling import seeds
from realestate.jobs.submit import submit
from realestate.queue import keys


def test_the_seeds_of_one_job_carry_its_id(server: Redis) -> None:
    job = submit(server, "bina", ["https://bina.az/1", "https://bina.az/2"], mode="sweep", priority=3)
    pushed = [seeds.parse(data) for data in _pushed(server)]
    assert [seed.url for seed in pushed] == ["https://bina.az/1", "https://bina.az/2"]
    assert {(seed.job, seed.mode, seed.priority) for seed in pushed} == {(job, "sweep", 3)}


def test_two_jobs_have_two_ids(server: Redis) -> None:
    assert submit(server, "bina", ["https://bina.az/"]) != submit(server, "bina", ["https://bina.az/"])
    assert len({msgspec.json.decode(data)["job"] for data in _pushed(server)}) == 2


def _pushed(server: Redis) -> list[bytes]:
    pushed: Any = server.lrange(keys.start_urls("bina"), 0, -1)
    return list(pushed)

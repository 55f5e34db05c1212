"""Jobs that are not finished. When no request of a job is left, a worker looks for what the job did not find."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import msgspec

from realestate.queue import keys, stored
from realestate.queue.redis_client import AsyncRedis

#: If the worker that finishes a job dies, another takes over after this time. Finishing twice does no harm.
CLAIM_SECONDS = 30
#: Jobs looked at in one turn, so that very many jobs cannot delay a worker.
MAXIMUM = 100


class OpenJob(msgspec.Struct, frozen=True):
    """What was asked for, and the progress."""

    mode: str
    scope: str = ""
    checking: bool = False
    """Its search pages are done; listings that were not found are being checked."""
    partial: str = ""
    """Why it does not read all results of its searches: a limit or a filter."""


def read_open_job(value: bytes) -> OpenJob | None:
    """A value of the hash `{<portal>}:open_jobs`; None if it is not one of ours."""
    try:
        return msgspec.json.decode(value, type=OpenJob)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None


class OpenJobs:
    """The open jobs of one portal."""

    def __init__(self, server: AsyncRedis, portal: str) -> None:
        self.server = server
        self.portal = portal
        self.key = keys.open_jobs(portal)
        self._cursor = 0

    async def is_open(self, job: str) -> bool:
        return bool(await self.server.hexists(self.key, job))

    async def is_cancelled(self, job: str) -> bool:
        return await self.server.zscore(keys.cancelled_jobs(self.portal), job) is not None

    async def open(self, job: str, mode: str, scope: str, partial: str = "") -> None:
        """Record the job, unless another worker has."""
        opened = OpenJob(mode, scope, partial=partial)
        await self.server.hsetnx(self.key, job, msgspec.json.encode(opened).decode())

    async def some(self) -> dict[str, OpenJob]:
        """The next few jobs. Repeated calls return all of them."""
        found: Any
        self._cursor, found = await self.server.hscan(self.key, self._cursor, count=MAXIMUM)
        return {stored.text(job): state for job, value in found.items() if (state := read_open_job(value))}

    async def claim(self, job: str) -> bool:
        """Whether this worker may finish the job: no other worker is doing it."""
        key = keys.finishing(self.portal, job)
        mine = uuid4().hex
        if await self.server.set(key, mine, nx=True, ex=CLAIM_SECONDS):
            return True
        return await self.server.get(key) == mine.encode()  # the command was repeated, and its first reply was lost

    async def release(self, job: str) -> None:
        await self.server.unlink(keys.finishing(self.portal, job))

    async def check(self, job: str, state: OpenJob) -> None:
        """Record that its search pages are done."""
        checking = msgspec.structs.replace(state, checking=True)
        await self.server.hset(self.key, job, msgspec.json.encode(checking).decode())

    async def close(self, job: str) -> None:
        await self.server.hdel(self.key, job)

    async def totals(self, job: str) -> dict[str, int]:
        """The requests of the job that are done, were retried, and ended as dead letters."""
        counts: Any = await self.server.hgetall(keys.counts(self.portal, job))
        return sum_counts(counts)

    async def given_up(self, job: str, stage: str) -> int:
        """Requests of that stage that ended as dead letters."""
        count: Any = await self.server.hget(keys.counts(self.portal, job), f"{stage}:dead")
        return stored.count(count)


def sum_counts(counts: Mapping[bytes, bytes]) -> dict[str, int]:
    """The sums over all stages of the hash `{<portal>}:counts:<job>`, such as `done` and `dead`."""
    sums: dict[str, int] = {}
    for name, value in counts.items():
        what = stored.text(name).rpartition(":")[2]
        sums[what] = sums.get(what, 0) + stored.count(value)
    return sums

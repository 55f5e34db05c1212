"""Jobs whose end has not been drawn: when nothing of one is left, somebody has to look what it did not find."""

from typing import Any

import msgspec
from redis.asyncio import Redis

from realestate.queue import keys

#: A worker that concludes a job and dies holds the others up so long. Doing it twice does no harm.
CLAIM_SECONDS = 30
#: Looked at in one turn, so that very many jobs cannot hold a worker up.
MOST = 100


class OpenJob(msgspec.Struct, frozen=True):
    """What was asked for, and how far it has come."""

    mode: str
    scope: str = ""
    checking: bool = False
    """Its search pages are over, and what it did not find is being looked for."""


class OpenJobs:
    """The open jobs of one portal."""

    def __init__(self, server: "Redis", portal: str) -> None:
        self.server = server
        self.portal = portal
        self.key = keys.open_jobs(portal)
        self._cursor = 0

    async def is_open(self, job: str) -> bool:
        return bool(await self.server.hexists(self.key, job))

    async def open(self, job: str, mode: str, scope: str) -> None:
        """The first to say so counts."""
        await self.server.hsetnx(self.key, job, msgspec.json.encode(OpenJob(mode, scope)).decode())

    async def some(self) -> dict[str, OpenJob]:
        """The next few; asked again and again, all."""
        found: Any
        self._cursor, found = await self.server.hscan(self.key, self._cursor, count=MOST)
        return {job.decode(): told for job, value in found.items() if (told := _read(value))}

    async def claim(self, job: str) -> bool:
        """Whether this worker is to conclude it."""
        return bool(await self.server.set(keys.concluding(self.portal, job), 1, nx=True, ex=CLAIM_SECONDS))

    async def release(self, job: str) -> None:
        await self.server.unlink(keys.concluding(self.portal, job))

    async def check(self, job: str, told: OpenJob) -> None:
        """Its search pages are over."""
        checking = msgspec.structs.replace(told, checking=True)
        await self.server.hset(self.key, job, msgspec.json.encode(checking).decode())

    async def close(self, job: str) -> None:
        await self.server.hdel(self.key, job)

    async def given_up(self, job: str, stage: str) -> int:
        """Requests of that stage that ended as dead letters."""
        count: Any = await self.server.hget(keys.counts(self.portal, job), f"{stage}:dead")
        return int(count or 0)


def _read(value: bytes) -> OpenJob | None:
    try:
        return msgspec.json.decode(value, type=OpenJob)
    except msgspec.MsgspecError:
        return None

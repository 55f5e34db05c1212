"""The commands that look after a portal's queue: dead letters, and the switch that stops a portal everywhere."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from realestate.cli.failures import UsageError
from realestate.cli.local import known, redis_url
from realestate.queue.connection import connect_to
from realestate.queue.deadletters import DeadLetter, DeadLetters
from realestate.queue.request_queue import QueueSettings, RequestQueue

T = TypeVar("T")


def pause(portals: Sequence[str]) -> list[str]:
    return _switch(portals, RequestQueue.pause)


def resume(portals: Sequence[str]) -> list[str]:
    return _switch(portals, RequestQueue.resume)


def letters(portal: str, *, reason: str | None, job: str | None, limit: int) -> list[DeadLetter]:
    return _with(portal, lambda queue: DeadLetters(queue).newest(limit, reason=reason, job=job))


def letter(portal: str, id: str) -> DeadLetter:
    for each in letters(portal, reason=None, job=None, limit=10**9):
        if each.id.hex() == id:
            return each
    raise UsageError(f"no dead letter {id!r} of {portal}")


def replay(portal: str, ids: Sequence[bytes], per_second: float) -> int:
    return _with(portal, lambda queue: DeadLetters(queue).replay(ids, per_second))


def drop(portal: str, ids: Sequence[bytes]) -> int:
    return _with(portal, lambda queue: DeadLetters(queue).drop(ids))


def _switch(portals: Sequence[str], act: Callable[[RequestQueue], Awaitable[None]]) -> list[str]:
    names = known(portals)
    for name in names:
        _with(name, act)
    return names


def _with(portal: str, act: Callable[[RequestQueue], Awaitable[T]]) -> T:
    known([portal])
    url = redis_url()

    async def inside() -> T:
        server = connect_to(url)
        try:
            return await act(RequestQueue(server, portal, QueueSettings()))
        finally:
            await server.aclose()

    return asyncio.run(inside())

"""Sets keys aside that have another type than the queue needs, so that workers go on. Somebody else wrote them."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

from redis.exceptions import ResponseError

from realestate.queue.redis_client import AsyncRedis


async def set_aside(server: AsyncRedis, expected: Mapping[str, str], refused: Callable[[str], object]) -> bool:
    """Rename those of the keys that have another type than expected. Returns whether there was any.

    Whoever wrote one finds it under its new name. `refused` is called with a sentence about each."""
    found_any = False
    for key, kind in expected.items():
        reply: Any = await server.type(key)
        found = reply.decode()
        if found in (kind, "none"):
            continue
        found_any = True
        aside = _aside(key)
        if await _rename(server, key, aside):
            refused(f"{key} is a {found}, not a {kind}; it was renamed to {aside}")
    return found_any


async def _rename(server: AsyncRedis, key: str, aside: str) -> bool:
    """Returns False if another worker was faster."""
    try:
        await server.rename(key, aside)
    except ResponseError as error:
        if "no such key" not in str(error):
            raise
        return False
    return True


def _aside(key: str) -> str:
    """The new name of a key: in its slot, and never used before."""
    tagged = key if key.startswith("{") else f"{{{key}}}"
    return f"{tagged}:wrong_type:{uuid4().hex[:8]}"

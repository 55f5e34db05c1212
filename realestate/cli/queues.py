"""Runs a function on the queue of a portal, for commands that look into it or change it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from realestate.cli.connections import check_queues, redis_address
from realestate.queue.connection import connect_to
from realestate.queue.redis_client import briefly
from realestate.queue.request_queue import QueueSettings, RequestQueue

T = TypeVar("T")


def with_queue(portal: str, act: Callable[[RequestQueue], Awaitable[T]]) -> T:
    """Run a function on the portal's queue and return its result. Starts the embedded Redis if it is needed."""
    with redis_address() as url:
        check_queues([portal], url)
        return with_queue_at(url, portal, act)


def with_queue_at(redis_url: str, portal: str, act: Callable[[RequestQueue], Awaitable[T]]) -> T:
    """The same, in a Redis that is running."""

    async def connect_and_act() -> T:
        server = connect_to(redis_url, briefly())
        try:
            return await act(RequestQueue(server, portal, QueueSettings()))
        finally:
            await server.aclose()

    return asyncio.run(connect_and_act())

"""`realestate status`, `pause` and `resume`: the state of the portals, and the switch that stops one on all workers."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from realestate.cli.options import JsonFlag

if TYPE_CHECKING:
    from realestate.jobs.fleet import State
    from realestate.jobs.unread_seeds import UnreadSeeds
    from realestate.queue.request_queue import RequestQueue

T = TypeVar("T")


@dataclass(frozen=True)
class PortalStatus:
    state: "State"
    listings: int
    quarantined: int


def status(json: JsonFlag = False) -> None:
    """Show per portal what is queued, in flight and stored."""
    from realestate.cli import terminal

    portals = _portals()
    unread = _unread_seeds() if portals is not None else []
    if json:
        names = {name: _fields(portal) for name, portal in (portals or {}).items()}
        unread_keys = {each.key: each.seeds for each in unread}
        terminal.print_json({"running": portals is not None, "portals": names, "unread_start_urls": unread_keys})
    elif portals is None:
        print("nothing is running here: start with `realestate crawl <portal>`, or set REDIS_URL and STORE_URL")
    else:
        _print_table(portals)
        for each in unread:
            print(each)


def pause(portals: Annotated[list[str], typer.Argument(help="Portals to stop on all workers.")]) -> None:
    """Stop a portal on all workers: no request is sent to it until `resume`."""
    from realestate.queue.request_queue import RequestQueue

    _for_each(portals, RequestQueue.pause)
    print(f"paused: {', '.join(portals)}")


def resume(portals: Annotated[list[str], typer.Argument(help="Paused portals to continue.")]) -> None:
    """Continue a paused portal."""
    from realestate.queue.request_queue import RequestQueue

    _for_each(portals, RequestQueue.resume)
    print(f"resumed: {', '.join(portals)}")


def with_queue(portal: str, act: "Callable[[RequestQueue], Awaitable[T]]") -> T:
    """Run a function on the portal's queue and return its result."""
    import asyncio

    from realestate.cli.connections import check_queues, running_redis_url
    from realestate.queue.connection import connect_to
    from realestate.queue.redis_client import briefly
    from realestate.queue.request_queue import QueueSettings, RequestQueue

    check_queues([portal])
    url = running_redis_url()

    async def connect_and_act() -> T:
        server = connect_to(url, briefly())
        try:
            return await act(RequestQueue(server, portal, QueueSettings()))
        finally:
            await server.aclose()

    return asyncio.run(connect_and_act())


def _for_each(portals: Sequence[str], act: "Callable[[RequestQueue], Awaitable[None]]") -> None:
    from realestate.cli.connections import check_queues

    for name in check_queues(portals):
        with_queue(name, act)


def _portals() -> dict[str, PortalStatus] | None:
    """The status of each portal; None if no Redis is running. Starts nothing."""
    from realestate import embedded, settings
    from realestate.cli.connections import connect_redis
    from realestate.jobs.fleet import look
    from realestate.jobs.work import all_portals, portals
    from realestate.storage import open_store

    own = embedded.running(settings.REALESTATE_HOME)
    redis_url = settings.REDIS_URL or (own.redis_url if own else None)
    store_url = settings.STORE_URL or (own.store_url if own else None)
    counts: dict[str, tuple[int, int]] = {}
    if store_url:
        store = open_store(store_url)
        counts = store.counts()
        store.close()
    if not redis_url:
        return None
    server = connect_redis(redis_url)
    names = sorted({*portals(), *(name for name in all_portals() if name in counts)})
    return {name: PortalStatus(look(server, name), *counts.get(name, (0, 0))) for name in names}


def _unread_seeds() -> "list[UnreadSeeds]":
    from realestate.cli.connections import connect_redis, running_redis_url
    from realestate.jobs.unread_seeds import unread_seeds
    from realestate.jobs.work import all_portals

    return unread_seeds(connect_redis(running_redis_url()), all_portals())


def _fields(portal: PortalStatus) -> dict[str, Any]:
    return {
        "seeds": portal.state.seeds,
        "ready": portal.state.ready,
        "delayed": portal.state.delayed,
        "in_flight": portal.state.in_flight,
        "workers": len(portal.state.workers),
        "rate_limit": str(portal.state.rate_limit),
        "pace": str(portal.state.rate_limit),  # the name of version 0.1, removed in 0.3
        "dead_letters": portal.state.dead,
        "listings": portal.listings,
        "quarantined": portal.quarantined,
    }


def _print_table(portals: dict[str, PortalStatus]) -> None:
    from realestate.cli import terminal

    table = terminal.number_table(
        "portal", "workers", "seeds", "ready", "delayed", "in flight", "dead", "listings", "quarantine"
    )
    table.add_column("rate limit")
    for name, portal in portals.items():
        state = portal.state
        numbers = terminal.number_cells(
            len(state.workers),
            state.seeds,
            state.ready,
            state.delayed,
            state.in_flight,
            state.dead,
            portal.listings,
            portal.quarantined,
        )
        table.add_row(name, *numbers, str(state.rate_limit))
    terminal.console.print(table)

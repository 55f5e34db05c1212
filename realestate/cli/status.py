"""`realestate status`, `pause` and `resume`: the state of the portals, and the switch that stops one on all workers."""

import getpass
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from realestate.cli.options import JsonFlag

if TYPE_CHECKING:
    from realestate.jobs.fleet import State
    from realestate.jobs.unread_seeds import UnreadSeeds


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
        print("nothing was crawled here: start with `realestate crawl <portal>`, or set REDIS_URL and STORE_URL")
    else:
        _print_table(portals)
        for each in unread:
            print(each)


def pause(
    portals: Annotated[list[str], typer.Argument(help="Portals to stop on all workers.")],
    reason: Annotated[str, typer.Option(help="Why; `status` shows it.")] = "",
) -> None:
    """Stop a portal on all workers: no request is sent to it until `resume`."""
    from realestate.cli.queues import with_queue

    for name in portals:
        with_queue(name, lambda queue: queue.pause(reason, _user()))
    print(f"paused: {', '.join(portals)}")


def resume(portals: Annotated[list[str], typer.Argument(help="Paused portals to continue.")]) -> None:
    """Continue a paused portal."""
    from realestate.cli.queues import with_queue

    for name in portals:
        was_paused = with_queue(name, lambda queue: queue.resume())
        print(f"resumed: {name}" if was_paused else f"{name} was not paused")


def _user() -> str:
    """Who runs this command, for others to see."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (KeyError, OSError):  # a container may have a user without a name
        return socket.gethostname()


def _portals() -> dict[str, PortalStatus] | None:
    """The status of each portal; None where nothing was crawled yet. Starts the embedded services if it has to."""
    from realestate.cli.connections import connect_redis, kept
    from realestate.cli.errors import UsageError
    from realestate.jobs.fleet import look
    from realestate.jobs.work import all_portals, portals
    from realestate.storage import open_store

    try:
        with kept() as addresses:
            store = open_store(addresses.store_url)
            counts = store.counts()
            store.close()
            server = connect_redis(addresses.redis_url)
            names = sorted({*portals(), *(name for name in all_portals() if name in counts)})
            return {name: PortalStatus(look(server, name), *counts.get(name, (0, 0))) for name in names}
    except UsageError:
        return None


def _unread_seeds() -> "list[UnreadSeeds]":
    from realestate.cli.connections import connect_redis, redis_address
    from realestate.jobs.unread_seeds import unread_seeds
    from realestate.jobs.work import all_portals

    with redis_address() as url:
        return unread_seeds(connect_redis(url), all_portals())


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

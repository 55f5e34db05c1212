"""`realestate status`, `pause` and `resume`: the state of the portals, and the switch that stops one on all workers."""

import getpass
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from realestate.cli.options import JsonFlag

if TYPE_CHECKING:
    from realestate.cli.connections import Addresses
    from realestate.jobs.fleet import State, WorkerProcess
    from realestate.jobs.unread_seeds import UnreadSeeds
    from realestate.queue.rate_limit import RateLimit

#: How often `--watch` reads everything again.
WATCH_SECONDS = 2.0
#: Moves to the top left corner of a terminal and clears it.
_CLEAR = "\x1b[H\x1b[2J"


@dataclass(frozen=True)
class PortalStatus:
    """One portal. `state` is None while Redis is away, the numbers are None while the store is."""

    state: "State | None"
    listings: int | None
    quarantined: int | None


@dataclass(frozen=True)
class FleetStatus:
    """All portals, and why Redis or the store could not be read."""

    portals: Mapping[str, PortalStatus] = field(default_factory=dict)
    unread: "Sequence[UnreadSeeds]" = ()
    """Lists of start URLs that no portal reads."""
    redis_error: str = ""
    store_error: str = ""

    @property
    def is_complete(self) -> bool:
        return not self.redis_error and not self.store_error


def status(
    watch: Annotated[bool, typer.Option("--watch", help="Show it again every 2 seconds, until Ctrl-C.")] = False,
    json: JsonFlag = False,
) -> None:
    """Show what is queued, in flight and stored, the workers, and why a portal is paused."""
    from realestate.cli.connections import kept
    from realestate.cli.errors import UsageError

    with ExitStack() as services:
        try:
            addresses = services.enter_context(kept())
        except UsageError:
            _print_nothing(json)
            return
        if watch:
            _watch(addresses, json)
        else:
            fleet = _look(addresses)
            _print(fleet, json)
            raise typer.Exit(0 if fleet.is_complete else 1)


def _watch(addresses: "Addresses", json: bool) -> None:
    try:
        while True:
            fleet = _look(addresses)
            if sys.stdout.isatty() and not json:
                print(_CLEAR, end="")
            _print(fleet, json)
            print(end="" if json else "\n", flush=True)
            time.sleep(WATCH_SECONDS)
    except KeyboardInterrupt:
        return


def _print_nothing(json: bool) -> None:
    from realestate.cli import terminal

    if json:
        terminal.print_json({"running": False, "portals": {}, "unread_start_urls": {}})
    else:
        print("nothing was crawled here: start with `realestate crawl <portal>`, or set REDIS_URL and STORE_URL")


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


# ----- reading


def _look(addresses: "Addresses") -> FleetStatus:
    """Read Redis and the store. If one of them is away, the other one is still shown."""
    from realestate.cli.connections import connect_redis
    from realestate.jobs.fleet import look
    from realestate.jobs.unread_seeds import unread_seeds
    from realestate.jobs.work import all_portals, portals
    from realestate.queue.redis_client import REDIS_ERRORS
    from realestate.storage import StoreError

    counts: Mapping[str, tuple[int, int]] | None = None
    states: dict[str, State] = {}
    unread: Sequence[UnreadSeeds] = ()
    store_error = redis_error = ""
    try:
        counts = _counts(addresses.store_url)
    except StoreError as error:
        store_error = _first_line(error)
    names = sorted({*portals(), *(name for name in all_portals() if name in (counts or {}))})
    try:
        server = connect_redis(addresses.redis_url)
        states = {name: look(server, name) for name in names}
        unread = unread_seeds(server, all_portals())
    except REDIS_ERRORS as error:
        redis_error = _first_line(error)
    found = {name: _portal(states.get(name), name, counts) for name in names}
    return FleetStatus(found, unread, redis_error, store_error)


def _portal(state: "State | None", name: str, counts: Mapping[str, tuple[int, int]] | None) -> PortalStatus:
    listings, quarantined = (None, None) if counts is None else counts.get(name, (0, 0))
    return PortalStatus(state, listings, quarantined)


def _counts(store_url: str) -> Mapping[str, tuple[int, int]]:
    from realestate.storage import open_store

    store = open_store(store_url)
    try:
        return store.counts()
    finally:
        store.close()


def _first_line(error: Exception) -> str:
    from realestate.queue.credentials import without_credentials

    return without_credentials(str(error)).partition("\n")[0]


def _processes(fleet: FleetStatus) -> "Mapping[str, WorkerProcess]":
    from realestate.jobs.fleet import worker_processes

    return worker_processes(portal.state for portal in fleet.portals.values() if portal.state)


# ----- output


def _print(fleet: FleetStatus, json: bool) -> None:
    from realestate.cli import terminal

    if json:
        terminal.print_json(_fleet_fields(fleet))
        return
    _print_away(fleet)
    _print_portals(fleet)
    _print_workers(fleet)
    for line in _notes(fleet):
        print(line)
    for each in fleet.unread:
        print(each)


def _fleet_fields(fleet: FleetStatus) -> dict[str, Any]:
    return {
        "running": True,
        "redis": {"available": not fleet.redis_error, "error": fleet.redis_error},
        "store": {"available": not fleet.store_error, "error": fleet.store_error},
        "workers": {name: asdict(process) for name, process in _processes(fleet).items()},
        "portals": {name: _fields(portal) for name, portal in fleet.portals.items()},
        "unread_start_urls": {each.key: each.seeds for each in fleet.unread},
    }


def _fields(portal: PortalStatus) -> dict[str, Any]:
    stored = {"listings": portal.listings, "quarantined": portal.quarantined}
    state = portal.state
    if state is None:
        return stored
    limit = state.rate_limit
    return {
        "seeds": state.seeds,
        "ready": state.ready,
        "delayed": state.delayed,
        "in_flight": state.in_flight,
        "workers": len(state.workers),
        "rate_limit": str(limit),
        "pace": str(limit),  # the name of version 0.1, removed in 0.3
        "paused": _pause_fields(limit) if limit.paused else None,
        "pages_per_second": round(state.pages_per_second, 2),
        "active_at": state.active_at or None,
        "heard_at": state.heard_at or None,
        "proxies": state.proxies,
        "dead_letters": state.dead,
        **stored,
    }


def _pause_fields(limit: "RateLimit") -> dict[str, Any]:
    return {
        "reason": limit.paused_reason,
        "by": limit.paused_by,
        "at": limit.paused_at,
        "until": limit.paused_until or None,
    }


def _print_away(fleet: FleetStatus) -> None:
    if fleet.redis_error:
        print(f"Redis is not available: {fleet.redis_error}")
        print("The queues and the workers cannot be shown. What is stored:")
    if fleet.store_error:
        print(f"The database is not available: {fleet.store_error}")
        print("The number of listings cannot be shown. Workers keep what they fetch until it is back.")


def _print_portals(fleet: FleetStatus) -> None:
    from realestate.cli import terminal

    has_queues = not fleet.redis_error
    has_counts = not fleet.store_error
    header = ["portal"]
    header += ["workers", "waiting", "flight", "dead"] if has_queues else []
    header += ["listings"] if has_counts else []
    header += ["pages/s", "last", "limit"] if has_queues else [""]
    rows = [[name, *_cells(portal)] for name, portal in fleet.portals.items()]
    terminal.print_columns(header, rows)


def _cells(portal: PortalStatus) -> list[str]:
    stored = [] if portal.listings is None else [f"{portal.listings:,}"]
    state = portal.state
    if state is None:
        return [*stored, ""]
    numbers = (len(state.workers), state.waiting, state.in_flight, state.dead)
    return [
        *(f"{number:,}" for number in numbers),
        *stored,
        f"{state.pages_per_second:.1f}",
        _ago(state.now, state.active_at),
        _short_limit(state),
    ]


def _ago(now: float, then: float) -> str:
    """How long ago that was, in a few characters."""
    if not then:
        return "-"
    seconds = max(0.0, now - then)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _short_limit(state: "State") -> str:
    """The limit in one word. The notes below the table have the reason."""
    from realestate.queue.rate_limit import RateLimit

    limit = state.rate_limit
    if not state.heard_at and limit == RateLimit():
        return "-"  # the first worker sets it
    if limit.paused:
        return "paused"
    if limit.blocked_seconds:
        return "blocked"
    if limit.robots_failures:
        return "robots"
    return str(limit).partition(":")[0]


def _print_workers(fleet: FleetStatus) -> None:
    from realestate.cli import terminal

    processes = _processes(fleet)
    if not processes:
        return
    now = max(portal.state.now for portal in fleet.portals.values() if portal.state)
    rows = [
        [
            name,
            str(process.portals),
            f"{process.pages:,}",
            f"{process.pages_per_second:.1f}",
            f"{process.stored:,}",
            _ago(now, process.active_at),
        ]
        for name, process in processes.items()
    ]
    print()
    terminal.print_columns(["worker", "portals", "pages", "pages/s", "stored", "last"], rows)


def _notes(fleet: FleetStatus) -> list[str]:
    """What the table has no room for."""
    from realestate.cli.pauses import utc

    states = {name: portal.state for name, portal in fleet.portals.items() if portal.state}
    lines = [f"{name}: {text}" for name, state in states.items() for text in _notes_of(name, state)]
    lines += [
        f"{name}: {portal.quarantined:,} in quarantine; `realestate quarantine list --portal {name}` shows them"
        for name, portal in fleet.portals.items()
        if portal.quarantined
    ]
    if states and not any(state.workers for state in states.values()):
        heard = max(state.heard_at for state in states.values())
        since = f" since {utc(heard)}" if heard else ""
        lines.append(f"no worker runs{since}; `realestate work` starts one")
    return ["", *lines] if lines else []


def _notes_of(name: str, state: "State") -> list[str]:
    from realestate.cli.pauses import why_stopped
    from realestate.cli.terminal import counted

    limit = state.rate_limit
    lines = []
    if limit.paused:
        lines.append(f"{why_stopped(limit)}; `realestate resume {name}` starts it again")
    elif limit.robots_failures:
        lines.append(why_stopped(limit))
    elif ":" in str(limit):
        lines.append(str(limit))
    if state.proxies:
        conditions = ", ".join(f"{count} {condition}" for condition, count in sorted(state.proxies.items()))
        lines.append(f"proxies: {conditions}")
    if state.dead:
        lines.append(f"{counted(state.dead, 'dead letter')}; `realestate deadletters list {name}` shows them")
    return lines

"""`realestate health --role`: whether one process of the fleet can do its work, for the health check of its container.

It reads little: it runs in each container every half minute, also beside a database with millions of listings.
"""

import socket
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

from realestate.cli.exporter import PORT as EXPORTER_PORT
from realestate.cli.exporter import Part
from realestate.cli.serve import PORT as WEB_PORT

if TYPE_CHECKING:
    from redis import Redis

#: A server that does not respond within so many seconds is not healthy.
WAIT_SECONDS = 10.0


class Role(StrEnum):
    """What a process of the fleet does."""

    WORKER = "worker"
    TIMETABLE = "timetable"
    WATCH = "watch"
    WEB = "web"
    EXPORTER = "exporter"


def parts_of_role(role: Role) -> list[Part]:
    """What the role needs, and whether its process on this machine responds."""
    from realestate import settings

    if role is Role.WEB:
        return [_page("web", f"http://127.0.0.1:{WEB_PORT}/healthz")]
    if role is Role.EXPORTER:
        return [_page("exporter", f"http://127.0.0.1:{settings.METRICS_PORT or EXPORTER_PORT}/readyz")]

    from realestate.cli.connections import running_addresses

    addresses = running_addresses()
    return [*_redis(addresses.redis_url, is_worker=role is Role.WORKER), _store(addresses.store_url)]


def _redis(url: str, *, is_worker: bool) -> list[Part]:
    from realestate.queue.connection import connect_blocking
    from realestate.queue.redis_client import REDIS_ERRORS, Waiting, error_text

    try:
        with connect_blocking(url, Waiting(first_seconds=0.0, seconds=0.0)) as server:
            server.ping()
            return [Part("redis", True, "reachable"), *([_worker(server)] if is_worker else [])]
    except (*REDIS_ERRORS, ValueError) as error:
        return [Part("redis", False, error_text(error))]


def _worker(server: "Redis") -> Part:
    """A worker without a heartbeat serves no portal, whatever else works."""
    from realestate.jobs.work import all_portals
    from realestate.queue import keys

    here = f"{socket.gethostname()}:".encode()
    served = [
        portal
        for portal in all_portals()
        if any(name.startswith(here) for name in _names(server.hkeys(keys.heartbeats(portal))))
    ]
    return Part("worker", bool(served), f"serves {', '.join(served)}" if served else "no worker here serves a portal")


def _names(found: object) -> list[bytes]:
    assert isinstance(found, list)
    return found


def _store(url: str) -> Part:
    from realestate.storage import StoreError, open_store

    try:
        store = open_store(url)
        try:
            store.server_state()
        finally:
            store.close()
    except (StoreError, OSError) as error:
        return Part("store", False, str(error).partition("\n")[0])
    return Part("store", True, "reachable")


def _page(name: str, url: str) -> Part:
    try:
        with build_opener(ProxyHandler({})).open(url, timeout=WAIT_SECONDS):
            return Part(name, True, "responds")
    except HTTPError as error:
        text = error.read(500).decode("utf-8", "replace").strip()
        return Part(name, False, f"HTTP {error.code}: {text}")
    except (URLError, OSError) as error:
        return Part(name, False, str(error))

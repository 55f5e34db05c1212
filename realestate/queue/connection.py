"""The connection to Redis: one pool a worker; `redis://…` or `sentinel://host:port,host:port/service/db`."""

from typing import Any
from urllib.parse import unquote, urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff
from scrapy.settings import BaseSettings

#: Longer than any command of ours blocks (queue.scheduler.BELL_SECONDS).
ANSWER_SECONDS = 15.0
CONNECT_SECONDS = 5.0
DEFAULT_URL = "redis://127.0.0.1:6379/0"


def connect(settings: BaseSettings) -> "Redis":
    return connect_to(settings.get("REDIS_URL") or DEFAULT_URL)


def connect_to(url: str) -> "Redis":
    """Nothing is sent yet. Patience is the caller's (`queue.outbox.patiently`), so the client itself does not retry."""
    options: dict[str, Any] = {
        "socket_timeout": ANSWER_SECONDS,
        "socket_connect_timeout": CONNECT_SECONDS,
        "retry": Retry(NoBackoff(), 0),
    }
    parts = urlsplit(url)
    if parts.scheme != "sentinel":
        return Redis.from_url(url, **options)
    login, _, hosts = parts.netloc.rpartition("@")
    password = unquote(login.rpartition(":")[2]) or None
    service, _, database = parts.path.strip("/").partition("/")
    watchers = [(host, int(port or 26379)) for host, _, port in (each.partition(":") for each in hosts.split(","))]
    sentinel = Sentinel(watchers, socket_timeout=CONNECT_SECONDS)  # type: ignore[no-untyped-call]
    master: Redis = sentinel.master_for(service, password=password, db=int(database or 0), **options)
    return master

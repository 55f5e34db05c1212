"""The connection to Redis: one pool for each worker.

An address is `redis://…`, `sentinel://[:password@]host:port,host:port/service/db` or
`redis+cluster://[:password@]host:port,host:port`.
"""

from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import unquote, urlsplit

import redis
from redis.asyncio import Redis, RedisCluster, cluster, sentinel
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode
from redis.sentinel import Sentinel
from scrapy.settings import BaseSettings

#: Longer than any command of ours blocks (`queue.fleet.WAKE_UP_SECONDS`).
ANSWER_SECONDS = 15.0
CONNECT_SECONDS = 5.0
DEFAULT_URL = "redis://127.0.0.1:6379/0"
_TIMEOUTS: dict[str, Any] = {"socket_timeout": ANSWER_SECONDS, "socket_connect_timeout": CONNECT_SECONDS}


@dataclass(frozen=True, slots=True)
class _Group:
    """The addresses of several servers in one URL."""

    hosts: list[tuple[str, int]]
    password: str | None
    service: str
    database: int

    @classmethod
    def read(cls, url: str, default_port: int) -> "_Group":
        parts = urlsplit(url)
        login, _, hosts = parts.netloc.rpartition("@")
        service, _, database = parts.path.strip("/").partition("/")
        each = (host.partition(":") for host in hosts.split(","))
        return cls(
            [(host, int(port or default_port)) for host, _, port in each],
            unquote(login.rpartition(":")[2]) or None,
            service,
            int(database or 0),
        )


#: What scrapy-redis' REDIS_PARAMS may say about the server. The rest (timeouts, decoding, client class) is ours.
_SERVER_PARAMS = frozenset({"host", "port", "db", "username", "password", "unix_socket_path", "client_name", "ssl"})


def connect(settings: BaseSettings) -> "Redis":
    """The server that REDIS_URL names, or else scrapy-redis' REDIS_HOST, REDIS_PORT, REDIS_DB and REDIS_PARAMS."""
    given = settings.getdict("REDIS_PARAMS")
    if url := settings.get("REDIS_URL") or given.get("url"):
        return connect_to(url)
    params = {name: value for name, value in given.items() if name in _SERVER_PARAMS or name.startswith("ssl_")}
    for name, setting in (("host", "REDIS_HOST"), ("port", "REDIS_PORT"), ("db", "REDIS_DB")):
        if value := settings.get(setting):
            params[name] = value
    if not params:
        return connect_to(DEFAULT_URL)
    return Redis(**params, **_TIMEOUTS, retry=Retry(NoBackoff(), 0))


def connect_to(url: str) -> "Redis":
    """Return a client that is not connected yet. It does not retry: callers do (`queue.redis_retry`)."""
    options = {**_TIMEOUTS, "retry": Retry(NoBackoff(), 0)}
    match urlsplit(url).scheme:
        case "sentinel":
            at = _Group.read(url, 26379)
            watchers = sentinel.Sentinel(at.hosts, socket_timeout=CONNECT_SECONDS)  # type: ignore[no-untyped-call]
            return cast("Redis", watchers.master_for(at.service, password=at.password, db=at.database, **options))
        case "redis+cluster":
            at = _Group.read(url, 6379)
            nodes = [cluster.ClusterNode(host, port) for host, port in at.hosts]
            return cast("Redis", RedisCluster(startup_nodes=nodes, password=at.password, **options))
        case _:
            return Redis.from_url(url, **options)


def connect_blocking(url: str) -> "redis.Redis":
    """Return a blocking client, for short commands outside a worker."""
    match urlsplit(url).scheme:
        case "sentinel":
            at = _Group.read(url, 26379)
            watchers: Any = Sentinel(at.hosts, socket_timeout=CONNECT_SECONDS)  # type: ignore[no-untyped-call]
            return cast(
                "redis.Redis", watchers.master_for(at.service, password=at.password, db=at.database, **_TIMEOUTS)
            )
        case "redis+cluster":
            at = _Group.read(url, 6379)
            nodes = [ClusterNode(host, port) for host, port in at.hosts]  # type: ignore[no-untyped-call]
            return cast("redis.Redis", redis.RedisCluster(startup_nodes=nodes, password=at.password, **_TIMEOUTS))
        case _:
            return redis.Redis.from_url(url, **_TIMEOUTS)

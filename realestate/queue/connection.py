"""Makes the connection to Redis: one pool for each worker. `queue.redis_url` says which addresses there are."""

from typing import TYPE_CHECKING, Any, cast

import redis
from redis.asyncio import cluster, sentinel
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode
from redis.retry import Retry
from redis.sentinel import Sentinel

from realestate.queue.redis_client import (
    AsyncRedis,
    AsyncRedisCluster,
    BlockingRedis,
    BlockingRedisCluster,
    Waiting,
    briefly,
    connect_waiting,
    for_ever,
)
from realestate.queue.redis_url import RedisAddress, parse_redis_url

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

#: Longer than any command of ours blocks (`queue.intake.WAKE_UP_SECONDS`).
ANSWER_SECONDS = 15.0
CONNECT_SECONDS = 5.0
DEFAULT_URL = "redis://127.0.0.1:6379/0"
_TIMEOUTS: dict[str, Any] = {"socket_timeout": ANSWER_SECONDS, "socket_connect_timeout": CONNECT_SECONDS}
_SENTINEL_TIMEOUTS: dict[str, Any] = {"socket_timeout": CONNECT_SECONDS, "socket_connect_timeout": CONNECT_SECONDS}

#: What scrapy-redis' REDIS_PARAMS may say about the server. The rest (timeouts, decoding, client class) is ours.
_SERVER_PARAMS = frozenset({"host", "port", "db", "username", "password", "unix_socket_path", "client_name", "ssl"})


def connect(settings: "BaseSettings", waiting: Waiting | None = None) -> AsyncRedis:
    """The server that REDIS_URL names, or else scrapy-redis' REDIS_HOST, REDIS_PORT, REDIS_DB and REDIS_PARAMS."""
    given = settings.getdict("REDIS_PARAMS")
    if url := settings.get("REDIS_URL") or given.get("url"):
        return connect_to(url, waiting)
    params = {name: value for name, value in given.items() if name in _SERVER_PARAMS or name.startswith("ssl_")}
    for name, setting in (("host", "REDIS_HOST"), ("port", "REDIS_PORT"), ("db", "REDIS_DB")):
        if value := settings.get(setting):
            params[name] = value
    if not params:
        return connect_to(DEFAULT_URL, waiting)
    return _waits(AsyncRedis(**params, **_options()), waiting)


def connect_to(url: str, waiting: Waiting | None = None) -> AsyncRedis:
    """Return a client that is not connected yet. Its commands wait for Redis without an end, or as `waiting` says."""
    at = parse_redis_url(url)
    if at.kind == "sentinel":
        watchers = sentinel.Sentinel(at.hosts, sentinel_kwargs=_sentinel_options(at))  # type: ignore[no-untyped-call]
        master = watchers.master_for(at.service, redis_class=AsyncRedis, db=at.database, **_of(at), **_options())
        client = cast("AsyncRedis", master)
        client.sentinels = watchers.sentinels
        return _waits(client, waiting)
    if at.kind == "cluster":
        nodes = [cluster.ClusterNode(host, port) for host, port in at.hosts]
        whole = AsyncRedisCluster(startup_nodes=nodes, **_of(at), **_options())
        return _waits(cast("AsyncRedis", whole), waiting)
    return _waits(cast("AsyncRedis", AsyncRedis.from_url(url, **_options())), waiting)


def connect_blocking(url: str, waiting: Waiting | None = None) -> "redis.Redis":
    """Return a blocking client, for commands outside a worker."""
    at = parse_redis_url(url)
    waiting = waiting or briefly()
    options = {**_TIMEOUTS, "retry": Retry(NoBackoff(), 0)}
    client: Any
    if at.kind == "sentinel":
        watchers: Any = Sentinel(at.hosts, sentinel_kwargs=_sentinel_options(at))  # type: ignore[no-untyped-call]
        client = watchers.master_for(at.service, redis_class=BlockingRedis, db=at.database, **_of(at), **options)
    elif at.kind == "cluster":
        client = connect_waiting(lambda: _blocking_cluster(at, options), waiting)
    else:
        client = BlockingRedis.from_url(url, **options)
    client.waiting = waiting
    return cast("redis.Redis", client)


def _blocking_cluster(at: RedisAddress, options: dict[str, Any]) -> BlockingRedisCluster:
    nodes = [ClusterNode(host, port) for host, port in at.hosts]  # type: ignore[no-untyped-call]
    return BlockingRedisCluster(startup_nodes=nodes, **_of(at), **options)


def _waits(client: AsyncRedis, waiting: Waiting | None) -> AsyncRedis:
    client.waiting = waiting or for_ever()
    return client


def _options() -> dict[str, Any]:
    """redis-py does not retry: our client does."""
    return {**_TIMEOUTS, "retry": AsyncRetry(NoBackoff(), 0)}


def _of(at: RedisAddress) -> dict[str, Any]:
    return {**at.login, **at.tls}


def _sentinel_options(at: RedisAddress) -> dict[str, Any]:
    return {**_SENTINEL_TIMEOUTS, **at.sentinel_login, **at.tls}

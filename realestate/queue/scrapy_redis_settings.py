"""Settings of scrapy-redis and of Scrapy's own scheduler that the queue cannot honour: each is named in a warning."""

import logging
from collections.abc import Iterator, Mapping

from scrapy.settings import BaseSettings

from realestate.queue.request_queue import RequestQueue

logger = logging.getLogger(__name__)

QUEUE_CLASS = f"{RequestQueue.__module__}.{RequestQueue.__qualname__}"

_KEYS = "the names of the keys are fixed (docs/queue.md); use another spider name or another Redis database"
_IN_REDIS = "all requests are in Redis; remove the setting"

#: Settings that change nothing here, and what to do instead.
IGNORED = {
    "SCHEDULER_FLUSH_ON_START": "other workers may be using the queue; to start afresh, stop all workers and delete "
    "the keys `{<spider>}:*`",
    "SCHEDULER_QUEUE_KEY": _KEYS,
    "SCHEDULER_DUPEFILTER_KEY": _KEYS,
    "DUPEFILTER_KEY": _KEYS,
    "SCHEDULER_DUPEFILTER_CLASS": "use DUPEFILTER_CLASS",
    "SCHEDULER_SERIALIZER": "requests are stored as MessagePack, which cannot run code; use plain values in meta and "
    "cb_kwargs",
    "DUPEFILTER_DEBUG": "Redis finds duplicates; `realestate status` counts them",
    "SCHEDULER_DEBUG": "log level DEBUG of `realestate.queue` shows what the queue does",
    "SCHEDULER_DISK_QUEUE": _IN_REDIS,
    "SCHEDULER_MEMORY_QUEUE": _IN_REDIS,
    "SCHEDULER_PRIORITY_QUEUE": "the order is priority, then arrival; use Request.priority or DEPTH_PRIORITY",
    "SCHEDULER_START_DISK_QUEUE": _IN_REDIS,
    "SCHEDULER_START_MEMORY_QUEUE": _IN_REDIS,
    "JOBDIR": "requests and fingerprints are in Redis and survive a restart; only `spider.state` is stored there",
    "REDIS_START_URLS_BATCH_SIZE": "seeds are taken one by one, so that none is lost; remove the setting",
}
#: Parameters of the Redis client in REDIS_PARAMS that change nothing here.
_IGNORED_PARAMS = ("redis_cls", "decode_responses", "socket_timeout", "socket_connect_timeout", "retry_on_timeout")


def warn_of_ignored(settings: BaseSettings, others: Mapping[str, str] | None = None) -> None:
    """One line for each setting that the project sets and the queue cannot honour; or which `others` names instead."""
    found = ignored(settings) if others is None else named(settings, others)
    for name, advice in found:
        logger.warning("queue/setting_ignored: %s: %s", name, advice)


def named(settings: BaseSettings, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Those that the project sets, with their advice."""
    for name, advice in names.items():
        if is_set(settings, name):
            yield name, advice


def ignored(settings: BaseSettings) -> Iterator[tuple[str, str]]:
    yield from named(settings, IGNORED)
    if is_set(settings, "SCHEDULER_PERSIST", also_false=True) and not settings.getbool("SCHEDULER_PERSIST"):
        yield (
            "SCHEDULER_PERSIST = False",
            "a worker that stops never clears the queue, which others use; the fingerprints are deleted when the crawl "
            "is over and the spider closes by itself",
        )
    params = settings.getdict("REDIS_PARAMS")
    for name in _IGNORED_PARAMS:
        if name in params:
            yield f"REDIS_PARAMS[{name!r}]", "the queue makes its connection with fixed timeouts"


def replace_queue_class(settings: BaseSettings) -> None:
    """A queue of scrapy-redis has no leases: use ours, and say so."""
    given = settings.get("SCHEDULER_QUEUE_CLASS")
    if isinstance(given, str) and given.startswith("scrapy_redis."):
        order = "use Request.priority or DEPTH_PRIORITY for another order"
        logger.warning(
            "queue/setting_ignored: SCHEDULER_QUEUE_CLASS = %s: %s is used instead; %s", given, QUEUE_CLASS, order
        )
        settings.set("SCHEDULER_QUEUE_CLASS", QUEUE_CLASS, priority=settings.getpriority("SCHEDULER_QUEUE_CLASS") or 0)


def is_set(settings: BaseSettings, name: str, *, also_false: bool = False) -> bool:
    """Whether the project sets it, and to something that would have an effect."""
    if not (settings.getpriority(name) or 0) > 0:
        return False
    value = settings.get(name)
    if value in ("0", "False", "false"):
        value = False
    return value is not None and (also_false or bool(value))

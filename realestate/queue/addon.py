"""The Scrapy add-on that installs what leases, rate limits and dead letters need.

SCHEDULER = "realestate.queue.scheduler.Scheduler"
DUPEFILTER_CLASS = "realestate.queue.dupefilter.DupeFilter"
ADDONS = {"realestate.queue.addon.QueueAddon": 100}
"""

import logging
from typing import Any

from scrapy.settings import BaseSettings

from realestate.queue.heartbeat import Heartbeat
from realestate.queue.leases import LeaseMiddleware
from realestate.queue.send_slots import SendSlotMiddleware

logger = logging.getLogger(__name__)

#: Lower than the number of any other spider middleware: nearest to the engine.
LEASE_ORDER = -10_000
#: Higher than the number of any other downloader middleware: nearest to the site.
SEND_SLOT_ORDER = 10_000
HEARTBEAT_ORDER = 500

#: Used where a project does not set them. docs/settings.md explains each.
DEFAULTS: dict[str, Any] = {
    "SCHEDULER_QUEUE_CLASS": "realestate.queue.request_queue.RequestQueue",
    "DUPEFILTER_EXPECTED": 1_000_000,
    "DUPEFILTER_KEEP_SECONDS": 7 * 24 * 3600,
    "DUPEFILTER_SCOPE": "job",
    "DUPEFILTER_LAST_SEEN": False,
    "DEADLETTERS_KEEP": 10_000,
    "LEASE_SECONDS": 9.0,
    "HEARTBEAT_SECONDS": 1.0,
    "POISON_WORKERS": 3,
    "RETRY_DELAY_SECONDS": 2.0,
    "RATE_LIMIT": 0.0,
    "RATE_LIMIT_BURST": 1,
    "RATE_LIMIT_CONCURRENCY": 0,
    "RATE_LIMIT_JITTER": 0.1,
    "RATE_LIMIT_AHEAD_SECONDS": 2.0,
    "RATE_LIMIT_RECOVER_SECONDS": 30.0,
}

#: Settings of scrapy-redis that have no effect here, and why.
WITHOUT_EFFECT = {
    "SCHEDULER_FLUSH_ON_START": "other workers may be using the queue; delete its keys yourself",
    "SCHEDULER_IDLE_BEFORE_CLOSE": "workers wait without blocking; MAX_IDLE_TIME_BEFORE_CLOSE works",
    "SCHEDULER_SERIALIZER": "requests are stored as msgpack",
    "SCHEDULER_QUEUE_KEY": "the keys are those of realestate/queue/keys.py",
    "SCHEDULER_DUPEFILTER_KEY": "the keys are those of realestate/queue/keys.py",
}


class QueueAddon:
    """Installs the lease middleware, the send slots and the heartbeat, with their default settings."""

    def update_settings(self, settings: BaseSettings) -> None:
        for name, value in DEFAULTS.items():
            if name not in settings:
                settings.set(name, value, priority="addon")
        self._replace_queue_class(settings)
        self._warn_of_settings_without_effect(settings)
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", LeaseMiddleware, LEASE_ORDER)
        settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", SendSlotMiddleware, SEND_SLOT_ORDER)
        settings.setdefault_in_component_priority_dict("EXTENSIONS", Heartbeat, HEARTBEAT_ORDER)

    def _replace_queue_class(self, settings: BaseSettings) -> None:
        """A queue of scrapy-redis knows no leases."""
        given = str(settings["SCHEDULER_QUEUE_CLASS"])
        if given.startswith("scrapy_redis."):
            ours = DEFAULTS["SCHEDULER_QUEUE_CLASS"]
            logger.warning("queue/setting: SCHEDULER_QUEUE_CLASS is %s instead of %s, which has no leases", ours, given)
            settings.set("SCHEDULER_QUEUE_CLASS", ours, priority=settings.getpriority("SCHEDULER_QUEUE_CLASS") or 0)

    def _warn_of_settings_without_effect(self, settings: BaseSettings) -> None:
        for name, why in WITHOUT_EFFECT.items():
            if settings.get(name):
                logger.warning("queue/setting: %s has no effect: %s", name, why)
        if settings.get("SCHEDULER_PERSIST") is not None and not settings.getbool("SCHEDULER_PERSIST"):
            logger.warning("queue/setting: SCHEDULER_PERSIST = False has no effect: all workers share the queue")

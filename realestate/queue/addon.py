"""The Scrapy add-on that installs what leases, rate limits and dead letters need.

SCHEDULER = "realestate.queue.scheduler.Scheduler"
DUPEFILTER_CLASS = "realestate.queue.dupefilter.DupeFilter"
ADDONS = {"realestate.queue.addon.QueueAddon": 100}
"""

from typing import Any

from scrapy.settings import BaseSettings

from realestate.queue.heartbeat import Heartbeat
from realestate.queue.leases import ItemPipeline, LeaseMiddleware, ResponseMiddleware
from realestate.queue.schemes import DEFAULT as WEB_SCHEMES
from realestate.queue.schemes import switch_off_handlers
from realestate.queue.scrapy_redis_settings import QUEUE_CLASS, replace_queue_class, warn_of_ignored
from realestate.queue.seed_middleware import SeedMiddleware
from realestate.queue.send_slots import SendSlotMiddleware

#: Lower than the number of any other spider middleware: nearest to the engine.
LEASE_ORDER = -10_000
#: Higher than the number of any other spider middleware: nearest to the spider.
SEED_ORDER = 10_000
#: Higher than the number of any other downloader middleware: nearest to the site.
SEND_SLOT_ORDER = 10_000
#: Nearer still: it sees a response before any other middleware reads it.
RESPONSE_ORDER = 10_001
#: Lower than the number of any other item pipeline.
ITEM_ORDER = -10_000
HEARTBEAT_ORDER = 500

#: Used where a project does not set them. docs/settings.md explains each.
DEFAULTS: dict[str, Any] = {
    "ALLOWED_SCHEMES": list(WEB_SCHEMES),
    "SCHEDULER_QUEUE_CLASS": QUEUE_CLASS,
    "DUPEFILTER_EXPECTED": 1_000_000,
    "DUPEFILTER_KEEP_SECONDS": 7 * 24 * 3600,
    "DUPEFILTER_SCOPE": "job",
    "DUPEFILTER_LAST_SEEN": False,
    "DEADLETTERS_KEEP": 10_000,
    "LEASE_SECONDS": 9.0,
    "HEARTBEAT_SECONDS": 1.0,
    "POISON_WORKERS": 3,
    "PAGE_CPU_SECONDS": 5.0,
    "RETRY_DELAY_SECONDS": 2.0,
    "RATE_LIMIT": 0.0,
    "RATE_LIMIT_BURST": 1,
    "RATE_LIMIT_CONCURRENCY": 0,
    "RATE_LIMIT_JITTER": 0.1,
    "RATE_LIMIT_AHEAD_SECONDS": 2.0,
    "RATE_LIMIT_RECOVER_SECONDS": 30.0,
}


class QueueAddon:
    """Installs leases, seeds, send slots and heartbeats with their default settings, and warns of ignored settings."""

    def update_settings(self, settings: BaseSettings) -> None:
        for name, value in DEFAULTS.items():
            if name not in settings:
                settings.set(name, value, priority="addon")
        replace_queue_class(settings)
        warn_of_ignored(settings)
        switch_off_handlers(settings)
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", LeaseMiddleware, LEASE_ORDER)
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", SeedMiddleware, SEED_ORDER)
        settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", SendSlotMiddleware, SEND_SLOT_ORDER)
        settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", ResponseMiddleware, RESPONSE_ORDER)
        settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", ItemPipeline, ITEM_ORDER)
        settings.setdefault_in_component_priority_dict("EXTENSIONS", Heartbeat, HEARTBEAT_ORDER)

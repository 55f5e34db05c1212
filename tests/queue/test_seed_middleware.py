"""Seeds of ordinary spiders: each becomes requests in the queue, or a dead letter; none is lost."""

import asyncio
import json
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from redis import Redis
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy_redis.spiders import RedisSpider

from realestate.queue import keys
from realestate.queue.addon import QueueAddon
from realestate.queue.fleet import fleet_of
from realestate.queue.scheduler import Scheduler
from realestate.queue.seed_middleware import SeedMiddleware

SETTINGS = {
    "SCHEDULER": "realestate.queue.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "realestate.queue.dupefilter.DupeFilter",
    "MAX_IDLE_TIME_BEFORE_CLOSE": 1,
    "TWISTED_REACTOR_ENABLED": False,
}


class ListsSpider(RedisSpider):  # type: ignore[misc]
    """A seed is a JSON list of addresses."""

    name = "lists"

    def make_request_from_data(self, data: bytes) -> list[Request]:
        return [Request(url) for url in json.loads(data)]


class StartSpider(Spider):
    name = "plain"
    start_urls = ["https://x.example/1", "https://x.example/2"]  # noqa: RUF012


def started(kind: type[Spider], redis_url: str, drop: str = "", **changes: Any) -> list[str]:
    """The addresses of the requests that reach the engine from the start of a spider, until it would close."""

    async def inside() -> list[str]:
        settings = Settings({**SETTINGS, "REDIS_URL": redis_url, **changes})
        crawler = Crawler(kind, settings)
        QueueAddon().update_settings(crawler.settings)
        crawler._apply_settings()
        spider = crawler.spider = kind.from_crawler(crawler)
        scheduler = Scheduler.from_crawler(crawler)
        crawler.engine = SimpleNamespace(  # type: ignore[assignment]
            downloader=SimpleNamespace(active=set()), scraper=SimpleNamespace(slot=None), _slot=None
        )
        scheduler.open(spider)
        middleware = SeedMiddleware.from_crawler(crawler)
        found: list[str] = []
        served = asyncio.create_task(_settle_everything(scheduler))
        async for request in middleware.process_start(spider.start()):
            found.append(request.url)
            if not drop or drop not in request.url:
                scheduler.enqueue_request(request)
        served.cancel()
        fleet = fleet_of(crawler)
        assert fleet is not None
        assert not fleet.serving
        await fleet.close()
        return found

    return asyncio.run(asyncio.wait_for(inside(), 60))


async def _settle_everything(scheduler: Scheduler) -> None:
    """What the engine does with requests: here each is done at once."""
    while True:
        if (request := scheduler.next_request()) is not None:
            scheduler.fleet.finished(request)
        await asyncio.sleep(0.01)


def seeds_left(server: Redis, spider: str) -> list[str]:
    """The keys with seeds, without those that say that a call was executed."""
    found = sorted(name.decode() for name in server.scan_iter(match=f"*{spider}:start_urls*"))
    return [name for name in found if ":removed:" not in name]


def test_all_requests_of_a_seed_are_in_the_queue_before_it_is_removed(redis_url: str, server: Redis) -> None:
    server.rpush("lists:start_urls", json.dumps(["https://x.example/1", "https://x.example/2"]), json.dumps([]))
    assert started(ListsSpider, redis_url) == ["https://x.example/1", "https://x.example/2"]
    assert seeds_left(server, "lists") == []
    assert server.hget(keys.counts("lists", "none"), "none:done") == b"2"


def test_a_seed_that_the_spider_cannot_read_becomes_a_dead_letter(redis_url: str, server: Redis) -> None:
    server.rpush("lists:start_urls", "nonsense", json.dumps(["https://x.example/1"]))
    assert started(ListsSpider, redis_url) == ["https://x.example/1"]
    assert seeds_left(server, "lists") == []
    found: Any = server.hvals(keys.dead_letters("lists"))
    (letter,) = map(json.loads, found)
    assert (letter["reason"], letter["seed"], letter["seeds_key"]) == ("seed", "nonsense", "lists:start_urls")


def test_a_seed_whose_request_a_middleware_drops_is_removed(redis_url: str, server: Redis) -> None:
    server.rpush("lists:start_urls", json.dumps(["https://x.example/1", "https://x.example/2"]))
    assert len(started(ListsSpider, redis_url, drop="/2")) == 2
    assert seeds_left(server, "lists") == []


def test_a_spider_without_seeds_closes_when_nothing_is_left(redis_url: str, server: Redis) -> None:
    assert started(StartSpider, redis_url) == StartSpider.start_urls
    assert server.hget(keys.counts("plain", "none"), "none:done") == b"2"


@pytest.mark.parametrize(("persists", "remembered"), [(True, True), (False, False)])
def test_fingerprints_stay_after_the_crawl_only_if_it_persists(
    redis_url: str, server: Redis, persists: bool, remembered: bool
) -> None:
    server.rpush("lists:start_urls", json.dumps(["https://x.example/1"]))
    started(ListsSpider, redis_url, SCHEDULER_PERSIST=persists)
    assert bool(list(server.scan_iter(match="{lists}:seen:*"))) is remembered


def test_a_command_of_scrapy_takes_no_seeds(redis_url: str, server: Redis) -> None:
    async def start(spider: Spider) -> AsyncIterator[Request]:
        yield Request("https://x.example/fetched")

    start.__module__ = "scrapy.commands.fetch"
    fetched = type("Fetched", (ListsSpider,), {"start": start})
    server.rpush("lists:start_urls", json.dumps(["https://x.example/1"]))
    assert started(fetched, redis_url) == ["https://x.example/fetched"]
    assert server.llen("lists:start_urls") == 1

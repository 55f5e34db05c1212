"""An ordinary scrapy-redis project uses the queue by three settings, and keeps its spiders, pipelines and options."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from realestate.queue import keys
from tests.end_to_end.bookshop_site import PAGES, Shop, running_shop
from tests.end_to_end.conftest import PATIENCE, PYTHON, ROOT, Worker, dead_letters, until

PROJECT = ROOT / "tests" / "example_project"
#: The two workers together. One crawl takes some seconds, so there is a middle in which a worker can be killed.
RATE = 20


@pytest.fixture
def shop() -> Iterator[Shop]:
    with running_shop() as shop:
        yield shop


@contextmanager
def crawling(spider: str, redis_url: str, log: Path, *options: str) -> Iterator[Worker]:
    """`scrapy crawl` in the folder of the project."""
    settings = {"REDIS_URL": redis_url, "LEASE_SECONDS": 1.5, "HEARTBEAT_SECONDS": 0.3, "RETRY_DELAY_SECONDS": 0.1}
    changes = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    command = [PYTHON, "-m", "scrapy", "crawl", spider, *changes, *options]
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=variables, stdout=output, stderr=subprocess.STDOUT, cwd=PROJECT)
    try:
        yield Worker(process, log)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def delivered(server: Redis, spider: str) -> list[dict[str, Any]]:
    """The items that the project's own pipeline has written."""
    found: Any = server.lrange(f"{spider}:books", 0, -1)
    return [json.loads(item) for item in found]


def shown_dead_letters(redis_url: str, spider: str) -> list[dict[str, Any]]:
    """The dead letters, as the command shows them."""
    command = [PYTHON, "-m", "realestate", "deadletters", "list", spider, "--json"]
    shown = subprocess.run(
        command, env={**os.environ, "REDIS_URL": redis_url}, cwd=ROOT, capture_output=True, check=True
    )
    found: list[dict[str, Any]] = json.loads(shown.stdout)
    return found


@pytest.mark.parametrize(
    ("spider", "seeds"),
    [
        pytest.param("books", "bookshop:start_urls", id="RedisSpider"),
        pytest.param("catalogue", "catalogue:start_urls", id="RedisCrawlSpider"),
    ],
)
def test_a_spider_survives_the_kill_of_a_worker(
    spider: str, seeds: str, shop: Shop, redis_url: str, server: Redis, tmp_path: Path
) -> None:
    options = ("-a", "shelf=fiction", "-s", f"RATE_LIMIT={RATE}", "-s", "MAX_IDLE_TIME_BEFORE_CLOSE=2")
    server.rpush(seeds, f"{shop.url}/page/0", json.dumps({"url": f"{shop.url}/page/1"}))
    with ExitStack() as stack:
        workers = [
            stack.enter_context(crawling(spider, redis_url, tmp_path / f"{number}.log", *options))
            for number in range(2)
        ]
        until(lambda: server.hlen(keys.heartbeats(spider)) == 2, "two workers")
        until(lambda: len(delivered(server, spider)) >= 10, "the middle of the crawl")
        killed, survivor = workers
        killed.process.send_signal(signal.SIGKILL)
        assert survivor.process.wait(PATIENCE) == 0, "it closes by itself when nothing is left"
    books = delivered(server, spider)
    assert {book["url"] for book in books} == shop.books, "every book at least once"
    assert {book["shelf"] for book in books} == {"fiction"}, "-a"
    assert shop.clients == {"bookshop-crawler"}, "her own downloader middleware"
    fetched = shop.fetched()
    again = {path for path, times in fetched.items() if times > 1 and "broken" not in path and "page" not in path}
    assert len(again) <= 8, "only what the killed worker had begun is fetched twice"
    assert fetched["/book/broken"] >= 3, "RETRY_TIMES = 2"
    assert shop.most_per_second() <= RATE * 1.2 + 1, "one rate limit for both workers"
    (dead,) = shown_dead_letters(redis_url, spider)
    assert (dead["reason"], dead["url"]) == ("http", f"{shop.url}/book/broken")
    assert server.hlen(keys.requests(spider)) == 1, "nothing but the dead letter is left"


def test_a_crawl_spider_keeps_its_options(shop: Shop, redis_url: str, server: Redis, tmp_path: Path) -> None:
    feed = tmp_path / "books.jsonl"
    options = (
        *("-a", "shelf=history", "-o", str(feed)),
        *("-s", "HTTPCACHE_ENABLED=1", "-s", f"HTTPCACHE_DIR={tmp_path / 'cache'}"),
        *("-s", "AUTOTHROTTLE_ENABLED=1", "-s", "AUTOTHROTTLE_START_DELAY=0.01", "-s", "AUTOTHROTTLE_MAX_DELAY=0.02"),
        *("-s", "REDIS_START_URLS_AS_SET=1", "-s", "HTTPCACHE_IGNORE_HTTP_CODES=500"),
        *("-s", "SCHEDULER_FLUSH_ON_START=1", "-s", "SCHEDULER_QUEUE_CLASS=scrapy_redis.queue.LifoQueue"),
    )
    for number in range(2):
        server.sadd("catalogue:start_urls", f"{shop.url}/page/0")
        with crawling("catalogue", redis_url, tmp_path / f"{number}.log", *options) as worker:
            assert worker.process.wait(PATIENCE) == 0
    stats = worker.stats()
    pages = PAGES + 1  # a seed is not filtered, so a link to it is followed once more, as in scrapy-redis
    assert stats["httpcache/hit"] == len(shop.books) + pages, "the second crawl fetches all again, from the cache"
    once = {path: times for path, times in shop.fetched().items() if "broken" not in path}
    assert set(once.values()) == {1}, "no page twice in one crawl, though every page leads to every other"
    items = [json.loads(line) for line in feed.read_text("utf-8").splitlines()]
    assert len(items) == 2 * len(shop.books), "-o"
    assert {item["url"] for item in items} == shop.books
    assert {item["shelf"] for item in items} == {"history"}
    assert len(delivered(server, "catalogue")) == 2 * len(shop.books)
    assert {letter["reason"] for letter in dead_letters(redis_url, "catalogue")} == {"http"}, (
        "a rule without an errback"
    )
    for name in ("SCHEDULER_FLUSH_ON_START", "SCHEDULER_QUEUE_CLASS"):
        assert f"WARNING: queue/setting_ignored: {name}" in worker.text()
    assert "AutoThrottle" in worker.text()
    assert "Traceback" not in worker.text()

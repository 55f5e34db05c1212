from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis
from scrapy import Request
from scrapy.crawler import Crawler

from realestate.queue import keys
from realestate.queue.deadletters import DeadLetters
from realestate.queue.scheduler import Scheduler
from realestate.spiders.immoweb import ImmowebSpider
from tests.redis_process import RedisProcess

MakeScheduler = Callable[..., Scheduler]


@pytest.fixture
def make_scheduler(redis_url: str, server: Redis, make_crawler: Callable[..., Crawler]) -> MakeScheduler:
    def make(**changes: Any) -> Scheduler:
        crawler = make_crawler(ImmowebSpider, **{"REDIS_URL": redis_url, **changes})
        scheduler = Scheduler.from_crawler(crawler)
        scheduler.open(ImmowebSpider.from_crawler(crawler))
        return scheduler

    return make


def request(number: int = 1, **parts: Any) -> Request:
    return Request(f"https://www.immoweb.be/{number}", **parts)


def test_what_one_worker_enqueues_another_takes(make_scheduler: MakeScheduler) -> None:
    one, other = make_scheduler(), make_scheduler()
    other.serve()
    assert one.enqueue_request(request())
    taken = other.next_request()
    assert taken is not None
    assert taken.url == request().url
    assert other.next_request() is None


def test_a_job_fetches_a_page_once_and_another_job_again(make_scheduler: MakeScheduler) -> None:
    one, other = make_scheduler(), make_scheduler()
    assert one.enqueue_request(request(meta={"job": "a"}))
    assert not other.enqueue_request(request(meta={"job": "a"}))
    assert other.enqueue_request(request(meta={"job": "b"}))
    assert other.enqueue_request(request(meta={"job": "a"}, dont_filter=True))


def test_a_jobs_fingerprints_expire(make_scheduler: MakeScheduler, server: Redis) -> None:
    make_scheduler(DUPEFILTER_KEEP_SECONDS=100).enqueue_request(request(meta={"job": "a"}))
    assert 0 < server.ttl(keys.seen("immoweb", "a")) <= 100


def test_nothing_is_taken_before_the_spider_serves(make_scheduler: MakeScheduler, server: Redis) -> None:
    scheduler = make_scheduler()
    scheduler.enqueue_request(request())
    assert scheduler.next_request() is None
    assert server.zcard(keys.requests("immoweb")) == 1


def test_a_shells_request_stays_in_its_process(make_scheduler: MakeScheduler, server: Redis) -> None:
    scheduler = make_scheduler()
    own = request(callback=lambda response: None)
    assert scheduler.enqueue_request(own)
    assert scheduler.next_request() is own
    assert server.zcard(keys.requests("immoweb")) == 0


def test_a_worker_that_ends_leaves_the_queue_and_what_was_seen(make_scheduler: MakeScheduler, server: Redis) -> None:
    scheduler = make_scheduler()
    scheduler.enqueue_request(request(meta={"job": "a"}))
    scheduler.close("finished")
    assert server.zcard(keys.requests("immoweb")) == 1
    assert server.exists(keys.seen("immoweb", "a"))


def test_a_malformed_value_becomes_a_dead_letter_and_the_next_is_taken(
    make_scheduler: MakeScheduler, server: Redis
) -> None:
    scheduler = make_scheduler()
    scheduler.serve()
    server.zadd(keys.requests("immoweb"), {b"garbage": -1000})
    scheduler.enqueue_request(request())
    taken = scheduler.next_request()
    assert taken is not None
    assert taken.url == request().url
    (letter,) = DeadLetters(server, "immoweb", 10).newest()
    assert (letter["reason"], letter["value"]) == ("malformed", "b'garbage'")


def test_no_more_dead_letters_are_kept_than_allowed(make_scheduler: MakeScheduler, server: Redis) -> None:
    scheduler = make_scheduler(DEADLETTERS_KEEP=3)
    for number in range(5):
        scheduler.give_up("http", f"status {number}", url="https://x.example/")
    letters = DeadLetters(server, "immoweb", 3)
    assert len(letters) == 3
    assert [letter["error"] for letter in letters.newest()] == ["status 4", "status 3", "status 2"]


def test_while_redis_is_away_nothing_is_raised_and_nothing_lost(
    make_scheduler: MakeScheduler, redis_process: RedisProcess
) -> None:
    scheduler = make_scheduler(REDIS_URL=redis_process.url)
    scheduler.serve()
    assert scheduler.enqueue_request(request(1))
    scheduler.give_up("http", "status 500", url="https://x.example/")
    assert scheduler.next_request() is None
    assert scheduler.held == 1

    redis_process.start()
    assert scheduler.enqueue_request(request(2))
    redis_process.stop()
    assert scheduler.enqueue_request(request(3))

    redis_process.start()
    taken = [scheduler.next_request() for _ in range(4)]
    assert {each and each.url for each in taken} == {request(1).url, request(2).url, request(3).url, None}
    assert len(DeadLetters(scheduler.server, "immoweb", 10)) == 1

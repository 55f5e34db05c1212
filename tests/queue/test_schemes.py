"""No request with another scheme than http and https is stored, taken or sent, unless the project allows it."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotSupported
from scrapy.http import Response
from scrapy.settings import Settings

from realestate import settings as project_settings
from realestate.middlewares.snapshots import SnapshotMiddleware, SnapshotSettings, Watched
from realestate.queue import keys
from realestate.queue.addon import QueueAddon
from realestate.queue.codec import MalformedRequest, decode, encode
from realestate.queue.dead_letters import DeadLetters
from realestate.queue.engine import LEASE
from realestate.queue.ledger import NO_HOLD
from realestate.queue.scheduler import Scheduler
from realestate.queue.schemes import ForbiddenScheme, Schemes
from realestate.spiders.immoweb import ImmowebSpider
from tests.queue.test_scheduler import Run, listing, run, taken, until, where

__all__ = ["run"]

FORBIDDEN = ["file:///etc/passwd", "FILE:///etc/passwd", "data:text/html,x", "ftp://example.org/x", "s3://bucket/key"]


@pytest.mark.parametrize("url", FORBIDDEN)
def test_a_value_in_the_queue_with_another_scheme_is_malformed(url: str) -> None:
    spider = ImmowebSpider()
    data = encode(Request(url, callback=spider.read_page, dont_filter=True), spider)
    with pytest.raises(MalformedRequest, match="scheme"):
        decode(data, spider)
    assert decode(data, spider, Schemes([url.partition(":")[0]])).url == url.replace("FILE", "file")


@pytest.mark.parametrize("url", FORBIDDEN)
def test_a_request_with_another_scheme_is_not_stored(run: Run, server: Redis, url: str) -> None:
    async def act(scheduler: Scheduler) -> Any:
        fleet = scheduler.fleet
        assert not scheduler.enqueue_request(listing(scheduler, url=url, dont_filter=True))
        assert not scheduler.enqueue_request(Request(url, callback=print)), "nor kept in this process"
        await fleet.push([listing(scheduler, url=url)])
        with pytest.raises(ForbiddenScheme):
            fleet.check(Request(url))
        await fleet.outbox.flush()
        assert not fleet.local
        return fleet.stats.get_value("queue/forbidden_scheme")

    assert run(act) == 3
    assert where(server) == {}


def test_a_request_that_goes_on_to_another_scheme_becomes_a_dead_letter(run: Run, server: Redis) -> None:
    async def act(scheduler: Scheduler) -> Any:
        request = await taken(scheduler)
        assert LEASE in request.meta
        assert not scheduler.enqueue_request(request.replace(url="file:///etc/passwd"))
        await scheduler.fleet.outbox.flush()
        (letter,) = await DeadLetters(scheduler.fleet.queue).newest()
        return letter.details

    details = run(act)
    assert (details["reason"], details["url"]) == ("address", "file:///etc/passwd")
    assert where(server) == {"dead": 1}


def test_a_forged_value_in_the_queue_becomes_a_dead_letter(run: Run, server: Redis) -> None:
    async def act(scheduler: Scheduler) -> Any:
        scheduler.fleet.schemes = Schemes(["http", "https", "file"])
        scheduler.enqueue_request(listing(scheduler, url="file:///etc/passwd", dont_filter=True))
        await scheduler.fleet.outbox.flush()
        assert where(server) == {"ready": 1}
        scheduler.fleet.schemes = Schemes()
        scheduler.fleet.serve()
        assert scheduler.next_request() is None
        await until(lambda: scheduler.next_request() or server.zcard(keys.dead_letter_times("immoweb")))
        (letter,) = await DeadLetters(scheduler.fleet.queue).newest()
        return letter.details["reason"]

    assert run(act) == "malformed"


def test_the_project_has_handlers_for_http_only(make_crawler: Callable[..., Crawler]) -> None:
    crawler = make_crawler(ImmowebSpider)
    handlers = crawler.settings.getwithbase("DOWNLOAD_HANDLERS")
    assert {scheme for scheme, handler in handlers.items() if handler} == {"http", "https"}
    assert {scheme for scheme, handler in project_settings.DOWNLOAD_HANDLERS.items() if handler} == {"http", "https"}


@pytest.mark.parametrize("url", ["file:///etc/passwd", "data:,x", "ftp://example.org/x", "s3://bucket/key"])
def test_the_downloader_reads_no_files(make_crawler: Callable[..., Crawler], url: str) -> None:
    from scrapy.core.downloader.handlers import DownloadHandlers

    async def work() -> None:
        handlers = DownloadHandlers(make_crawler(ImmowebSpider))
        with pytest.raises(NotSupported):
            await handlers.download_request_async(Request(url))

    asyncio.run(work())


def test_another_project_may_allow_other_schemes() -> None:
    own = {"sftp": "bookshop.handlers.Sftp"}
    by_default, allowed = Settings({"DOWNLOAD_HANDLERS": own}), Settings({"DOWNLOAD_HANDLERS": own})
    allowed.set("ALLOWED_SCHEMES", "http,https,file,sftp", "project")
    for settings in (by_default, allowed):
        QueueAddon().update_settings(settings)
    on = [
        {name for name, path in each.getwithbase("DOWNLOAD_HANDLERS").items() if path} for each in (by_default, allowed)
    ]
    assert on == [{"http", "https"}, {"http", "https", "file", "sftp"}]


@pytest.mark.parametrize(("url", "kind"), [("file:///etc/passwd", None), ("https://www.immoweb.be/", "failed")])
def test_a_raw_page_is_always_of_http(make_crawler: Callable[..., Crawler], url: str, kind: str | None) -> None:
    crawler = make_crawler(ImmowebSpider)
    middleware = SnapshotMiddleware(crawler, SnapshotSettings.from_settings(crawler.settings))
    response = Response(url, body=b"root:x:0:0", request=Request(url))
    assert middleware._kind(Watched(response, NO_HOLD, failed=True)) == kind

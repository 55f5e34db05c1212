"""robots.txt: which rules a response stands for; who fetches the file, and who waits. With a real queue."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from redis import Redis
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadTimeoutError, IgnoreRequest, NotConfigured
from scrapy.http import Response, TextResponse

from realestate.middlewares import robots
from realestate.middlewares.robots import (
    MAX_DELAY_SECONDS,
    MAX_REDIRECTS,
    MAX_WAIT_SECONDS,
    WAITED,
    Forbidden,
    RobotRules,
    RobotsMiddleware,
    origin_of,
    robots_text,
    wait_seconds,
)
from realestate.parsing.robots_texts import MAX_BYTES
from realestate.queue import keys
from realestate.queue.buffer import monotonic_ms
from realestate.queue.engine import LEASE
from realestate.queue.packing import DELAY
from realestate.queue.refetch import PROXY_ID, SENT
from realestate.queue.scheduler import Scheduler
from realestate.spiders.immoweb import ImmowebSpider

SITE = "https://www.immoweb.be"
PAGE, PRIVATE = f"{SITE}/en/classified/21000001", f"{SITE}/private/1"
TEXT = b"User-agent: *\nDisallow: /private\n"
BAN_PAGE = b"<html><title>Just a moment...</title></html>"


class Worker:
    """A worker of the fleet, and a site with given responses."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.responses: Iterator[Any] = iter(())
        self.fetched: list[Request] = []
        spider = crawler.spider = ImmowebSpider.from_crawler(crawler)
        self.scheduler = Scheduler.from_crawler(crawler)
        crawler.engine = SimpleNamespace(  # type: ignore[assignment]
            scheduler=self.scheduler, download_async=self.download, _slot=None
        )
        self.scheduler.open(spider)
        self.middleware = RobotsMiddleware.from_crawler(crawler)

    def respond(self, *responses: Any) -> None:
        self.responses = iter(responses)

    async def download(self, request: Request) -> Response:
        self.fetched.append(request)
        await asyncio.sleep(0.01)
        result = next(self.responses)
        if isinstance(result, Exception):
            raise result
        status, body, *headers = result
        return TextResponse(request.url, status, dict(headers), body)

    async def register(self) -> None:
        asked_at = monotonic_ms()
        reply = await self.scheduler.fleet.queue.heartbeat(self.scheduler.fleet.worker, b"{}", [])
        self.scheduler.fleet.buffer.set_clock(reply.now, asked_at)

    async def check(self, url: str = PAGE, /, **meta: Any) -> Any:
        """The seconds that a request has to wait; None if it may be sent; or the text of the error."""
        request = Request(url, meta={LEASE: "a:1", "stage": "extract", **meta})
        try:
            again = await self.middleware.process_request(request)
        except Forbidden as error:
            return str(error)
        if again is None:
            return None
        assert again is not request
        self.waited = again.meta.get(WAITED)
        return again.meta[DELAY]

    def stat(self, name: str) -> int:
        assert self.crawler.stats is not None
        return int(self.crawler.stats.get_value(f"robotstxt/{name}", 0))

    def later(self, origin: str = SITE) -> None:
        """As if it was time to fetch the file again."""
        with Redis.from_url(self.crawler.settings["REDIS_URL"]) as server:
            server.hset(keys.robots("immoweb", origin), "again_at", 0)
        self.middleware._known.clear()


Run = Callable[..., Any]


@pytest.fixture
def run(redis_url: str, server: Redis, make_crawler: Callable[..., Crawler]) -> Run:
    def inside(act: Callable[..., Awaitable[Any]], workers: int = 1, **changes: Any) -> Any:
        async def connected() -> Any:
            settings = {"REDIS_URL": redis_url, "RATE_LIMIT": 0, "RETRY_TIMES": 0, "RETRY_DELAY_SECONDS": 2, **changes}
            all_workers = [Worker(make_crawler(ImmowebSpider, **settings)) for _ in range(workers)]
            for worker in all_workers:
                await worker.register()
            try:
                return await act(*all_workers)
            finally:
                for worker in all_workers:
                    await worker.scheduler.fleet.close()

        return asyncio.run(connected())

    return inside


def test_robots_txt_is_fetched_once_and_obeyed(run: Run) -> None:
    async def act(worker: Worker) -> None:
        worker.respond((200, TEXT))
        assert await worker.check() is None
        assert [await worker.check(PRIVATE), await worker.check()] == ["Forbidden by robots.txt", None]
        assert [each.url for each in worker.fetched] == [f"{SITE}/robots.txt"]
        assert (worker.stat("forbidden"), worker.stat("request_count"), worker.stat("response_status_count/200")) == (
            1,
            1,
            1,
        )

    run(act)


def test_with_a_rate_limit_the_fetch_uses_slot_and_proxy_of_the_request(run: Run) -> None:
    async def act(worker: Worker) -> None:
        worker.respond((200, TEXT))
        assert await worker.check(PAGE, **{PROXY_ID: "e1", SENT: 7.0}) == 0.0, "back for another slot"
        assert worker.waited is None
        assert (worker.fetched[0].meta[PROXY_ID], worker.fetched[0].meta["dont_obey_robotstxt"]) == ("e1", True)
        assert await worker.check() is None

    run(act, RATE_LIMIT=10)


def test_a_forbidden_request_does_not_wait_for_another_slot(run: Run) -> None:
    async def act(worker: Worker) -> None:
        worker.respond((200, TEXT))
        assert await worker.check(PRIVATE) == "Forbidden by robots.txt"

    run(act, RATE_LIMIT=10)


def test_many_requests_fetch_once_and_the_others_wait_in_the_queue(run: Run) -> None:
    async def act(first: Worker, second: Worker) -> None:
        first.respond((200, TEXT))
        second.respond((200, TEXT))
        results = await asyncio.gather(*(worker.check() for worker in (first, second) for _ in range(5)))
        assert results.count(None) == 1
        assert all(0 < seconds < 1 for seconds in results if seconds is not None)
        assert len(first.fetched) + len(second.fetched) == 1
        await asyncio.sleep(robots.LOOK_AGAIN_MS / 1000)
        assert [await first.check(), await second.check()] == [None, None]
        assert await second.check(PRIVATE) == "Forbidden by robots.txt", "read from Redis"
        assert len(first.fetched) + len(second.fetched) == 1

    run(act, workers=2)


@pytest.mark.parametrize("rate", [0, 10])
def test_each_worker_that_reads_it_sets_the_crawl_delay(run: Run, server: Redis, rate: int) -> None:
    async def crawl_delay(worker: Worker) -> Any:
        await worker.scheduler.fleet._background.finish()
        return server.hget(keys.rate_limit("immoweb"), "crawl_delay")

    async def act(first: Worker, second: Worker) -> None:
        first.respond((200, TEXT + b"Crawl-delay: 3\n"), (200, TEXT))
        assert await first.check() == 0.0, "a site with a delay has a rate limit"
        assert await crawl_delay(first) == b"3000"
        server.delete(keys.rate_limit("immoweb"), "{immoweb}:crawl_delays")
        assert await second.check() is None
        assert await crawl_delay(second) == b"3000"
        first.later()
        assert await first.check() == (0.0 if rate else None)
        assert await crawl_delay(first) is None, "the file has no delay any more"

    run(act, workers=2, RATE_LIMIT=rate)


@pytest.mark.parametrize(
    "result",
    [
        (404, b"no"),
        (410, b""),
        (200, b"<html>Welcome</html>"),
        (200, b""),
        (200, b"\xff\xfe\x00"),
        (300, b"no location"),
    ],
)
def test_a_site_without_rules_allows_everything(run: Run, result: tuple[int, bytes]) -> None:
    async def act(worker: Worker) -> None:
        worker.respond(result)
        assert [await worker.check(), await worker.check(PRIVATE)] == [None, None]

    run(act)


FAILURES = [(503, b"busy"), (500, b""), (403, b"no"), (401, b""), (429, b""), (200, BAN_PAGE), (403, BAN_PAGE)]


@pytest.mark.parametrize("result", [*FAILURES, DownloadTimeoutError("slow"), OSError("reset")], ids=repr)
def test_requests_wait_while_robots_txt_cannot_be_fetched(run: Run, result: Any) -> None:
    async def act(worker: Worker) -> None:
        worker.respond(result, (200, TEXT))
        waits = [await worker.check(), await worker.check()]
        assert all(9.5 < seconds <= 11 for seconds in waits)
        assert worker.waited == 1
        assert len(worker.fetched) == 1, "nobody fetches it too early"
        assert worker.stat("unreachable") == 1
        worker.later()
        assert [await worker.check(), await worker.check(PRIVATE)] == [None, "Forbidden by robots.txt"]

    run(act)


def test_the_wait_doubles_and_the_number_of_waits_is_limited(run: Run) -> None:
    async def act(worker: Worker) -> None:
        worker.respond(*[(503, b"")] * 4)
        for longest in (11, 22, 44):
            assert longest / 1.2 < await worker.check() <= longest
            worker.later()
        assert 60 < await worker.check(PAGE, **{WAITED: 3}) < 90
        assert worker.waited == 4
        assert await worker.check(PAGE, **{WAITED: 4}) == "robots.txt cannot be fetched: status 503"
        assert worker.stat("forbidden") == 0

    run(act)


def test_old_rules_are_used_while_robots_txt_cannot_be_fetched(run: Run) -> None:
    async def act(worker: Worker) -> None:
        worker.respond((200, TEXT), (503, b""))
        assert await worker.check() is None
        worker.later()
        assert [await worker.check(), await worker.check(), await worker.check(PRIVATE)] == [
            None,
            None,
            "Forbidden by robots.txt",
        ]
        assert len(worker.fetched) == 2

    run(act)


def test_a_day_later_one_request_fetches_it_and_the_others_use_the_old_rules(run: Run) -> None:
    async def act(worker: Worker) -> None:
        worker.respond((200, b""), (200, TEXT))
        assert await worker.check() is None
        worker.later()
        assert await asyncio.gather(*(worker.check() for _ in range(5))) == [None] * 5
        assert len(worker.fetched) == 2
        assert await worker.check(PRIVATE) == "Forbidden by robots.txt"

    run(act)


def test_a_worker_reads_the_fleets_copy_again_after_a_while(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(first: Worker, second: Worker) -> None:
        first.respond((200, b""), (200, TEXT))
        assert [await first.check(), await second.check(PRIVATE)] == [None, None]
        first.later()
        await first.check()
        assert await second.check(PRIVATE) is None, "for a while it does not read the copy"
        monkeypatch.setattr(second.scheduler.fleet.buffer, "now", lambda: 10.0**15)
        assert await second.check(PRIVATE) == "Forbidden by robots.txt"

    run(act, workers=2)


def test_redirects_to_other_hosts_are_followed(run: Run) -> None:
    async def act(worker: Worker) -> None:
        there = "https://static.example.com/robots.txt"
        worker.respond((301, b"", ("Location", "/de/robots.txt")), (302, b"", ("Location", there)), (200, TEXT))
        assert await worker.check(PRIVATE) == "Forbidden by robots.txt"
        assert [each.url for each in worker.fetched][1:] == [f"{SITE}/de/robots.txt", there]
        assert all(each.meta["allow_offsite"] for each in worker.fetched)

    run(act)


def test_a_redirect_loop_means_no_rules(run: Run) -> None:
    async def act(worker: Worker) -> None:
        worker.respond(*[(302, TEXT, ("Location", "/robots.txt"))] * 100)
        assert await worker.check(PRIVATE) is None
        assert len(worker.fetched) == 1 + MAX_REDIRECTS

    run(act)


@pytest.mark.parametrize("location", ["ftp://host/robots.txt", "javascript:alert(1)", "http://[", "file:///etc/passwd"])
def test_a_redirect_that_is_not_http_is_a_failure(run: Run, location: str) -> None:
    async def act(worker: Worker) -> None:
        worker.respond((302, b"", ("Location", location)), (200, b""))
        assert await worker.check() > 1
        assert len(worker.fetched) == 1

    run(act)


def test_a_forbidden_host_raises_at_once(run: Run) -> None:
    class Elsewhere(IgnoreRequest):
        reason = "address"

    async def act(worker: Worker) -> None:
        worker.respond(Elsewhere("a private one"), Elsewhere("a private one"))
        for _ in range(2):
            with pytest.raises(Elsewhere):
                await worker.check()
            await asyncio.sleep(robots.LOOK_AGAIN_MS / 1000)

    run(act)


def test_a_refusal_slows_the_fleet_down(run: Run, server: Redis) -> None:
    async def act(worker: Worker) -> None:
        worker.respond((429, b"", ("Retry-After", "30")))
        await worker.check()
        await worker.scheduler.fleet._background.finish()

    run(act)
    state: Any = server.hgetall(keys.rate_limit("immoweb"))
    assert state[b"reason"] == b"robots.txt: status 429"
    assert float(state[b"blocked_until"]) > 0


def test_without_redis_the_last_rules_are_used(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def unavailable(*arguments: Any, **state: Any) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(robots, "REDIS_SECONDS", 0.05)

    async def act(worker: Worker) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(worker.scheduler.fleet.queue, "run", unavailable)
            assert 0 < await worker.check() < 1, "nothing is known: the request waits, and the worker does not"
            assert worker.fetched == []
        worker.respond((200, TEXT))
        monkeypatch.setattr(worker.scheduler.fleet.buffer, "now", lambda: 10.0**15)
        assert await worker.check() is None
        with monkeypatch.context() as patch:
            patch.setattr(worker.scheduler.fleet.queue, "run", unavailable)
            patch.setattr(worker.scheduler.fleet.buffer, "now", lambda: 10.0**16)
            assert [await worker.check(), await worker.check(PRIVATE)] == [None, "Forbidden by robots.txt"]

    run(act)


def test_a_file_that_could_not_be_saved_is_used_here(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(worker: Worker) -> None:
        worker.respond((200, TEXT))
        save = worker.scheduler.fleet.robots.save

        async def unavailable(*state: Any) -> None:
            raise OSError("unavailable")

        monkeypatch.setattr(worker.scheduler.fleet.robots, "save", unavailable)
        assert [await worker.check(), await worker.check(PRIVATE)] == [None, "Forbidden by robots.txt"]
        monkeypatch.setattr(worker.scheduler.fleet.robots, "save", save)

    run(act)


def test_a_request_without_a_lease_fetches_it_without_redis(run: Run, server: Redis) -> None:
    async def act(worker: Worker) -> None:
        worker.respond((503, b""), (200, TEXT))
        for url, wrong in ((PAGE, "status 503"), (PAGE, None), (PRIVATE, "Forbidden")):
            request = Request(url)
            if wrong is None:
                assert await worker.middleware.process_request(request) is None
                continue
            with pytest.raises(Forbidden, match=wrong):
                await worker.middleware.process_request(request)
        assert len(worker.fetched) == 2

    run(act)
    assert server.keys("*robots*") == []


def test_the_user_agent_for_robots_txt_can_be_set(run: Run) -> None:
    async def act(worker: Worker) -> None:
        worker.respond((200, b"User-agent: special\nDisallow: /private\n"))
        assert await worker.check(PRIVATE) == "Forbidden by robots.txt"

    run(act, ROBOTSTXT_USER_AGENT="special/1")


def test_some_requests_need_no_robots_txt(run: Run) -> None:
    async def act(worker: Worker) -> None:
        assert await worker.check(dont_obey_robotstxt=True) is None
        assert await worker.middleware.process_request(Request("data:,hello")) is None
        assert worker.fetched == []

    run(act)


def test_the_middleware_can_be_switched_off(make_crawler: Callable[..., Crawler]) -> None:
    with pytest.raises(NotConfigured):
        RobotsMiddleware.from_crawler(make_crawler(ImmowebSpider, ROBOTSTXT_OBEY=False))


# ----- the rules

NAME = "realestate/0.1"
EXAMPLE = "https://www.example.com"


def rules(text: str) -> RobotRules:
    return RobotRules(text.encode(), NAME)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://www.example.com/a?b=c", "https://www.example.com"),
        ("https://WWW.Example.com:443/", "https://www.example.com"),
        ("http://www.example.com:80/", "http://www.example.com"),
        ("http://www.example.com:443/", "http://www.example.com:443"),
        ("https://me:s3cret@www.example.com:8443/", "https://www.example.com:8443"),
        ("http://[::1]:8080/x", "http://[::1]:8080"),
    ],
)
def test_the_origin_of_a_url(url: str, origin: str) -> None:
    assert origin_of(url) == origin


def test_rules_depend_on_the_user_agent() -> None:
    rules_read = rules("User-agent: realestate\nDisallow: /private\n\nUser-agent: other\nDisallow: /\n")
    assert rules_read.allows(f"{EXAMPLE}/homes/1")
    assert not rules_read.allows(f"{EXAMPLE}/private/1")
    assert not rules_read.allows(f"{EXAMPLE}/homes/1", "other/1.0")


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        ("Crawl-delay: 3", 3.0),
        ("Request-rate: 1/5s", 5.0),
        ("Request-rate: 1/1m 0600-0845", 60.0),
        ("Crawl-delay: 2\nRequest-rate: 1/5", 5.0),
        ("Crawl-delay: 99999999", MAX_DELAY_SECONDS),
        ("Disallow: /x", 0.0),
        *((f"Crawl-delay: {nonsense}", 0.0) for nonsense in ("inf", "nan", "-5", "1e400", "soon", "")),
        *((f"Request-rate: {nonsense}", 0.0) for nonsense in ("0/5s", "1/inf", "a/b", "1/0")),
    ],
)
def test_the_crawl_delay_is_read(lines: str, seconds: float) -> None:
    assert rules(f"User-agent: *\n{lines}\n").delay_seconds == seconds
    assert rules(f"User-agent: other\n{lines}\n").delay_seconds == 0


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe" + b"\0" * 100,
        b"<!DOCTYPE html><html><body>Welcome</body></html>",
        b"Disallow: /\n",  # for no user agent
        b"User-agent: *\nDisallow: " + b"*a" * 5000 + b"$",
        b"User-agent: *\nDisallow: http://[::1\nDisallow: //[\nAllow: %zz",
        b"User-agent: " + b"x" * 100_000,
    ],
)
def test_nonsense_forbids_nothing(text: bytes) -> None:
    assert RobotRules(text, NAME).allows(f"{EXAMPLE}/homes/1?q=[%zz")


def test_a_byte_order_mark_does_not_hide_the_first_line() -> None:
    assert not RobotRules(b"\xef\xbb\xbfUser-agent: *\nDisallow: /\n", NAME).allows(f"{EXAMPLE}/")


@pytest.mark.parametrize(
    ("status", "ban_kind", "means"),
    [
        (200, None, TEXT),
        (206, None, TEXT),
        (200, "cloudflare", None),
        *((status, None, b"") for status in (302, 400, 404, 405, 410, 451)),
        (404, "captcha", None),
        *((status, None, None) for status in (401, 403, 407, 408, 429, 430, 500, 502, 503, 504, 520)),
    ],
)
def test_which_rules_a_response_stands_for(status: int, ban_kind: str | None, means: bytes | None) -> None:
    assert robots_text(status, TEXT, ban_kind) == means


def test_a_long_file_is_cut_between_two_lines() -> None:
    line = b"Disallow: /private/long\n"
    body = b"User-agent: *\n" + line * (MAX_BYTES // len(line) + 10)
    text = robots_text(200, body)
    assert text is not None
    assert MAX_BYTES - len(line) < len(text) <= MAX_BYTES
    assert text.endswith(line)
    assert robots_text(200, b"x" * (MAX_BYTES + 1)) == b"", "not a single line"


def test_the_wait_grows_up_to_a_limit() -> None:
    waits = [wait_seconds(failures, 2.0) for failures in range(1, 12)]
    assert waits[:4] == [10, 20, 40, 80]
    assert waits == sorted(waits)
    assert waits[-1] == wait_seconds(10_000, 2.0) == MAX_WAIT_SECONDS


def _numbered(line: bytes, count: int) -> bytes:
    return b"".join(line % number for number in range(count))


@pytest.mark.parametrize(
    "body",
    [
        _numbered(b"User-agent: a%d\n", 4_000) + _numbered(b"Disallow: /%d\n", 4_000),
        _numbered(b"User-agent: a%d\n", 15_000) + b"Disallow: /\n" + _numbered(b"User-agent: a%d\n", 15_000),
        b"User-agent: *\n" + _numbered(b"Disallow: /a*%d\n", 30_000),
        b"User-agent: *\nDisallow: /" + b"*a" * 200_000,
        b"User-agent: *\n" + b"Disallow: /" + b"*a" * 3_000 + b"*b$",
    ],
    ids=["agents by rules", "agents twice", "wildcards", "a long line", "many wildcards"],
)
def test_a_hostile_file_is_read_in_little_time(body: bytes) -> None:
    begin = time.process_time()
    rules = RobotRules(robots_text(200, body) or b"", "realestate")
    for number in range(5):
        rules.allows(f"https://www.example.org/{'a' * 2_000}{number}")
    assert time.process_time() - begin < 3.0


def test_the_rest_of_a_file_with_too_many_rules_is_ignored() -> None:
    agents = b"User-agent: realestate\nDisallow: /first\n" + _numbered(b"User-agent: a%d\n", 1_000)
    rules = RobotRules(agents + _numbered(b"Disallow: /%d\n", 1_000) + b"User-agent: *\nDisallow: /\n", "realestate")
    assert rules.is_cut
    assert not rules.allows("https://www.example.org/first")
    assert not RobotRules(TEXT, "realestate").is_cut


def test_a_rate_with_thousands_of_digits_is_the_longest_delay() -> None:
    rate = b"User-agent: *\nRequest-rate: 1/" + b"9" * 400 + b"h\n"
    assert RobotRules(rate, "realestate").delay_seconds == MAX_DELAY_SECONDS
    assert RobotRules(b"User-agent: *\nRequest-rate: " + b"9" * 400 + b"/1h\n", "realestate").delay_seconds < 1


@pytest.mark.parametrize(
    "error", [KeyError("an error of our own"), asyncio.CancelledError()], ids=["error", "cancelled"]
)
def test_a_fetch_that_ends_in_any_way_releases_the_lock(run: Run, server: Redis, error: BaseException) -> None:
    async def act(worker: Worker, other: Worker) -> None:
        async def fetch(*arguments: Any) -> Any:
            raise error

        worker.middleware._fetch = fetch  # type: ignore[method-assign,assignment]
        with pytest.raises(type(error)):
            await worker.check()
        await worker.scheduler.fleet._background.finish()
        assert not server.exists(keys.robots("immoweb", SITE) + ":lock")
        other.respond((200, TEXT))
        assert await other.check() is None, "another worker fetches it at once"

    run(act, workers=2)


def test_a_result_that_redis_could_not_take_is_saved_when_it_is_back(
    run: Run, server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(robots, "REDIS_SECONDS", 0.05)

    async def act(worker: Worker, other: Worker) -> None:
        fleet = worker.scheduler.fleet
        is_back = asyncio.Event()
        save = fleet.robots.save

        async def save_later(*arguments: Any) -> None:
            await is_back.wait()
            await save(*arguments)

        monkeypatch.setattr(fleet.robots, "save", save_later)
        worker.respond((200, TEXT))
        assert await worker.check() is None, "the worker does not wait"
        is_back.set()
        await fleet._background.finish()
        assert not server.exists(keys.robots("immoweb", SITE) + ":lock")
        assert await other.check() is None
        assert other.fetched == []

    run(act, workers=2)


def test_requests_that_wait_for_minutes_are_put_off_a_few_times(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(fetcher: Worker, worker: Worker) -> None:
        await fetcher.scheduler.fleet.robots.look(SITE)  # it has the lock, and never fetches
        began = worker.scheduler.fleet.now()
        waited = 0.0
        put_offs = 0
        monkeypatch.setattr(worker.scheduler.fleet.buffer, "now", lambda: began + waited * 1000)
        monkeypatch.setattr(worker.middleware, "_look", partial(no_look, worker.middleware))
        while waited < 300:
            waited += await worker.check()
            put_offs += 1
        assert put_offs < 40, "a request every quarter of a second would be put off 800 times"

    async def no_look(middleware: RobotsMiddleware, fleet: Any, origin: str) -> Any:
        return robots.Known(), False

    run(act, workers=2)

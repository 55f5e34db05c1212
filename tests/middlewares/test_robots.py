"""robots.txt is asked for in the moment of a request, obeyed, and waited for; on a real queue."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from redis import Redis
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadTimeoutError, IgnoreRequest, NotConfigured
from scrapy.http import Response, TextResponse

from realestate.middlewares import robots
from realestate.middlewares.robots import MOST_REDIRECTS, WAITED, Forbidden, RobotsMiddleware
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
WALL = b"<html><title>Just a moment...</title></html>"


class World:
    """A site that answers as told, and a worker of the fleet that asks it."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.answers: Iterator[Any] = iter(())
        self.asked: list[Request] = []
        spider = crawler.spider = ImmowebSpider.from_crawler(crawler)
        self.scheduler = Scheduler.from_crawler(crawler)
        crawler.engine = SimpleNamespace(  # type: ignore[assignment]
            scheduler=self.scheduler, download_async=self.download, _slot=None
        )
        self.scheduler.open(spider)
        self.middleware = RobotsMiddleware.from_crawler(crawler)

    def answer(self, *answers: Any) -> None:
        self.answers = iter(answers)

    async def download(self, request: Request) -> Response:
        self.asked.append(request)
        await asyncio.sleep(0.01)
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        status, body, *headers = answer
        return TextResponse(request.url, status, dict(headers), body)

    async def register(self) -> None:
        asked_at = monotonic_ms()
        pulse = await self.scheduler.fleet.queue.heartbeat(self.scheduler.fleet.worker, b"{}", [])
        self.scheduler.fleet.buffer.set_clock(pulse.now, asked_at)

    async def ask(self, url: str = PAGE, /, **meta: Any) -> Any:
        """Seconds it is put off; None if it may go; what is wrong otherwise."""
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
        """As if the time had come to ask again, and to look."""
        with Redis.from_url(self.crawler.settings["REDIS_URL"]) as server:
            server.hset(keys.robots("immoweb", origin), "again_at", 0)
        self.middleware._known.clear()


Run = Callable[..., Any]


@pytest.fixture
def run(redis_url: str, server: Redis, make_crawler: Callable[..., Crawler]) -> Run:
    def inside(act: Callable[..., Awaitable[Any]], workers: int = 1, **changes: Any) -> Any:
        async def connected() -> Any:
            settings = {"REDIS_URL": redis_url, "RATE_LIMIT": 0, "RETRY_TIMES": 0, "RETRY_DELAY_SECONDS": 2, **changes}
            worlds = [World(make_crawler(ImmowebSpider, **settings)) for _ in range(workers)]
            for world in worlds:
                await world.register()
            try:
                return await act(*worlds)
            finally:
                for world in worlds:
                    await world.scheduler.fleet.close()

        return asyncio.run(connected())

    return inside


def test_it_is_asked_for_once_and_obeyed(run: Run) -> None:
    async def act(world: World) -> None:
        world.answer((200, TEXT))
        assert await world.ask() is None
        assert [await world.ask(PRIVATE), await world.ask()] == ["Forbidden by robots.txt", None]
        assert [each.url for each in world.asked] == [f"{SITE}/robots.txt"]
        assert (world.stat("forbidden"), world.stat("request_count"), world.stat("response_status_count/200")) == (
            1,
            1,
            1,
        )

    run(act)


def test_with_a_pace_it_takes_the_moment_and_the_exit_of_the_request(run: Run) -> None:
    async def act(world: World) -> None:
        world.answer((200, TEXT))
        assert await world.ask(PAGE, **{PROXY_ID: "e1", SENT: 7.0}) == 0.0, "back for another moment"
        assert world.waited is None
        assert (world.asked[0].meta[PROXY_ID], world.asked[0].meta["dont_obey_robotstxt"]) == ("e1", True)
        assert await world.ask() is None

    run(act, RATE_LIMIT=10)


def test_what_nobody_may_ask_for_does_not_wait_for_its_moment(run: Run) -> None:
    async def act(world: World) -> None:
        world.answer((200, TEXT))
        assert await world.ask(PRIVATE) == "Forbidden by robots.txt"

    run(act, RATE_LIMIT=10)


def test_many_at_once_ask_once_and_the_others_wait_in_the_queue(run: Run) -> None:
    async def act(first: World, second: World) -> None:
        first.answer((200, TEXT))
        second.answer((200, TEXT))
        told = await asyncio.gather(*(world.ask() for world in (first, second) for _ in range(5)))
        assert told.count(None) == 1
        assert all(0 < seconds < 1 for seconds in told if seconds is not None)
        assert len(first.asked) + len(second.asked) == 1
        await asyncio.sleep(robots.MOMENT_MS / 1000)
        assert [await first.ask(), await second.ask()] == [None, None]
        assert await second.ask(PRIVATE) == "Forbidden by robots.txt", "read from Redis"
        assert len(first.asked) + len(second.asked) == 1

    run(act, workers=2)


@pytest.mark.parametrize("rate", [0, 10])
def test_the_crawl_delay_is_told_by_whoever_reads_it(run: Run, server: Redis, rate: int) -> None:
    async def floor(world: World) -> Any:
        await asyncio.gather(*world.scheduler.fleet._background)
        return server.hget(keys.rate_limit("immoweb"), "floor")

    async def act(first: World, second: World) -> None:
        first.answer((200, TEXT + b"Crawl-delay: 3\n"), (200, TEXT))
        assert await first.ask() == 0.0, "a site with a delay has a pace"
        assert await floor(first) == b"3000"
        server.delete(keys.rate_limit("immoweb"), "{immoweb}:crawl_delays")
        assert await second.ask() is None
        assert await floor(second) == b"3000"
        first.later()
        assert await first.ask() == (0.0 if rate else None)
        assert await floor(first) is None, "it asks for none any more"

    run(act, workers=2, RATE_LIMIT=rate)


@pytest.mark.parametrize(
    "answer",
    [
        (404, b"no"),
        (410, b""),
        (200, b"<html>Welcome</html>"),
        (200, b""),
        (200, b"\xff\xfe\x00"),
        (300, b"no address"),
    ],
)
def test_a_site_without_rules_may_be_asked_for_all(run: Run, answer: tuple[int, bytes]) -> None:
    async def act(world: World) -> None:
        world.answer(answer)
        assert [await world.ask(), await world.ask(PRIVATE)] == [None, None]

    run(act)


TROUBLE = [(503, b"busy"), (500, b""), (403, b"no"), (401, b""), (429, b""), (200, WALL), (403, WALL)]


@pytest.mark.parametrize("answer", [*TROUBLE, DownloadTimeoutError("slow"), OSError("reset")], ids=repr)
def test_a_site_that_cannot_be_asked_is_waited_for_and_then_obeyed(run: Run, answer: Any) -> None:
    async def act(world: World) -> None:
        world.answer(answer, (200, TEXT))
        waits = [await world.ask(), await world.ask()]
        assert all(9.5 < seconds <= 11 for seconds in waits)
        assert world.waited == 1
        assert len(world.asked) == 1, "nobody asks before its time"
        assert world.stat("unreachable") == 1
        world.later()
        assert [await world.ask(), await world.ask(PRIVATE)] == [None, "Forbidden by robots.txt"]

    run(act)


def test_each_time_it_is_left_alone_longer_and_a_request_waits_so_often_only(run: Run) -> None:
    async def act(world: World) -> None:
        world.answer(*[(503, b"")] * 4)
        for longest in (11, 22, 44):
            assert longest / 1.2 < await world.ask() <= longest
            world.later()
        assert 60 < await world.ask(PAGE, **{WAITED: 3}) < 90
        assert world.waited == 4
        assert await world.ask(PAGE, **{WAITED: 4}) == "robots.txt cannot be asked: status 503"
        assert world.stat("forbidden") == 0

    run(act)


def test_what_it_said_before_counts_while_it_cannot_be_asked(run: Run) -> None:
    async def act(world: World) -> None:
        world.answer((200, TEXT), (503, b""))
        assert await world.ask() is None
        world.later()
        assert [await world.ask(), await world.ask(), await world.ask(PRIVATE)] == [
            None,
            None,
            "Forbidden by robots.txt",
        ]
        assert len(world.asked) == 2

    run(act)


def test_a_day_later_one_asks_and_the_others_go_on_by_what_it_said(run: Run) -> None:
    async def act(world: World) -> None:
        world.answer((200, b""), (200, TEXT))
        assert await world.ask() is None
        world.later()
        assert await asyncio.gather(*(world.ask() for _ in range(5))) == [None] * 5
        assert len(world.asked) == 2
        assert await world.ask(PRIVATE) == "Forbidden by robots.txt"

    run(act)


def test_a_worker_looks_again_what_the_fleet_knows(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(first: World, second: World) -> None:
        first.answer((200, b""), (200, TEXT))
        assert [await first.ask(), await second.ask(PRIVATE)] == [None, None]
        first.later()
        await first.ask()
        assert await second.ask(PRIVATE) is None, "for a while it does not look"
        monkeypatch.setattr(second.scheduler.fleet.buffer, "now", lambda: 10.0**15)
        assert await second.ask(PRIVATE) == "Forbidden by robots.txt"

    run(act, workers=2)


def test_redirects_are_followed_wherever_they_lead(run: Run) -> None:
    async def act(world: World) -> None:
        there = "https://static.example.com/robots.txt"
        world.answer((301, b"", ("Location", "/de/robots.txt")), (302, b"", ("Location", there)), (200, TEXT))
        assert await world.ask(PRIVATE) == "Forbidden by robots.txt"
        assert [each.url for each in world.asked][1:] == [f"{SITE}/de/robots.txt", there]
        assert all(each.meta["allow_offsite"] for each in world.asked)

    run(act)


def test_a_site_that_sends_us_round_and_round_has_none(run: Run) -> None:
    async def act(world: World) -> None:
        world.answer(*[(302, TEXT, ("Location", "/robots.txt"))] * 100)
        assert await world.ask(PRIVATE) is None
        assert len(world.asked) == 1 + MOST_REDIRECTS

    run(act)


@pytest.mark.parametrize("location", ["ftp://host/robots.txt", "javascript:alert(1)", "http://[", "file:///etc/passwd"])
def test_a_redirect_to_nowhere_is_no_answer(run: Run, location: str) -> None:
    async def act(world: World) -> None:
        world.answer((302, b"", ("Location", location)), (200, b""))
        assert await world.ask() > 1
        assert len(world.asked) == 1

    run(act)


def test_a_host_that_nobody_may_ask_is_not_waited_for(run: Run) -> None:
    class Elsewhere(IgnoreRequest):
        reason = "address"

    async def act(world: World) -> None:
        world.answer(Elsewhere("a private one"), Elsewhere("a private one"))
        for _ in range(2):
            with pytest.raises(Elsewhere):
                await world.ask()
            await asyncio.sleep(robots.MOMENT_MS / 1000)

    run(act)


def test_a_refusal_is_told_to_the_fleet(run: Run, server: Redis) -> None:
    async def act(world: World) -> None:
        world.answer((429, b"", ("Retry-After", "30")))
        await world.ask()
        await asyncio.gather(*world.scheduler.fleet._background)

    run(act)
    told: Any = server.hgetall(keys.rate_limit("immoweb"))
    assert told[b"reason"] == b"robots.txt: status 429"
    assert float(told[b"blocked_until"]) > 0


def test_while_redis_is_away_what_was_known_will_do(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*arguments: Any, **told: Any) -> Any:
        raise OSError("away")

    async def act(world: World) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(world.scheduler.fleet.queue, "run", away)
            assert 0 < await world.ask() < 1, "nothing is known: it waits, and the worker does not"
            assert world.asked == []
        world.answer((200, TEXT))
        monkeypatch.setattr(world.scheduler.fleet.buffer, "now", lambda: 10.0**15)
        assert await world.ask() is None
        with monkeypatch.context() as patch:
            patch.setattr(world.scheduler.fleet.queue, "run", away)
            patch.setattr(world.scheduler.fleet.buffer, "now", lambda: 10.0**16)
            assert [await world.ask(), await world.ask(PRIVATE)] == [None, "Forbidden by robots.txt"]

    run(act)


def test_what_was_heard_while_redis_was_away_counts_here(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(world: World) -> None:
        world.answer((200, TEXT))
        tell = world.scheduler.fleet.robots.save

        async def untold(*told: Any) -> None:
            raise OSError("away")

        monkeypatch.setattr(world.scheduler.fleet.robots, "save", untold)
        assert [await world.ask(), await world.ask(PRIVATE)] == [None, "Forbidden by robots.txt"]
        monkeypatch.setattr(world.scheduler.fleet.robots, "save", tell)

    run(act)


def test_a_request_of_this_process_alone_asks_the_site_itself(run: Run, server: Redis) -> None:
    async def act(world: World) -> None:
        world.answer((503, b""), (200, TEXT))
        for url, wrong in ((PAGE, "status 503"), (PAGE, None), (PRIVATE, "Forbidden")):
            request = Request(url)
            if wrong is None:
                assert await world.middleware.process_request(request) is None
                continue
            with pytest.raises(Forbidden, match=wrong):
                await world.middleware.process_request(request)
        assert len(world.asked) == 2

    run(act)
    assert server.keys("*robots*") == []


def test_its_own_name_can_be_another(run: Run) -> None:
    async def act(world: World) -> None:
        world.answer((200, b"User-agent: special\nDisallow: /private\n"))
        assert await world.ask(PRIVATE) == "Forbidden by robots.txt"

    run(act, ROBOTSTXT_USER_AGENT="special/1")


def test_what_needs_no_permission_is_left_alone(run: Run) -> None:
    async def act(world: World) -> None:
        assert await world.ask(dont_obey_robotstxt=True) is None
        assert await world.middleware.process_request(Request("data:,hello")) is None
        assert world.asked == []

    run(act)


def test_who_sets_it_aside_has_no_such_middleware(make_crawler: Callable[..., Crawler]) -> None:
    with pytest.raises(NotConfigured):
        RobotsMiddleware.from_crawler(make_crawler(ImmowebSpider, ROBOTSTXT_OBEY=False))

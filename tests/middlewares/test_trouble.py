"""Trouble: who is blamed, who slows down, and when a request is given up."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadConnectionRefusedError, DownloadTimeoutError
from scrapy.http import HtmlResponse, Response

from realestate.middlewares.backoff import MOST_HOPS, BackoffMiddleware, Wall
from realestate.middlewares.blocks import KNOWN
from realestate.middlewares.policies import ANSWERS, LOOKED_BACK, STOP, Escalation
from realestate.queue.feedback import Feedback
from realestate.queue.fleet import Fleet, register_fleet
from realestate.queue.proxy_health import Fault
from realestate.spiders.immoweb import ImmowebSpider

URL = "https://www.immoweb.be/en/classified/21000001"
WALL = b"<html><title>Just a moment...</title></html>"


class RecordingFeedback(Feedback):
    """Records what the middleware reports, and sends nothing to Redis."""

    def __init__(self) -> None:
        self.reports: list[tuple[Any, ...]] = []

    def request_succeeded(self, request: Request) -> None:
        self.reports.append(("succeeded",))

    def request_failed(
        self, request: Request, blame: Fault | None, reason: str, wait_seconds: float, *, slows: bool = False
    ) -> None:
        self.reports.append((blame, wait_seconds, slows))

    def site_refused(self, reason: str, wait_seconds: float) -> None:
        self.reports.append(("slower",))

    def pause(self) -> None:
        self.reports.append(("pause",))


class FakeFleet(Fleet):
    """A fleet without Redis: it has only the feedback."""

    feedback: RecordingFeedback

    def __init__(self) -> None:
        self.serving = True
        self.feedback = RecordingFeedback()

    @property
    def reports(self) -> list[tuple[Any, ...]]:
        return self.feedback.reports


@pytest.fixture
def fleet() -> FakeFleet:
    return FakeFleet()


@pytest.fixture
def middleware(make_crawler: Callable[..., Crawler], fleet: FakeFleet) -> BackoffMiddleware:
    return made(make_crawler(ImmowebSpider, RETRY_TIMES=2), fleet)


def made(crawler: Crawler, fleet: FakeFleet) -> BackoffMiddleware:
    crawler.spider = ImmowebSpider.from_crawler(crawler)
    register_fleet(crawler, fleet)
    return BackoffMiddleware.from_crawler(crawler)


def request(tries: int = 0) -> Request:
    return Request(URL, meta={"stage": "extract", "retry_times": tries} if tries else {"stage": "extract"})


def answer(status: int = 200, body: bytes = b"<html>a home</html>", retry_after: str = "0") -> Response:
    headers = {"Retry-After": retry_after}
    return HtmlResponse(URL, status=status, body=body, headers=headers, encoding="utf-8")


@pytest.mark.parametrize(
    ("status", "blame", "slows"),
    [
        (429, "refused", False),
        (403, "banned", False),
        (503, None, True),
        (500, None, False),
        (502, None, False),
        (504, None, False),
        (407, "failed", False),
    ],
)
def test_each_answer_has_its_policy(
    middleware: BackoffMiddleware, fleet: FakeFleet, status: int, blame: str | None, slows: bool
) -> None:
    again = middleware.process_response(request(), answer(status, retry_after="7"))
    assert isinstance(again, Request)
    assert again.meta["retry_times"] == 1
    assert again.meta["retry_delay"] == ANSWERS[status].delay
    assert fleet.reports == [(blame, 7.0, slows)]


@pytest.mark.parametrize("status", [200, 301, 404, 410])
def test_no_other_answer_is_held_against_an_exit(middleware: BackoffMiddleware, fleet: FakeFleet, status: int) -> None:
    response = answer(status)
    assert middleware.process_response(request(), response) is response
    assert fleet.reports == [("succeeded",)]


def test_a_request_has_a_budget(middleware: BackoffMiddleware) -> None:
    refused = answer(500)
    assert isinstance(middleware.process_response(request(1), refused), Request)
    assert middleware.process_response(request(2), refused) is refused, "the spider makes it a dead letter"
    assert isinstance(middleware.process_response(request(5), answer(429)), Request), "more patience for a 429"
    assert isinstance(middleware.process_response(request(6), answer(429)), Response)


@pytest.mark.parametrize(
    "error", [DownloadTimeoutError("slow"), DownloadConnectionRefusedError("no"), OSError("reset")]
)
def test_a_silence_is_the_exits(middleware: BackoffMiddleware, fleet: FakeFleet, error: Exception) -> None:
    assert isinstance(middleware.process_exception(request(), error), Request)
    assert fleet.reports == [("failed", 0.0, False)]
    assert isinstance(middleware.process_exception(request(5), error), Request), "more patience: it may be the exit's"
    assert middleware.process_exception(request(6), error) is None
    assert middleware.process_exception(request(), ValueError("ours")) is None


def test_robots_txt_is_left_alone(middleware: BackoffMiddleware, fleet: FakeFleet) -> None:
    robots, forbidden = Request("https://www.immoweb.be/robots.txt"), answer(403, WALL)
    assert middleware.process_response(robots, forbidden) is forbidden
    assert middleware.process_exception(robots, OSError()) is None
    assert fleet.reports == []


@pytest.mark.parametrize(("status", "blame"), [(200, "bad"), (403, "banned"), (503, "bad")])
def test_a_wall_is_never_a_page(middleware: BackoffMiddleware, fleet: FakeFleet, status: int, blame: str) -> None:
    assert isinstance(middleware.process_response(request(), answer(status, WALL, retry_after="9")), Request)
    assert fleet.reports == [(blame, 9.0, status == 503)]
    with pytest.raises(Wall) as error:
        middleware.process_response(request(2), answer(status, WALL))
    assert error.value.reason == "ban"
    assert middleware.crawler.stats is not None
    assert middleware.crawler.stats.get_value("block/immoweb/cloudflare") == 2


MARKED = b'<html><p>Are you a robot? g-recaptcha"</p><script>window.classified = {};</script></html>'


def test_a_page_with_the_portals_own_mark_is_no_wall(middleware: BackoffMiddleware) -> None:
    page = answer(200, MARKED)
    assert middleware.process_response(request(), page) is page
    assert isinstance(middleware.process_response(request(), answer(403, MARKED)), Request), "refused is refused"
    bare = answer(200, MARKED.replace(b"window.classified", b"x"))
    assert isinstance(middleware.process_response(request(), bare), Request)


def test_rules_of_ones_own_are_held_against_every_page(
    make_crawler: Callable[..., Crawler], fleet: FakeFleet, tmp_path: Path
) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nkind = "mine"\nbody = ["are you a robot"]\n', "utf-8")
    middleware = made(make_crawler(ImmowebSpider, BAN_RULES=str(rules)), fleet)
    assert isinstance(middleware.process_response(request(), answer(200, MARKED)), Request)


def test_a_page_far_smaller_than_usual_is_marked_for_the_parser(middleware: BackoffMiddleware) -> None:
    for _ in range(KNOWN):
        middleware.process_response(request(), answer(200, b"<html>%s</html>" % (b" " * 20_000)))
    thin = middleware.process_response(request(), answer(200, b"<html>sold</html>"))
    assert isinstance(thin, Response)
    assert thin.flags == ["thin"]
    search = middleware.process_response(request().replace(meta={"stage": "discover"}), answer(200, b"<html></html>"))
    assert isinstance(search, Response)
    assert search.flags == []


def test_walls_come_to_a_slower_pace_and_then_to_none(
    middleware: BackoffMiddleware, fleet: FakeFleet, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(STOP):
        middleware.process_response(request(), answer(200, WALL))
    acts = [act[0] for act in fleet.reports if act[0] in ("slower", "pause")]
    assert acts[0] == "slower"
    assert acts[-1] == "pause"
    assert acts.count("pause") == 1
    assert [record.levelname for record in caplog.records if "block/stopped" in record.message] == ["ERROR"]


def test_a_plain_refusal_is_no_siege(middleware: BackoffMiddleware, fleet: FakeFleet) -> None:
    for _ in range(STOP):
        middleware.process_response(request(), answer(403, b"<title>Forbidden</title>"))
    assert {act[0] for act in fleet.reports} == {"banned"}


def led(url: str, location: str, *before: str) -> tuple[Request, Response]:
    asked = request().replace(url=url)
    if before:
        asked.meta.update(redirect_urls=list(before), redirect_times=len(before))
    return asked, Response(url, status=302, headers={"Location": location})


def test_a_redirect_is_followed_by_who_follows_redirects(middleware: BackoffMiddleware) -> None:
    asked, answered = led(URL, "/elsewhere")
    assert middleware.process_response(asked, answered) is answered


@pytest.mark.parametrize("location", ["/a", URL, "https://www.immoweb.be/b"])
def test_who_is_led_in_circles_begins_anew(middleware: BackoffMiddleware, fleet: FakeFleet, location: str) -> None:
    site = "https://www.immoweb.be"
    again = middleware.process_response(*led(f"{site}/b", location, URL, f"{site}/a"))
    assert isinstance(again, Request)
    assert (again.url, again.meta.get("redirect_urls")) == (URL, None)
    assert fleet.reports == [("bad", 0.0, False)]


def test_what_was_posted_is_not_asked_for_elsewhere(middleware: BackoffMiddleware) -> None:
    asked = request().replace(method="POST", body=b"{}")
    again = middleware.process_response(asked, Response(URL, status=302, headers={"Location": "/other"}))
    assert isinstance(again, Request)
    assert (again.method, again.body, again.url) == ("POST", b"{}", URL)


def test_pages_that_are_as_they_were_are_no_walls(middleware: BackoffMiddleware, fleet: FakeFleet) -> None:
    for _ in range(STOP):
        middleware.process_response(request(), answer(200, WALL))
        for _ in range(5):
            middleware.process_response(request(), answer(404))
    assert ("pause",) not in fleet.reports


def test_so_does_who_is_led_too_far(middleware: BackoffMiddleware) -> None:
    been = [f"https://www.immoweb.be/{number}" for number in range(MOST_HOPS)]
    assert isinstance(middleware.process_response(*led(URL, "/x", *been[:-1])), Response)
    assert isinstance(middleware.process_response(*led(URL, "/x", *been)), Request)


def test_trouble_at_another_address_is_that_of_the_page(middleware: BackoffMiddleware) -> None:
    asked, _ = led("https://www.immoweb.be/login", "", URL)
    again = middleware.process_response(asked, answer(500))
    assert isinstance(again, Request)
    assert again.url == URL


def test_a_wall_now_and_then_is_no_siege() -> None:
    escalation = Escalation()
    for _ in range(10):
        assert escalation.wall() == "fine"
        for _ in range(LOOKED_BACK // 2):
            escalation.fine()


def test_outside_a_fleet_nobody_is_told(middleware: BackoffMiddleware, fleet: FakeFleet) -> None:
    fleet.serving = False
    assert isinstance(middleware.process_response(request(), answer(429)), Request)
    assert fleet.reports == []

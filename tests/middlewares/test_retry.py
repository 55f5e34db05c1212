"""Retries: which proxy is at fault, when the fleet slows down, and when a request is given up."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadConnectionRefusedError, DownloadTimeoutError
from scrapy.http import HtmlResponse, Response

from realestate.middlewares.bans import BanEscalation, Banned, UsualPages
from realestate.middlewares.retry import MAX_REDIRECTS, STATUS_POLICIES, RetryMiddleware, parse_retry_after
from realestate.queue.feedback import Feedback
from realestate.queue.fleet import Fleet, register_fleet
from realestate.queue.proxy_health import Fault
from realestate.spiders.immoweb import ImmowebSpider

URL = "https://www.immoweb.be/en/classified/21000001"
BAN_PAGE = b"<html><title>Just a moment...</title></html>"


class RecordingFeedback(Feedback):
    """Records what the middleware reports, and sends nothing to Redis."""

    def __init__(self) -> None:
        self.reports: list[tuple[Any, ...]] = []

    def request_succeeded(self, request: Request) -> None:
        self.reports.append(("succeeded",))

    def request_failed(
        self, request: Request, fault: Fault | None, reason: str, wait_seconds: float, *, slows: bool = False
    ) -> None:
        self.reports.append((fault, wait_seconds, slows))

    def site_refused(self, reason: str, wait_seconds: float) -> None:
        self.reports.append(("slower",))

    def pause(self, reason: str, seconds: float) -> None:
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
def middleware(make_crawler: Callable[..., Crawler], fleet: FakeFleet) -> RetryMiddleware:
    return made(make_crawler(ImmowebSpider, RETRY_TIMES=2), fleet)


def made(crawler: Crawler, fleet: FakeFleet) -> RetryMiddleware:
    crawler.spider = ImmowebSpider.from_crawler(crawler)
    register_fleet(crawler, fleet)
    return RetryMiddleware.from_crawler(crawler)


def request(tries: int = 0) -> Request:
    return Request(URL, meta={"stage": "extract", "retry_times": tries} if tries else {"stage": "extract"})


def response(status: int = 200, body: bytes = b"<html>a home</html>", retry_after: str = "0") -> Response:
    headers = {"Retry-After": retry_after}
    return HtmlResponse(URL, status=status, body=body, headers=headers, encoding="utf-8")


@pytest.mark.parametrize(
    ("status", "fault", "slows"),
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
def test_each_status_has_its_policy(
    middleware: RetryMiddleware, fleet: FakeFleet, status: int, fault: str | None, slows: bool
) -> None:
    again = middleware.process_response(request(), response(status, retry_after="7"))
    assert isinstance(again, Request)
    assert again.meta["retry_times"] == 1
    assert again.meta["retry_delay"] == STATUS_POLICIES[status].delay
    assert fleet.reports == [(fault, 7.0, slows)]


@pytest.mark.parametrize("status", [200, 301, 404, 410])
def test_other_statuses_count_as_success(middleware: RetryMiddleware, fleet: FakeFleet, status: int) -> None:
    received = response(status)
    assert middleware.process_response(request(), received) is received
    assert fleet.reports == [("succeeded",)]


def test_the_number_of_retries_is_limited(middleware: RetryMiddleware) -> None:
    refused = response(500)
    assert isinstance(middleware.process_response(request(1), refused), Request)
    assert middleware.process_response(request(2), refused) is refused, "the spider makes it a dead letter"
    assert isinstance(middleware.process_response(request(5), response(429)), Request), "more retries for a 429"
    assert isinstance(middleware.process_response(request(6), response(429)), Response)


@pytest.mark.parametrize(
    "error", [DownloadTimeoutError("slow"), DownloadConnectionRefusedError("no"), OSError("reset")]
)
def test_a_lost_connection_is_the_proxys_fault(middleware: RetryMiddleware, fleet: FakeFleet, error: Exception) -> None:
    assert isinstance(middleware.process_exception(request(), error), Request)
    assert fleet.reports == [("failed", 0.0, False)]
    assert isinstance(middleware.process_exception(request(5), error), Request), "more retries"
    assert middleware.process_exception(request(6), error) is None
    assert middleware.process_exception(request(), ValueError("ours")) is None


def test_robots_txt_is_not_handled_here(middleware: RetryMiddleware, fleet: FakeFleet) -> None:
    robots, forbidden = Request("https://www.immoweb.be/robots.txt"), response(403, BAN_PAGE)
    assert middleware.process_response(robots, forbidden) is forbidden
    assert middleware.process_exception(robots, OSError()) is None
    assert fleet.reports == []


@pytest.mark.parametrize(("status", "fault"), [(200, "bad"), (403, "banned"), (503, "bad")])
def test_a_ban_page_is_retried(middleware: RetryMiddleware, fleet: FakeFleet, status: int, fault: str) -> None:
    assert isinstance(middleware.process_response(request(), response(status, BAN_PAGE, retry_after="9")), Request)
    assert fleet.reports == [(fault, 9.0, status == 503)]
    with pytest.raises(Banned) as error:
        middleware.process_response(request(2), response(status, BAN_PAGE))
    assert error.value.reason == "ban"
    assert middleware.crawler.stats is not None
    assert middleware.crawler.stats.get_value("ban/immoweb/cloudflare") == 2


MARKED = b'<html><p>Are you a robot? g-recaptcha"</p><script>window.classified = {};</script></html>'


def test_a_page_with_the_portals_mark_is_not_a_ban_page(middleware: RetryMiddleware) -> None:
    page = response(200, MARKED)
    assert middleware.process_response(request(), page) is page
    assert isinstance(middleware.process_response(request(), response(403, MARKED)), Request), "still refused"
    bare = response(200, MARKED.replace(b"window.classified", b"x"))
    assert isinstance(middleware.process_response(request(), bare), Request)


def test_own_rules_are_applied_to_every_page(
    make_crawler: Callable[..., Crawler], fleet: FakeFleet, tmp_path: Path
) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nkind = "mine"\nbody = ["are you a robot"]\n', "utf-8")
    middleware = made(make_crawler(ImmowebSpider, BAN_RULES=str(rules)), fleet)
    assert isinstance(middleware.process_response(request(), response(200, MARKED)), Request)


def test_a_thin_page_is_flagged_for_the_parser(middleware: RetryMiddleware) -> None:
    for _ in range(UsualPages.PAGES_FOR_SIZE):
        middleware.process_response(request(), response(200, b"<html>%s</html>" % (b" " * 20_000)))
    thin = middleware.process_response(request(), response(200, b"<html>sold</html>"))
    assert isinstance(thin, Response)
    assert thin.flags == ["thin"]
    search = middleware.process_response(request().replace(meta={"stage": "discover"}), response(200, b"<html></html>"))
    assert isinstance(search, Response)
    assert search.flags == []


def test_ban_pages_slow_the_fleet_down_and_then_pause_the_portal(
    middleware: RetryMiddleware, fleet: FakeFleet, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(BanEscalation.STOP):
        middleware.process_response(request(), response(200, BAN_PAGE))
    acts = [act[0] for act in fleet.reports if act[0] in ("slower", "pause")]
    assert acts[0] == "slower"
    assert acts[-1] == "pause"
    assert acts.count("pause") == 1
    assert [record.levelname for record in caplog.records if "ban/stopped" in record.message] == ["ERROR"]


def test_plain_refusals_do_not_pause_the_portal(middleware: RetryMiddleware, fleet: FakeFleet) -> None:
    for _ in range(BanEscalation.STOP):
        middleware.process_response(request(), response(403, b"<title>Forbidden</title>"))
    assert {act[0] for act in fleet.reports} == {"banned"}


def redirected(url: str, location: str, *before: str) -> tuple[Request, Response]:
    sent = request().replace(url=url)
    if before:
        sent.meta.update(redirect_urls=list(before), redirect_times=len(before))
    return sent, Response(url, status=302, headers={"Location": location})


def test_a_redirect_is_passed_on(middleware: RetryMiddleware) -> None:
    sent, received = redirected(URL, "/elsewhere")
    assert middleware.process_response(sent, received) is received


@pytest.mark.parametrize("location", ["/a", URL, "https://www.immoweb.be/b"])
def test_a_redirect_loop_starts_again(middleware: RetryMiddleware, fleet: FakeFleet, location: str) -> None:
    site = "https://www.immoweb.be"
    again = middleware.process_response(*redirected(f"{site}/b", location, URL, f"{site}/a"))
    assert isinstance(again, Request)
    assert (again.url, again.meta.get("redirect_urls")) == (URL, None)
    assert fleet.reports == [("bad", 0.0, False)]


def test_a_redirected_post_is_retried_with_its_body(middleware: RetryMiddleware) -> None:
    sent = request().replace(method="POST", body=b"{}")
    again = middleware.process_response(sent, Response(URL, status=302, headers={"Location": "/other"}))
    assert isinstance(again, Request)
    assert (again.method, again.body, again.url) == ("POST", b"{}", URL)


def test_other_pages_between_ban_pages_prevent_a_pause(middleware: RetryMiddleware, fleet: FakeFleet) -> None:
    for _ in range(BanEscalation.STOP):
        middleware.process_response(request(), response(200, BAN_PAGE))
        for _ in range(5):
            middleware.process_response(request(), response(404))
    assert ("pause",) not in fleet.reports


def test_too_many_redirects_are_retried_too(middleware: RetryMiddleware) -> None:
    been = [f"https://www.immoweb.be/{number}" for number in range(MAX_REDIRECTS)]
    assert isinstance(middleware.process_response(*redirected(URL, "/x", *been[:-1])), Response)
    assert isinstance(middleware.process_response(*redirected(URL, "/x", *been)), Request)


def test_an_error_after_a_redirect_retries_the_first_url(middleware: RetryMiddleware) -> None:
    sent, _ = redirected("https://www.immoweb.be/login", "", URL)
    again = middleware.process_response(sent, response(500))
    assert isinstance(again, Request)
    assert again.url == URL


def test_outside_a_fleet_nothing_is_reported(middleware: RetryMiddleware, fleet: FakeFleet) -> None:
    fleet.serving = False
    assert isinstance(middleware.process_response(request(), response(429)), Request)
    assert fleet.reports == []


# ----- Retry-After

DATE = "Mon, 16 Nov 2026 01:00:00 GMT"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        (" 0 ", 0),
        ("Mon, 16 Nov 2026 03:00:00 GMT", 7200),
        ("Mon, 16 Nov 2026 00:00:00 GMT", 0),
        ("", 0),
        ("soon", 0),
        ("-5", 0),
        ("9" * 400, 0),
        ("999999999", 86_400),
        ("²", 0),
        ("Mon, 16 Nov 2026 03:00:00 -0000", 0),
        ("Mon, 16 Nov 2026 03:00:00 +99999999", 0),
        ("Mon, 16 Nov 9999 03:00:00 GMT", 86_400),
    ],
)
def test_retry_after_is_parsed(value: str, seconds: float) -> None:
    assert parse_retry_after(value, DATE) == seconds


def test_a_date_without_the_sites_own_date_is_ignored() -> None:
    assert parse_retry_after("Mon, 16 Nov 2026 03:00:00 GMT", None) == 0

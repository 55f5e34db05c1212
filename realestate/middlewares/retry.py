"""Retries: what is done about each kind of failed request.

A policy says whether the proxy is at fault, whether the whole fleet slows down, how long the request waits and how
many times it is tried again. The middleware applies the policy and raises when there are no tries left.
"""

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import DownloadTimeoutError, IgnoreRequest
from scrapy.http import Response
from scrapy.utils.misc import load_object

from realestate.middlewares.bans import (
    BanEscalation,
    Banned,
    BanRules,
    UsualPages,
    is_html_instead_of_json,
    read_ban_rules,
)
from realestate.middlewares.conditional import NOT_MODIFIED, UNCHANGED
from realestate.middlewares.decompression import TooLarge
from realestate.queue.dead_letters import FORBIDDEN_STATUSES, REFUSED_STATUSES, TOO_MANY_REQUESTS_STATUSES
from realestate.queue.feedback import Feedback
from realestate.queue.fleet import fleet_of
from realestate.queue.proxy_health import Fault

logger = logging.getLogger(__name__)

#: The longest Retry-After that is honoured. Longer values are mistakes.
MAX_RETRY_AFTER_SECONDS = 86_400.0
#: No portal redirects more than twice.
MAX_REDIRECTS = 5
_SECONDS = re.compile(r"\d{1,12}", re.ASCII)


# ----- policies


@dataclass(frozen=True, slots=True)
class Policy:
    """What is done about one kind of failure."""

    fault: Fault | None
    """What the proxy is blamed for; None if the proxy is not at fault."""
    slows: bool
    """Whether the whole fleet slows down, with any proxy. Without proxies it always does after a refusal."""
    delay: float
    """The longest wait before the first retry, in units of RETRY_DELAY_SECONDS; twice as long for each further one."""
    extra_retries: int = 0
    """Retries beside RETRY_TIMES."""


#: Too many requests: the proxy rests, the request goes through another one.
TOO_MANY_REQUESTS = Policy("refused", slows=False, delay=0.5, extra_retries=4)
#: The site does not want this address.
FORBIDDEN = Policy("banned", slows=False, delay=2.5)
#: The site is overloaded, for everybody.
OVERLOADED = Policy(None, slows=True, delay=2.5, extra_retries=1)
#: An error of the site or of something between us and the site.
SERVER_ERROR = Policy(None, slows=False, delay=1)
#: The proxy or the site sends nothing.
TIMEOUT = Policy("failed", slows=False, delay=2, extra_retries=4)
CONNECTION_LOST = Policy("failed", slows=False, delay=1, extra_retries=4)
#: A ban page, or another page that is not the portal's.
BAN_PAGE = Policy("bad", slows=False, delay=2.5)
#: A ban page with a status that says that the site is overloaded.
OVERLOADED_BAN_PAGE = Policy("bad", slows=True, delay=2.5)

#: The policy for each status. All other statuses are for the spider.
STATUS_POLICIES: Mapping[int, Policy] = {
    **dict.fromkeys(FORBIDDEN_STATUSES, FORBIDDEN),
    407: TIMEOUT,  # the proxy wants credentials that we do not have
    **dict.fromkeys(TOO_MANY_REQUESTS_STATUSES, TOO_MANY_REQUESTS),
    **dict.fromkeys((503, 529), OVERLOADED),
    **dict.fromkeys((408, 500, 502, 504, 520, 521, 522, 523, 524, 525, 527), SERVER_ERROR),
}


def policy_for_exception(error: Exception) -> Policy:
    """The policy for a request without a response."""
    if isinstance(error, TooLarge):
        return SERVER_ERROR  # the site's doing, or a passing error of it
    return TIMEOUT if isinstance(error, DownloadTimeoutError) else CONNECTION_LOST


# ----- Retry-After


def retry_after_seconds(response: Response) -> float:
    """How long the site asks us to wait; 0 if it does not."""
    retry_after = response.headers.get("Retry-After") or b""
    date = response.headers.get("Date") or b""
    return parse_retry_after(retry_after.decode("latin-1"), date.decode("latin-1"))


def parse_retry_after(value: str, date: str | None) -> float:
    """The seconds of a Retry-After header, at most MAX_RETRY_AFTER_SECONDS; 0 if it is not valid.

    A date is compared with the response's own `date`: the site's clock may differ from ours.
    """
    if _SECONDS.fullmatch(value.strip()):
        return min(float(value), MAX_RETRY_AFTER_SECONDS)
    try:
        wait = (parsedate_to_datetime(value) - parsedate_to_datetime(date or "")).total_seconds()
    except (TypeError, ValueError, OverflowError):  # no date, or one in an unknown time zone
        return 0.0
    return min(max(0.0, wait), MAX_RETRY_AFTER_SECONDS)


# ----- redirects


class RedirectLoop(IgnoreRequest):
    """The site redirects again and again and never sends a page."""

    reason = "http"


def is_redirect_loop(request: Request, response: Response) -> bool:
    """Whether the response redirects to a URL that was fetched already, or once too often."""
    location = response.headers.get("Location") if 300 <= response.status < 400 else None
    if location is None:
        return False
    if request.method not in ("GET", "HEAD") and response.status in (301, 302, 303):
        return True  # Scrapy would follow it with a GET, and the body would be lost
    visited = request.meta.get("redirect_urls", [])
    return len(visited) >= MAX_REDIRECTS or response.urljoin(location.decode("latin-1")) in (*visited, request.url)


def before_redirects(request: Request) -> Request:
    """The request as it was before the site redirected it: a retry starts there."""
    meta = {name: value for name, value in request.meta.items() if not name.startswith("redirect_")}
    if meta.keys() == request.meta.keys():
        return request
    return request.replace(url=request.meta["redirect_urls"][0], meta=meta)


# ----- the middleware


class RetryMiddleware:
    """Checks each response before it is parsed: a ban page is never parsed, stored or taken for a gone listing."""

    def __init__(
        self,
        crawler: Crawler,
        rules: BanRules,
        retried_exceptions: tuple[type[Exception], ...],
        page_marks: tuple[bytes, ...] = (),
    ) -> None:
        self.crawler = crawler
        self.rules = rules
        self.retried_exceptions = retried_exceptions
        self.page_marks = page_marks
        self.max_retries = crawler.settings.getint("RETRY_TIMES")
        self.ban_pause_seconds = crawler.settings.getfloat("BAN_PAUSE_SECONDS")
        self.usual_pages = UsualPages()
        self.escalation = BanEscalation()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        own_rules = crawler.settings.get("BAN_RULES")
        exceptions = tuple(load_object(each) for each in crawler.settings.getlist("RETRY_EXCEPTIONS"))
        # With rules of her own, a user wants every page to be checked.
        marks = () if own_rules else getattr(crawler.spidercls, "page_marks", ())
        return cls(crawler, read_ban_rules(Path(own_rules) if own_rules else None), exceptions, marks)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        if "stage" not in request.meta:
            return response  # robots.txt
        policy = SERVER_ERROR if _is_unasked_304(response) else STATUS_POLICIES.get(response.status)
        if kind := self._ban_page_kind(request, response):
            return self._handle_ban_page(request, response, kind, policy)
        if policy is not None:
            reason = f"status {response.status}"
            return self._retry(request, policy, reason, retry_after_seconds(response)) or response
        if is_redirect_loop(request, response):
            if again := self._retry(request, BAN_PAGE, "redirect loop"):
                return again
            raise RedirectLoop(f"redirect loop at {response.url}")
        if response.status == 200 and (again := self._check_body(request, response)):
            return again
        self.escalation.record_page()
        self._report(lambda feedback: feedback.request_succeeded(request))
        return response

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        if not isinstance(exception, self.retried_exceptions) or "stage" not in request.meta:
            return None
        return self._retry(request, policy_for_exception(exception), type(exception).__name__)

    def _check_body(self, request: Request, response: Response) -> Request | None:
        """Retry a truncated page, mark a thin one. A page that is truncated each time is accepted as it is."""
        group = _page_group(request)
        if self.usual_pages.is_truncated(group, response.body):
            again = self._retry(request, SERVER_ERROR, "truncated page")
            if again is not None:
                return again
        # A search without results is small, and so is a page that says that a home is sold: the parser has to decide.
        if group == "extract" and self.usual_pages.is_thin(group, len(response.body)):
            response.flags.append("thin")
        else:
            self.usual_pages.record(group, response.body)
        return None

    def _ban_page_kind(self, request: Request, response: Response) -> str | None:
        kind = None if self._has_page_mark(response) else self._matching_kind(request, response)
        if kind == "refused" and response.status in REFUSED_STATUSES:
            return None  # the page says no more than its status does
        if kind:
            return kind
        if response.status != 200:
            return None
        return "html_for_json" if is_html_instead_of_json(request, response) else None

    def _has_page_mark(self, response: Response) -> bool:
        return response.status == 200 and any(mark in response.body for mark in self.page_marks)

    def _matching_kind(self, request: Request, response: Response) -> str | None:
        was_redirected = bool(request.meta.get("redirect_urls"))
        return self.rules.kind_of(response.status, response.url, response.body, was_redirected=was_redirected)

    def _handle_ban_page(self, request: Request, response: Response, kind: str, policy: Policy | None) -> Request:
        """The retry of a request that got a ban page; raises Banned if there are no tries left."""
        if policy is None or response.status not in REFUSED_STATUSES:
            policy = OVERLOADED_BAN_PAGE if policy and policy.slows else BAN_PAGE
        portal = getattr(self.crawler.spider, "name", "none")
        self._count(f"ban/{portal}/{kind}")
        level = self.escalation.record_ban_page()
        if level == "stop":
            logger.error(
                "ban/stopped: portal=%s kind=%s url=%s: most pages are ban pages; the portal is paused for %.0f s; "
                "`realestate resume %s` tries again at once",
                portal,
                kind,
                request.url,
                self.ban_pause_seconds,
                portal,
            )
            self._count(f"ban/{portal}/stopped")
            reason = f"most pages are ban pages ({kind})"
            self._report(lambda feedback: feedback.pause(reason, self.ban_pause_seconds))
        elif level == "slower":
            self._report(lambda feedback: feedback.site_refused(f"ban page: {kind}", 0.0))
        again = self._retry(request, policy, f"ban/{kind}", retry_after_seconds(response))
        if again is None:
            raise Banned(f"ban page: {kind}")
        return again

    def _retry(self, request: Request, policy: Policy, reason: str, wait: float = 0.0) -> Request | None:
        """The request to send again; None if it has no tries left."""
        self._report(lambda feedback: feedback.request_failed(request, policy.fault, reason, wait, slows=policy.slows))
        spider: Any = self.crawler.spider
        max_retries = self.max_retries + policy.extra_retries
        again = get_retry_request(before_redirects(request), spider=spider, reason=reason, max_retry_times=max_retries)
        if again is not None:
            again.meta["retry_delay"] = policy.delay
        return again

    def _report(self, report: Callable[[Feedback], object]) -> None:
        """Report to the fleet, if this process works for one."""
        fleet = fleet_of(self.crawler)
        if fleet is not None and fleet.serving:
            report(fleet.feedback)

    def _count(self, stat: str) -> None:
        assert self.crawler.stats is not None
        self.crawler.stats.inc_value(stat)


def _page_group(request: Request) -> str:
    """Pages of one group are compared with each other: those of a stage; a robots.txt read for its sitemaps apart."""
    is_robots = "/robots.txt" in request.url and urlsplit(request.url).path == "/robots.txt"
    return "robots" if is_robots else str(request.meta["stage"])


def _is_unasked_304(response: Response) -> bool:
    """Whether the response is "not modified" although the request was not conditional."""
    return response.status == NOT_MODIFIED and UNCHANGED not in response.flags

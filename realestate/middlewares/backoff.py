"""Trouble: a refusal, a wall, a silence. The right one is blamed for it, and the request is tried again in its time."""

import logging
import re
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.utils.misc import load_object

from realestate.middlewares.blocks import Rules, Usual, is_html_for_json, read_rules
from realestate.middlewares.conditional import NOT_MODIFIED, UNCHANGED
from realestate.middlewares.policies import ANSWERS, BROKEN, BUSY_WALL, WALL, Escalation, Policy, of_failure
from realestate.queue.feedback import Feedback
from realestate.queue.fleet import fleet_of

logger = logging.getLogger(__name__)

#: Answers that are about us, whatever else the page says.
REFUSALS = frozenset({401, 403, 429})
LONGEST_SECONDS = 86_400.0
_SECONDS = re.compile(r"\d{1,12}", re.ASCII)
#: No portal leads us further than twice.
MOST_HOPS = 5


class Wall(IgnoreRequest):
    """Something else came than the page, however often it was asked for."""

    reason, outcome = "ban", "blocked"


class Astray(IgnoreRequest):
    """Led from address to address, and never to a page."""

    reason = "http"


class BackoffMiddleware:
    """Stands before everything that reads an answer: a wall is never parsed, stored, or taken for gone."""

    def __init__(
        self, crawler: Crawler, rules: Rules, failures: tuple[type[Exception], ...], page_marks: tuple[bytes, ...] = ()
    ) -> None:
        self.crawler = crawler
        self.rules = rules
        self.page_marks = page_marks
        self.failures = failures
        self.times = crawler.settings.getint("RETRY_TIMES")
        self.usual = Usual()
        self.escalation = Escalation()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extra = crawler.settings.get("BAN_RULES")
        failures = tuple(load_object(each) for each in crawler.settings.getlist("RETRY_EXCEPTIONS"))
        # Who has rules of his own wants every page to be held against them.
        marks = () if extra else getattr(crawler.spidercls, "page_marks", ())
        return cls(crawler, read_rules(Path(extra) if extra else None), failures, marks)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        if "stage" not in request.meta:
            return response  # robots.txt
        policy = BROKEN if _is_unasked(response) else ANSWERS.get(response.status)
        if kind := self._wall(request, response):
            means = policy if response.status in REFUSALS and policy else BUSY_WALL if policy and policy.slows else WALL
            return self._met_a_wall(request, kind, means, seconds_to_wait(response))
        if policy is not None:
            wait = seconds_to_wait(response)
            return self._troubled(request, policy, f"status {response.status}", wait) or response
        if leads_nowhere(request, response):
            if again := self._troubled(request, WALL, "redirects in circles"):
                return again
            raise Astray(f"led in circles to {response.url}")
        if response.status == 200:
            stage = _measured_as(request)
            if self.usual.is_cut_short(stage, response.body) and (
                again := self._troubled(request, BROKEN, "cut short")
            ):
                return again  # if it never comes whole, it is what the portal has
            # A search that finds nothing is thin, and so is the word that a home is sold: the parser has to say.
            if stage == "extract" and self.usual.is_thin(stage, len(response.body)):
                response.flags.append("thin")
            else:
                self.usual.saw(stage, response.body)
        self.escalation.fine()
        self._tell(lambda feedback: feedback.request_succeeded(request))
        return response

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        if not isinstance(exception, self.failures) or "stage" not in request.meta:
            return None
        return self._troubled(request, of_failure(exception), type(exception).__name__)

    def _wall(self, request: Request, response: Response) -> str | None:
        kind = None if self._is_marked(response) else self._kind_of(request, response)
        if kind == "refused" and response.status in REFUSALS:
            return None  # it says no more than its status does
        if kind:
            return kind
        if response.status != 200:
            return None
        return "html_for_json" if is_html_for_json(request, response) else None

    def _is_marked(self, response: Response) -> bool:
        return response.status == 200 and any(mark in response.body for mark in self.page_marks)

    def _kind_of(self, request: Request, response: Response) -> str | None:
        was_redirected = bool(request.meta.get("redirect_urls"))
        return self.rules.kind_of(response.status, response.url, response.body, was_redirected=was_redirected)

    def _met_a_wall(self, request: Request, kind: str, policy: Policy, wait: float) -> Request:
        portal = getattr(self.crawler.spider, "name", "none")
        self._count(f"block/{portal}/{kind}")
        level = self.escalation.wall()
        if level == "stop":
            logger.error("block/stopped: %s shows us walls (%s) and is paused; see `realestate resume`", portal, kind)
            self._count(f"block/{portal}/stopped")
            self._tell(lambda feedback: feedback.pause())
        elif level == "slower":
            self._tell(lambda feedback: feedback.site_refused(f"a wall: {kind}", 0.0))
        again = self._troubled(request, policy, f"wall/{kind}", wait)
        if again is None:
            raise Wall(f"a wall: {kind}")
        return again

    def _troubled(self, request: Request, policy: Policy, reason: str, wait: float = 0.0) -> Request | None:
        """The request to be tried again; None when it has been often enough."""
        self._tell(lambda feedback: feedback.request_failed(request, policy.blame, reason, wait, slows=policy.slows))
        spider: Any = self.crawler.spider
        tries = self.times + policy.more_tries
        asked = unled(request)
        again = get_retry_request(asked, spider=spider, reason=reason, max_retry_times=tries)
        if again is not None:
            again.meta["retry_delay"] = policy.delay
        return again

    def _tell(self, act: Callable[[Feedback], object]) -> None:
        """The fleet, if this is one of it."""
        fleet = fleet_of(self.crawler)
        if fleet is not None and fleet.serving:
            act(fleet.feedback)

    def _count(self, stat: str) -> None:
        assert self.crawler.stats is not None
        self.crawler.stats.inc_value(stat)


def _measured_as(request: Request) -> str:
    """A robots.txt that is read for its sitemaps is like no page."""
    is_robots = "/robots.txt" in request.url and urlsplit(request.url).path == "/robots.txt"
    return "robots" if is_robots else str(request.meta["stage"])


def leads_nowhere(request: Request, response: Response) -> bool:
    """Whether it sends us where we have been, or once too often on."""
    location = response.headers.get("Location") if 300 <= response.status < 400 else None
    if location is None:
        return False
    if request.method not in ("GET", "HEAD") and response.status in (301, 302, 303):
        return True  # followed, what was posted would be lost
    been = request.meta.get("redirect_urls", [])
    return len(been) >= MOST_HOPS or response.urljoin(location.decode("latin-1")) in (*been, request.url)


def unled(request: Request) -> Request:
    """The request as it was before the site led it elsewhere: where that was is not what was asked for."""
    meta = {name: value for name, value in request.meta.items() if not name.startswith("redirect_")}
    if meta.keys() == request.meta.keys():
        return request
    return request.replace(url=request.meta["redirect_urls"][0], meta=meta)


def _is_unasked(response: Response) -> bool:
    """Not modified since when?"""
    return response.status == NOT_MODIFIED and UNCHANGED not in response.flags


def seconds_to_wait(response: Response) -> float:
    """Before the site may be asked again, as it says itself."""
    value, served = (response.headers.get(name) or b"" for name in ("Retry-After", "Date"))
    return retry_after(value.decode("latin-1"), served.decode("latin-1"))


def retry_after(value: str, served: str | None) -> float:
    """Seconds to wait, by the site's own clock where it names a date; 0 where it says nothing we understand, and a day
    where it says more: nobody means years."""
    if _SECONDS.fullmatch(value.strip()):
        return min(float(value), LONGEST_SECONDS)
    try:
        wait = (parsedate_to_datetime(value) - parsedate_to_datetime(served or "")).total_seconds()
    except (TypeError, ValueError, OverflowError):  # no date, or one of a zone nobody knows
        return 0.0
    return min(max(0.0, wait), LONGEST_SECONDS)

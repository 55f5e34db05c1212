"""Fetches robots.txt once for the whole fleet and obeys it (RFC 9309).

The worker that finds it out of date fetches it with the send slot and the proxy of its own request, so that the rate
limit holds, and sends its request back to the queue for another slot. Requests that need the rules before they are
known wait in the queue, not in the worker.
"""

import asyncio
import logging
import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import isfinite
from pathlib import Path
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from protego import Protego
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.datatypes import LocalCache

from realestate.accelerate.headers import last
from realestate.middlewares.bans import BanRules, read_ban_rules
from realestate.middlewares.retry import STATUS_POLICIES, policy_for_exception, retry_after_seconds
from realestate.parsing import robots_texts
from realestate.queue import outage
from realestate.queue.credentials import without_credentials
from realestate.queue.engine import LEASE
from realestate.queue.fleet import Fleet, fleet_of
from realestate.queue.packing import put_off
from realestate.queue.refetch import PROXY_ID, SENT
from realestate.queue.robots import Copy

logger = logging.getLogger(__name__)

# ----- the rules of a robots.txt

#: A longer Crawl-delay is a mistake, and must not stop the crawl for days.
MAX_DELAY_SECONDS = 3600.0
#: After a failed fetch the next one waits this many RETRY_DELAY_SECONDS, and twice as long each further time ...
FIRST_WAIT = 5
#: ... up to this.
MAX_WAIT_SECONDS = 900.0
#: By RFC 9309 any 4xx means that a site has no robots.txt. These are about us and not about the file: a site that
#: refuses us has not allowed everything.
FORBIDDING_STATUSES = frozenset({status for status in STATUS_POLICIES if status < 500} | {425})
#: Scheme and host of a URL, which are the same for most pages of a portal.
_BEFORE_PATH = re.compile(r"https?://[^/?#\s]+(?=/)", re.ASCII)


class RobotRules:
    """The rules of a robots.txt for one user agent."""

    def __init__(self, text: bytes, user_agent: str) -> None:
        readable = robots_texts.limited(text)
        self.is_cut = readable.is_cut
        """Whether the file is too long, and its end is ignored."""
        self._rules = Protego.parse(readable.text)
        self.user_agent = user_agent
        self.delay_seconds = self._delay()
        """The time between two requests, by Crawl-delay and Request-rate; 0 if the file has neither."""

    def allows(self, url: str, user_agent: str | None = None) -> bool:
        return bool(self._rules.can_fetch(url, user_agent or self.user_agent))

    def _delay(self) -> float:
        delays = [self._rules.crawl_delay(self.user_agent) or 0.0]
        rate = self._rules.request_rate(self.user_agent)
        if rate is not None and rate.requests > 0:
            # The numbers may have thousands of digits, which no float can hold.
            delays.append(min(rate.seconds, rate.requests * int(MAX_DELAY_SECONDS)) / rate.requests)
        return min(max((each for each in delays if isfinite(each)), default=0.0), MAX_DELAY_SECONDS)


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL, without credentials: each origin has its own robots.txt."""
    found = _BEFORE_PATH.match(url)
    return _origin(found[0] if found else url)


@lru_cache(maxsize=1024)
def _origin(url: str) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower()
    default_port = ":443" if parts.scheme == "https" else ":80"
    return f"{parts.scheme}://{host.removesuffix(default_port)}"


def robots_text(status: int, body: bytes, ban_kind: str | None = None) -> bytes | None:
    """The text of the rules that a response stands for; None if it says nothing and nothing may be fetched.

    An ordinary page in place of the file contains no rules, which allows everything. A ban page says nothing.
    """
    if ban_kind is not None or status in FORBIDDING_STATUSES or status >= 500:
        return None
    return robots_texts.whole_lines(body) if 200 <= status < 300 else b""


def wait_seconds(failures: int, retry_seconds: float) -> float:
    """How long the next fetch waits after this many failed ones in a row."""
    return min(FIRST_WAIT * retry_seconds * 2.0 ** min(failures - 1, 30), MAX_WAIT_SECONDS)


# ----- the middleware

#: A worker looks this often whether the fleet has a newer robots.txt ...
LOOK_MS = 60_000
#: ... and this often while another worker fetches it.
LOOK_AGAIN_MS = 250
#: A request that waits for another worker's fetch waits as long as the fetch has lasted already, so that a thousand
#: requests that wait for minutes do not occupy the queue; but not longer than this.
LONGEST_LOOK_AGAIN_SECONDS = 15.0
#: If Redis does not reply for this long, the worker goes on with the rules that it knows.
REDIS_SECONDS = 2.0
#: A slower response to robots.txt counts as none.
TIMEOUT_SECONDS = 15
MAX_REDIRECTS = 5
#: A request waits RETRY_TIMES plus this many times for a robots.txt that cannot be fetched.
EXTRA_WAITS = 4
#: `request.meta` key: how many times the request has waited for that.
WAITED = "robots_waits"
#: A worker remembers the rules of this many hosts.
MAX_HOSTS = 1_000


class Forbidden(IgnoreRequest):
    """robots.txt forbids the URL, or cannot be fetched, which forbids it too."""

    reason = "robots"
    outcome = "forbidden"


@dataclass(frozen=True, slots=True)
class Known:
    """What this worker knows about a host's robots.txt. Times are Redis', in milliseconds."""

    rules: RobotRules | None = None
    text: bytes | None = None
    look_at: float = 0.0
    """When this worker asks Redis again."""
    again_at: float = 0.0
    """When the file is fetched again."""
    failures: int = 0
    reason: str = ""
    """Why the last fetch failed."""


class Fetched(NamedTuple):
    """The result of one fetch of a robots.txt."""

    text: bytes | None
    """None if it failed."""
    reason: str
    """Why it failed."""


class RobotsMiddleware:
    """Replaces Scrapy's: that one fetches the file once for each process, and takes an error for a permission."""

    def __init__(self, crawler: Crawler, ban_rules: BanRules) -> None:
        settings = crawler.settings
        if not settings.getbool("ROBOTSTXT_OBEY"):
            raise NotConfigured
        assert crawler.stats is not None
        self.crawler = crawler
        self.stats = crawler.stats
        self.ban_rules = ban_rules
        self.own_user_agent: str | None = settings["ROBOTSTXT_USER_AGENT"]
        self.user_agent: str = self.own_user_agent or settings["USER_AGENT"]
        self.keep_seconds = settings.getfloat("ROBOTSTXT_SECONDS")
        self.retry_seconds = settings.getfloat("RETRY_DELAY_SECONDS")
        self.max_waits = settings.getint("RETRY_TIMES") + EXTRA_WAITS
        self._known: LocalCache[str, Known] = LocalCache(MAX_HOSTS)
        self._lock = asyncio.Lock()
        self._fetching: set[str] = set()
        """Origins whose file this worker is fetching for the fleet."""
        self._unknown_since: LocalCache[str, float] = LocalCache(MAX_HOSTS)
        """Since when requests wait because another worker fetches the file of this origin."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        own_rules = crawler.settings.get("BAN_RULES")
        return cls(crawler, read_ban_rules(Path(own_rules) if own_rules else None))

    async def process_request(self, request: Request) -> Request | None:
        if request.meta.get("dont_obey_robotstxt") or not request.url.startswith(("http://", "https://")):
            return None
        origin = origin_of(request.url)
        fleet = fleet_of(self.crawler)
        if fleet is None or LEASE not in request.meta:
            self._obey(await self._rules_without_fleet(origin, request), request)
            return None
        known = self._known.get(origin)
        must_fetch = False
        if known is None or fleet.now() >= known.look_at:
            known, must_fetch = await self._look(fleet, origin)
        if must_fetch:
            known = await self._fetch_for_fleet(fleet, origin, request)
        if known.rules is None:
            return self._wait(fleet, request, known, origin)
        self._unknown_since.pop(origin, None)
        self._obey(known.rules, request)
        queue = fleet.queue
        if must_fetch and (queue.limits.rate or queue.proxies is not None or known.rules.delay_seconds):
            return put_off(request, 0.0)  # robots.txt has used its send slot
        return None

    def _obey(self, rules: RobotRules, request: Request) -> None:
        """Raises Forbidden if the rules forbid the request."""
        request.meta.pop(WAITED, None)
        user_agent = None
        if not self.own_user_agent:
            user_agent = (last(request.headers, "User-Agent") or b"").decode("latin-1")
        if not rules.allows(request.url, user_agent):
            self.stats.inc_value("robotstxt/forbidden")
            raise Forbidden("Forbidden by robots.txt")

    def _wait(self, fleet: Fleet, request: Request, known: Known, origin: str) -> Request:
        """Send the request back to the queue until another worker has fetched the file, or until the next try."""
        self.stats.inc_value("robotstxt/put_off")
        seconds = min((known.again_at - fleet.now()) / 1000, MAX_WAIT_SECONDS)
        if seconds <= 0:
            return put_off(request, random.uniform(1, 2) * self._look_again_seconds(fleet, origin))
        self._unknown_since.pop(origin, None)
        waited = request.meta.get(WAITED, 0)
        if waited >= self.max_waits:
            raise Forbidden(f"robots.txt cannot be fetched: {known.reason}")
        again = put_off(request, seconds + random.uniform(0, 0.1) * seconds)
        again.meta[WAITED] = waited + 1
        return again

    def _look_again_seconds(self, fleet: Fleet, origin: str) -> float:
        since = self._unknown_since.get(origin)
        if since is None:
            since = self._unknown_since[origin] = fleet.now()
        waited = (fleet.now() - since) / 1000
        return min(max(waited, LOOK_AGAIN_MS / 1000), LONGEST_LOOK_AGAIN_SECONDS)

    # ----- the fleet's copy in Redis

    async def _look(self, fleet: Fleet, origin: str) -> tuple[Known, bool]:
        """What the fleet knows, and whether this worker has to fetch the file.

        While Redis is not available, the last rules are used.
        """
        async with self._lock:
            known = self._known.get(origin) or Known()
            now = fleet.now()
            if now < known.look_at:
                return known, False
            try:
                async with asyncio.timeout(REDIS_SECONDS):
                    copy = await fleet.robots.look(origin, fetching=origin in self._fetching)
            except TimeoutError:
                outage.REDIS.failed(f"reading robots.txt, {self._fields(origin)}", "it does not reply")
                self._known[origin] = replace(known, look_at=now + 4 * LOOK_AGAIN_MS)
                return self._known[origin], False
            self._known[origin] = self._learn(fleet, origin, copy, known)
            if copy.must_fetch:
                self._fetching.add(origin)
            return self._known[origin], copy.must_fetch

    def _learn(self, fleet: Fleet, origin: str, copy: Copy, known: Known) -> Known:
        """What is known with this copy. Sets the fleet's Crawl-delay, as each worker does that reads the copy."""
        look_at = copy.now + LOOK_AGAIN_MS if copy.is_being_fetched else min(copy.again_at, copy.now + LOOK_MS)
        rules = known.rules
        if copy.text is None:
            rules = None
        elif rules is None or copy.text != known.text:
            rules = self._new_rules(origin, copy.text)
            fleet.feedback.set_crawl_delay(rules.delay_seconds, origin)
        return Known(rules, copy.text, look_at, copy.again_at, copy.failures, copy.reason)

    def _new_rules(self, origin: str, text: bytes) -> RobotRules:
        rules = RobotRules(text, self.user_agent)
        if rules.is_cut:
            self._cut_short(origin)
        return rules

    def _cut_short(self, origin: str) -> None:
        self.stats.inc_value("robotstxt/cut_short")
        logger.warning("robots/cut_short: %s: the file is too long; its end is ignored", self._fields(origin))

    async def _fetch_for_fleet(self, fleet: Fleet, origin: str, request: Request) -> Known:
        """Fetch the file and save the result in Redis. Whatever happens, the fleet's lock is released."""
        try:
            text, reason = await self._fetch(origin, request, fleet)
        except BaseException as error:
            is_forbidden = isinstance(error, IgnoreRequest)
            why = "the address must not be fetched" if is_forbidden else f"the fetch ended: {type(error).__name__}"
            self._save_in_background(fleet, origin, partial(fleet.robots.save_failure, origin, why, 0))
            raise
        known = self._known.get(origin) or Known()
        if text is not None:
            seconds = self.keep_seconds
            copy = Copy(0, False, 0, 0, text, "")
            saving = self._save_in_background(fleet, origin, partial(fleet.robots.save, origin, text, seconds))
        else:
            failures = known.failures + 1
            seconds = wait_seconds(failures, self.retry_seconds)
            copy = Copy(0, False, 0, failures, known.text, reason)
            self.stats.inc_value("robotstxt/unreachable")
            logger.warning("robots/unreachable: %s: %s; next try in %.0f s", self._fields(origin), reason, seconds)
            failed = partial(fleet.robots.save_failure, origin, reason, seconds)
            saving = self._save_in_background(fleet, origin, failed)
        await asyncio.wait({saving}, timeout=REDIS_SECONDS)
        now = fleet.now()
        copy = copy._replace(now=now, again_at=now + seconds * 1000)
        self._known[origin] = self._learn(fleet, origin, copy, known)
        return self._known[origin]

    def _save_in_background(
        self, fleet: Fleet, origin: str, save: Callable[[], Awaitable[None]]
    ) -> "asyncio.Task[None]":
        """Save the result and release the lock, also if Redis is away now."""
        self._fetching.discard(origin)
        return fleet.run_in_background(save, f"saving the robots.txt of {origin}")

    async def _rules_without_fleet(self, origin: str, request: Request) -> RobotRules:
        """The rules for a request that is not the fleet's, such as those of `scrapy shell`."""
        async with self._lock:
            known = self._known.get(origin)
            if known is not None and known.rules is not None:
                return known.rules
            text, reason = await self._fetch(origin, request)
            if text is None:
                raise Forbidden(f"robots.txt cannot be fetched: {reason}")
            rules = self._new_rules(origin, text)
            self._known[origin] = Known(rules, text)
            return rules

    def _fields(self, origin: str) -> str:
        """The fields of a log line."""
        return f"portal={getattr(self.crawler.spider, 'name', 'none')} url={origin}/robots.txt"

    # ----- fetching

    async def _fetch(self, origin: str, request: Request, fleet: Fleet | None = None) -> Fetched:
        """Fetch the file once. A failure is reported as the fault of the request's proxy."""
        self.stats.inc_value("robotstxt/request_count")
        try:
            response, was_redirected = await self._download(f"{origin}/robots.txt", request, fleet)
        except Exception as error:
            if getattr(error, "reason", None) and isinstance(error, IgnoreRequest):
                raise  # a forbidden address: the page must not be fetched either
            self.stats.inc_value(f"robotstxt/exception_count/{type(error).__name__}")
            if fleet is not None and not isinstance(error, IgnoreRequest):
                fleet.feedback.request_failed(request, policy_for_exception(error).fault, "robots.txt", 0.0)
            return Fetched(None, without_credentials(str(error)).partition("\n")[0] or type(error).__name__)
        self.stats.inc_value("robotstxt/response_count")
        self.stats.inc_value(f"robotstxt/response_status_count/{response.status}")
        ban_kind = self.ban_rules.kind_of(response.status, response.url, response.body, was_redirected=was_redirected)
        text = robots_text(response.status, response.body, ban_kind)
        if text and len(text) < len(response.body):
            self._cut_short(origin)
        reason = f"ban page: {ban_kind}" if ban_kind else f"status {response.status}"
        policy = STATUS_POLICIES.get(response.status)
        if fleet is not None and text is None and policy is not None:
            wait = retry_after_seconds(response)
            fleet.feedback.request_failed(request, policy.fault, f"robots.txt: {reason}", wait, slows=policy.slows)
        return Fetched(text, reason)

    async def _download(self, url: str, request: Request, fleet: Fleet | None) -> tuple[Response, bool]:
        """The response after a few redirects at most, at the rate limit; and whether there was a redirect."""
        rate = fleet.queue.limits.rate if fleet is not None else 0.0
        meta = {name: request.meta[name] for name in (PROXY_ID, SENT) if name in request.meta}
        meta["dont_obey_robotstxt"] = True
        meta["dont_redirect"] = True
        meta["allow_offsite"] = True
        meta["download_timeout"] = TIMEOUT_SECONDS
        assert self.crawler.engine is not None
        for redirects in range(MAX_REDIRECTS + 1):
            robots_request = Request(url, NO_CALLBACK, meta=dict(meta), priority=1000)
            response = await self.crawler.engine.download_async(robots_request)
            location = response.headers.get("Location") if 300 <= response.status < 400 else None
            if location is None or redirects == MAX_REDIRECTS:
                break
            url = _redirect_target(response, location)
            await asyncio.sleep(1 / rate if rate else 0)
        return response, redirects > 0


def _redirect_target(response: Response, location: bytes) -> str:
    """The URL of a redirect. Raises IgnoreRequest unless it is http or https: it could be a file of this machine."""
    try:
        url = response.urljoin(location.decode("latin-1"))
        origin_of(url)
    except ValueError as error:
        raise IgnoreRequest(str(error)) from error
    if not url.startswith(("http://", "https://")):
        raise IgnoreRequest("redirected to a URL that is not http or https")
    return url

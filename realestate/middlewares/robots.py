"""robots.txt, asked for once by the whole fleet and obeyed by all of it.

Who finds that it is time to ask gives the moment and the exit of its own request for it, so that the pace is kept, and
asks for another. What cannot be decided before the answer is there waits in the queue, at no cost; nothing waits here.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from redis.exceptions import RedisError
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.datatypes import LocalCache

from realestate.accelerate.headers import last
from realestate.middlewares.backoff import seconds_to_wait
from realestate.middlewares.blocks import Rules, read_rules
from realestate.middlewares.policies import ANSWERS, of_failure
from realestate.middlewares.robotrules import RobotRules, origin_of, said, wait_seconds
from realestate.queue.engine import LEASE
from realestate.queue.fleet import Fleet, fleet_of
from realestate.queue.packing import put_off
from realestate.queue.refetch import PROXY_ID, SENT
from realestate.queue.robots import Copy

logger = logging.getLogger(__name__)

#: A worker looks so often whether the fleet knows something new; and so soon while somebody asks.
LOOK_MS, MOMENT_MS = 60_000, 250
#: An answer of a few lines that takes longer is none.
ASK_SECONDS = 15
MOST_REDIRECTS = 5
#: How much oftener than RETRY_TIMES a request waits for a site that cannot be asked.
MORE_WAITS = 4
#: Where a request carries how often it has waited for that.
WAITED = "robots_waits"
#: Hosts whose rules a worker remembers.
MOST_HOSTS = 1_000


class Forbidden(IgnoreRequest):
    """robots.txt says no, or cannot be asked, which is a no too."""

    reason, outcome = "robots", "forbidden"


@dataclass(frozen=True, slots=True)
class Known:
    """What this worker knows of a host. Times are Redis', in milliseconds."""

    rules: RobotRules | None = None
    text: bytes | None = None
    look_at: float = 0.0
    again_at: float = 0.0
    failures: int = 0
    reason: str = ""


class RobotsMiddleware:
    """In place of Scrapy's, which asks once a process, and takes an error for a permission."""

    def __init__(self, crawler: Crawler, walls: Rules) -> None:
        settings = crawler.settings
        if not settings.getbool("ROBOTSTXT_OBEY"):
            raise NotConfigured
        assert crawler.stats is not None
        self.crawler = crawler
        self.stats = crawler.stats
        self.walls = walls
        self.own_name: str | None = settings["ROBOTSTXT_USER_AGENT"]
        self.user_agent: str = self.own_name or settings["USER_AGENT"]
        self.keep_seconds = settings.getfloat("ROBOTSTXT_SECONDS")
        self.retry_seconds = settings.getfloat("RETRY_DELAY_SECONDS")
        self.most_waits = settings.getint("RETRY_TIMES") + MORE_WAITS
        self._known: LocalCache[str, Known] = LocalCache(MOST_HOSTS)
        self._looking = asyncio.Lock()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extra = crawler.settings.get("BAN_RULES")
        return cls(crawler, read_rules(Path(extra) if extra else None))

    async def process_request(self, request: Request) -> Request | None:
        if request.meta.get("dont_obey_robotstxt") or not request.url.startswith(("http://", "https://")):
            return None
        origin = origin_of(request.url)
        fleet = fleet_of(self.crawler)
        if fleet is None or LEASE not in request.meta:
            self._obey(await self._alone(origin, request), request)
            return None
        known, asks = self._known.get(origin), False
        if known is None or fleet.now() >= known.look_at:
            known, asks = await self._look(fleet, origin)
        if asks:
            known = await self._ask(fleet, origin, request)
        if known.rules is None:
            return self._wait(fleet, request, known)
        self._obey(known.rules, request)
        queue = fleet.queue
        if asks and (queue.limits.rate or queue.proxies is not None or known.rules.delay_seconds):
            return put_off(request, 0.0)  # its moment is spent
        return None

    def _obey(self, rules: RobotRules, request: Request) -> None:
        request.meta.pop(WAITED, None)
        name = None if self.own_name else (last(request.headers, "User-Agent") or b"").decode("latin-1")
        if not rules.allows(request.url, name):
            self.stats.inc_value("robotstxt/forbidden")
            raise Forbidden("Forbidden by robots.txt")

    def _wait(self, fleet: Fleet, request: Request, known: Known) -> Request:
        """For somebody's answer, a moment; for a site that cannot be asked, until it is asked again."""
        self.stats.inc_value("robotstxt/put_off")
        seconds = (known.again_at - fleet.now()) / 1000
        if seconds <= 0:
            return put_off(request, random.uniform(1, 2) * MOMENT_MS / 1000)
        waited = request.meta.get(WAITED, 0)
        if waited >= self.most_waits:
            raise Forbidden(f"robots.txt cannot be asked: {known.reason}")
        again = put_off(request, seconds + random.uniform(0, 0.1) * seconds)
        again.meta[WAITED] = waited + 1
        return again

    # ----- what the fleet knows

    async def _look(self, fleet: Fleet, origin: str) -> tuple[Known, bool]:
        """And whether this worker is to ask. While Redis is away, what was known will do."""
        async with self._looking:
            known, now = self._known.get(origin) or Known(), fleet.now()
            if now < known.look_at:
                return known, False
            try:
                copy = await fleet.robots.look(origin)
            except (RedisError, OSError) as error:
                logger.warning("robots/unknown: %s", error)
                self._known[origin] = replace(known, look_at=now + 4 * MOMENT_MS)
                return self._known[origin], False
            self._known[origin] = self._learned(fleet, origin, copy, known)
            return self._known[origin], copy.must_fetch

    def _learned(self, fleet: Fleet, origin: str, copy: Copy, known: Known) -> Known:
        """Told to the pace by everybody who reads it: that does no harm, and agrees with who we are now."""
        look_at = copy.now + MOMENT_MS if copy.is_being_fetched else min(copy.again_at, copy.now + LOOK_MS)
        rules = known.rules
        if copy.text is None:
            rules = None
        elif rules is None or copy.text != known.text:
            rules = RobotRules(copy.text, self.user_agent)
            fleet.feedback.set_crawl_delay(rules.delay_seconds, origin)
        return Known(rules, copy.text, look_at, copy.again_at, copy.failures, copy.reason)

    async def _ask(self, fleet: Fleet, origin: str, request: Request) -> Known:
        try:
            text, reason = await self._asked(origin, request, fleet)
        except IgnoreRequest:
            await _told(fleet.robots.save_failure(origin, "not to be asked", 0))
            raise
        known = self._known[origin]
        if text is not None:
            seconds, copied = self.keep_seconds, Copy(0, False, 0, 0, text, "")
            telling = fleet.robots.save(origin, text, seconds)
        else:
            failures = known.failures + 1
            seconds, copied = (
                wait_seconds(failures, self.retry_seconds),
                Copy(0, False, 0, failures, known.text, reason),
            )
            telling = fleet.robots.save_failure(origin, reason, seconds)
            self.stats.inc_value("robotstxt/unreachable")
            logger.warning("robots/unreachable: %s: %s; asked again in %.0f s", origin, reason, seconds)
        await _told(telling)
        now = fleet.now()
        copied = copied._replace(now=now, again_at=now + seconds * 1000)
        self._known[origin] = self._learned(fleet, origin, copied, known)
        return self._known[origin]

    async def _alone(self, origin: str, request: Request) -> RobotRules:
        """For a request that is not the fleet's, such as those of `scrapy shell`."""
        async with self._looking:
            known = self._known.get(origin)
            if known is not None and known.rules is not None:
                return known.rules
            text, reason = await self._asked(origin, request)
            if text is None:
                raise Forbidden(f"robots.txt cannot be asked: {reason}")
            rules = RobotRules(text, self.user_agent)
            self._known[origin] = Known(rules, text)
            return rules

    # ----- asking the site

    async def _asked(self, origin: str, request: Request, fleet: Fleet | None = None) -> tuple[bytes | None, str]:
        """What counts as the site's word; or None, and why."""
        self.stats.inc_value("robotstxt/request_count")
        try:
            response, is_redirected = await self._answer(f"{origin}/robots.txt", request, fleet)
        except Exception as error:
            if getattr(error, "reason", None) and isinstance(error, IgnoreRequest):
                raise  # nobody may ask there at all, for the page neither
            self.stats.inc_value(f"robotstxt/exception_count/{type(error).__name__}")
            if fleet is not None and not isinstance(error, IgnoreRequest):
                fleet.feedback.request_failed(request, of_failure(error).blame, "robots.txt", 0.0)
            return None, type(error).__name__
        self.stats.inc_value("robotstxt/response_count")
        self.stats.inc_value(f"robotstxt/response_status_count/{response.status}")
        wall = self.walls.kind_of(response.status, response.url, response.body, was_redirected=is_redirected)
        text = said(response.status, response.body, wall)
        reason = f"a wall: {wall}" if wall else f"status {response.status}"
        if fleet is not None and text is None and (policy := ANSWERS.get(response.status)):
            wait = seconds_to_wait(response)
            fleet.feedback.request_failed(request, policy.blame, f"robots.txt: {reason}", wait, slows=policy.slows)
        return text, reason

    async def _answer(self, url: str, request: Request, fleet: Fleet | None) -> tuple[Response, bool]:
        """Wherever the site sends us for it, a few times at most and at its pace; and whether it did."""
        rate = fleet.queue.limits.rate if fleet is not None else 0.0
        meta = {name: request.meta[name] for name in (PROXY_ID, SENT) if name in request.meta}
        meta |= {"dont_obey_robotstxt": True, "dont_redirect": True, "allow_offsite": True}
        assert self.crawler.engine is not None
        for hops in range(MOST_REDIRECTS + 1):
            told = {**meta, "download_timeout": ASK_SECONDS}
            response = await self.crawler.engine.download_async(Request(url, NO_CALLBACK, meta=told, priority=1000))
            location = response.headers.get("Location") if 300 <= response.status < 400 else None
            if location is None or hops == MOST_REDIRECTS:
                break
            url = _led_to(response, location)
            await asyncio.sleep(1 / rate if rate else 0)
        return response, hops > 0


def _led_to(response: Response, location: bytes) -> str:
    """Nowhere but to another page of the net: a site may not have us read a file of ours."""
    try:
        url = response.urljoin(location.decode("latin-1"))
        origin_of(url)
    except ValueError as error:
        raise IgnoreRequest(str(error)) from error
    if not url.startswith(("http://", "https://")):
        raise IgnoreRequest("led out of the net")
    return url


async def _told(telling: Awaitable[None]) -> None:
    """If Redis is away, somebody will ask again."""
    try:
        await telling
    except (RedisError, OSError) as error:
        logger.warning("robots/untold: %s", error)

"""Sends each request out by the exit it was granted, as the identity that belongs to it."""

import asyncio
import logging
import random
from collections.abc import Sequence
from typing import Self

from scrapy import Request
from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.cookies import CookiesMiddleware
from scrapy.exceptions import IgnoreRequest

from realestate.accelerate.headers import put_on
from realestate.middlewares.handler import ENTERED, TRUSTED
from realestate.middlewares.identities import Identities, Session
from realestate.middlewares.proxies import Pool, Proxy
from realestate.middlewares.sources import Source, Sources, from_settings
from realestate.queue import signals
from realestate.queue.engine import LEASE
from realestate.queue.feedback import IDENTITY_HEADERS, remove_identity
from realestate.queue.fleet import fleet_of
from realestate.queue.packing import put_off
from realestate.queue.refetch import PROXY_ID
from realestate.queue.workers import worker_name

logger = logging.getLogger(__name__)

#: How often a worker asks how its exits stand, for their identities: after a refusal an exit is somebody else.
LOOK_SECONDS = 2.0
#: Without proxies we leave as we are.
OWN = "own"


class NoWay(IgnoreRequest):
    """There is no exit by which it could leave."""

    reason = "download"


class ExitsMiddleware:
    """Nothing it sets was chosen here: the exit came with the lease, and who we are there follows from it."""

    def __init__(self, crawler: Crawler, identities: Identities, sources: Sequence[Source]) -> None:
        assert crawler.stats is not None
        self.crawler = crawler
        self.identities = identities
        self.pool = Pool()
        self.sources = Sources(self.pool, sources, stats=crawler.stats, changed=self.changed)
        self._sessions: dict[str, int] = {}
        self._worn_by: dict[str, str] = {}
        self._cookies: CookiesMiddleware | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings, spider, stats = crawler.settings, crawler.spidercls, crawler.stats
        assert stats is not None
        country = getattr(spider, "country", "")
        identities = Identities(
            spider.name,
            country,
            mode=settings["IDENTITY"],
            user_agent=settings["USER_AGENT"],
            session=Session(settings.getint("SESSION_REQUESTS"), settings.getfloat("SESSION_SECONDS")),
        )
        site = getattr(spider, "site", "")
        told = {"portal": spider.name, "site": site, "country": country, "worker": worker_name()}
        middleware = cls(crawler, identities, from_settings(settings, **told, stats=stats))
        crawler.signals.connect(middleware.serving, signal=signals.serving)
        crawler.signals.connect(middleware.closed, signal=scrapy_signals.spider_closed)
        return middleware

    def serving(self) -> None:
        """With sources nothing leaves but by what they give, and until then nothing does."""
        self._cookies = self.crawler.get_downloader_middleware(CookiesMiddleware)
        if len(self.sources):
            self.changed()
            self._tasks = [asyncio.create_task(self.sources.run()), asyncio.create_task(self._look())]

    def changed(self) -> None:
        fleet = fleet_of(self.crawler)
        if fleet is not None:
            fleet.feedback.use_proxies(self.pool.exits())

    async def closed(self) -> None:
        for task in self._tasks:
            task.cancel()
        await self.sources.close()

    def process_request(self, request: Request) -> Request | None:
        remove_identity(request)
        name = request.meta.get(PROXY_ID) or self._any()
        if proxy := self.pool.get(name):
            self._leave_by(request, proxy, self._sessions.get(name, 0))
        elif len(self.sources):
            return self._not_now(request)
        identity = self.identities.of(name, self._sessions.get(name, 0), self._seconds())
        self._forget_cookies(name, identity.name)
        worn = put_on(request.headers, identity.headers)  # what the portal itself asks for counts
        request.meta.update({IDENTITY_HEADERS: worn, "cookiejar": identity.name})
        return None

    def _not_now(self, request: Request) -> Request:
        """Its exit has gone meanwhile, or none has come yet: our own address is not shown."""
        if LEASE not in request.meta:
            raise NoWay("there is no exit yet")
        return put_off(request, 0.0)

    def _forget_cookies(self, exit: str, identity: str) -> None:
        """Of who we were there before."""
        before, self._worn_by[exit] = self._worn_by.get(exit), identity
        if before not in (None, identity) and self._cookies is not None:
            self._cookies.jars.pop(before, None)

    def _leave_by(self, request: Request, proxy: Proxy, refusals: int) -> None:
        if proxy.gateway is None:
            request.meta["proxy"] = proxy.url_after(refusals)
            if proxy.ca is not None or not proxy.verifies:
                request.meta[TRUSTED] = str(proxy.ca) if proxy.verifies else False
        elif entered := proxy.gateway.entered(request.url):
            request.meta[ENTERED] = entered
        else:
            raise NoWay("no gateway leads there")

    def _any(self) -> str:
        """For robots.txt, which nobody granted an exit: with proxies our own address is not shown."""
        exits = self.pool.exits()
        return random.choice(exits).id if exits else OWN

    def _seconds(self) -> float:
        """Redis' time, which is the same for all workers."""
        now = 0.0
        fleet = fleet_of(self.crawler)
        if fleet is not None and fleet.serving:
            now = fleet.now() / 1000
        return now

    async def _look(self) -> None:
        """For ever. What was known will do while Redis is away."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            fleet = fleet_of(self.crawler)
            if fleet is None:
                continue
            try:
                standings = await fleet.feedback.proxy_health.all()
            except Exception as error:
                logger.warning("exits/unknown: %s", error)
                continue
            self._sessions = {name: standing.session for name, standing in standings.items()}

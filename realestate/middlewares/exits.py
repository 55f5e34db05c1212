"""Sends each request out by the exit it was granted, as the identity that belongs to it."""

import asyncio
import logging
import random
from collections.abc import Callable
from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler

from realestate.middlewares import proxies
from realestate.middlewares.identities import Identities, Session
from realestate.middlewares.proxies import Pool
from realestate.queue import signals
from realestate.queue.manners import EXIT, WORN, undress
from realestate.queue.scheduler import Scheduler

logger = logging.getLogger(__name__)

#: How often a worker asks how its exits stand, for their identities: after a refusal an exit is somebody else.
LOOK_SECONDS = 2.0
#: Without proxies we leave as we are.
OWN = "own"


class ExitsMiddleware:
    """Nothing it sets was chosen here: the exit came with the lease, and who we are there follows from it."""

    def __init__(self, crawler: Crawler, pool: Pool, identities: Identities) -> None:
        self.crawler = crawler
        self.pool = pool
        self.identities = identities
        self._sessions: dict[str, int] = {}
        self._looking: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        pool = Pool(proxies.parse(text) for text in settings.getlist("PROXIES"))
        session = Session(settings.getint("SESSION_REQUESTS"), settings.getfloat("SESSION_SECONDS"))
        country = getattr(crawler.spidercls, "country", "")
        identities = Identities(
            crawler.spidercls.name,
            country,
            mode=settings["IDENTITY"],
            user_agent=settings["USER_AGENT"],
            session=session,
        )
        middleware = cls(crawler, pool, identities)
        crawler.signals.connect(middleware.serving, signal=signals.serving)
        crawler.signals.connect(middleware.stopping, signal=signals.stopping)
        return middleware

    def serving(self) -> None:
        if self.pool:
            self._fleet(lambda scheduler: scheduler.manners.use(self.pool.exits()))
            self._looking = asyncio.create_task(self._look())

    def stopping(self) -> None:
        if self._looking is not None:
            self._looking.cancel()

    def process_request(self, request: Request) -> None:
        undress(request)
        name = request.meta.get(EXIT) or self._any()
        if proxy := self.pool.get(name):
            request.meta["proxy"] = proxy.url
        identity = self.identities.of(name, self._sessions.get(name, 0), self._seconds())
        worn = [header for header, _ in identity.headers if header not in request.headers]
        for header, value in identity.headers:
            request.headers.setdefault(header, value)  # what the portal itself asks for counts
        request.meta.update({WORN: worn, "cookiejar": identity.name})

    def _any(self) -> str:
        """For robots.txt, which nobody granted an exit: with proxies our own address is not shown."""
        exits = self.pool.exits()
        return random.choice(exits).id if exits else OWN

    def _seconds(self) -> float:
        """Redis' time, which is the same for all workers."""
        now = 0.0
        scheduler = self.crawler.engine.scheduler if self.crawler.engine is not None else None
        if isinstance(scheduler, Scheduler) and scheduler.serving:
            now = scheduler.buffer.now() / 1000
        return now

    async def _look(self) -> None:
        """For ever. What was known will do while Redis is away."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            scheduler: Any = self.crawler.engine.scheduler if self.crawler.engine is not None else None
            try:
                standings = await scheduler.manners.standings.all()
            except Exception as error:
                logger.warning("exits/unknown: %s", error)
                continue
            self._sessions = {name: standing.session for name, standing in standings.items()}

    def _fleet(self, act: Callable[[Scheduler], None]) -> None:
        scheduler = self.crawler.engine.scheduler if self.crawler.engine is not None else None
        if isinstance(scheduler, Scheduler):
            act(scheduler)

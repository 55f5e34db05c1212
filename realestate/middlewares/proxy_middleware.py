"""Sends each request through the proxy that was granted with its lease, with the identity that belongs to it."""

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
from scrapy.settings import BaseSettings

from realestate.accelerate.headers import put_on
from realestate.middlewares.identities import Identities, Session
from realestate.middlewares.proxies import Proxy, ProxyPool
from realestate.middlewares.proxy_sources import ProxySource, ProxySources, sources_from_settings
from realestate.queue import signals
from realestate.queue.engine import LEASE
from realestate.queue.feedback import GATEWAY_URL, IDENTITY_HEADERS, TRUSTED_CA, remove_identity
from realestate.queue.fleet import fleet_of
from realestate.queue.packing import put_off
from realestate.queue.proxy_health import cheapest_tier
from realestate.queue.refetch import PROXY_ID
from realestate.queue.scrapy_redis_settings import is_set
from realestate.queue.workers import worker_name

logger = logging.getLogger(__name__)

#: How often a worker reads the health of its proxies: after a refusal a proxy gets another identity.
HEALTH_SECONDS = 2.0
#: Stands for the proxy id when no proxies are configured.
DIRECT_ID = "own"


class NoProxy(IgnoreRequest):
    """There is no proxy through which the request could be sent."""

    reason = "download"


class ProxyMiddleware:
    """Sets proxy, headers and cookie jar of a request. The queue chose the proxy; the identity follows from it."""

    def __init__(self, crawler: Crawler, identities: Identities, sources: Sequence[ProxySource]) -> None:
        assert crawler.stats is not None
        self.crawler = crawler
        self.identities = identities
        self.pool = ProxyPool()
        self.sources = ProxySources(self.pool, sources, stats=crawler.stats, changed=self.proxies_changed)
        self._sessions: dict[str, int] = {}
        self._identity_names: dict[str, str] = {}
        self._cookies: CookiesMiddleware | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        spider = crawler.spidercls
        assert crawler.stats is not None
        country = getattr(spider, "country", "")
        identities = Identities(
            spider.name,
            country,
            mode=settings["IDENTITY"],
            user_agent=getattr(spider, "user_agent", None) or settings["USER_AGENT"],
            session=Session(settings.getint("SESSION_REQUESTS"), settings.getfloat("SESSION_SECONDS")),
            default_headers=_default_headers(settings),
        )
        sources = sources_from_settings(
            settings,
            portal=spider.name,
            site=getattr(spider, "site", ""),
            country=country,
            worker=worker_name(),
            stats=crawler.stats,
        )
        middleware = cls(crawler, identities, sources)
        crawler.signals.connect(middleware.serving, signal=signals.serving)
        crawler.signals.connect(middleware.closed, signal=scrapy_signals.spider_closed)
        return middleware

    def serving(self) -> None:
        """Start to refresh the proxies. With sources, nothing is sent until one of them has given a proxy."""
        self._cookies = self.crawler.get_downloader_middleware(CookiesMiddleware)
        if len(self.sources):
            self.proxies_changed()
            self._tasks = [asyncio.create_task(self.sources.run()), asyncio.create_task(self._read_health())]

    def proxies_changed(self) -> None:
        fleet = fleet_of(self.crawler)
        if fleet is not None:
            fleet.feedback.use_proxies(self.pool.refs())

    async def closed(self) -> None:
        for task in self._tasks:
            task.cancel()
        await self.sources.close()

    def process_request(self, request: Request) -> Request | None:
        remove_identity(request)
        proxy_id = request.meta.get(PROXY_ID) or self._any_proxy_id()
        sessions = self._sessions.get(proxy_id, 0)
        if proxy := self.pool.get(proxy_id):
            self._send_through(request, proxy, sessions)
        elif len(self.sources):
            return self._wait_for_proxy(request)
        identity = self.identities.of(proxy_id, sessions, self._now_seconds())
        self._drop_old_cookies(proxy_id, identity.name)
        header_names = put_on(request.headers, identity.headers)  # headers that the portal itself set stay
        request.meta[IDENTITY_HEADERS] = header_names
        request.meta["cookiejar"] = identity.name
        return None

    def _wait_for_proxy(self, request: Request) -> Request:
        """The proxy has gone meanwhile, or there is none yet. The direct connection is not used instead."""
        if LEASE not in request.meta:
            raise NoProxy("no proxy is available yet")
        return put_off(request, 0.0)

    def _drop_old_cookies(self, proxy_id: str, identity_name: str) -> None:
        """Delete the cookies of the identity that the proxy had before."""
        before = self._identity_names.get(proxy_id)
        self._identity_names[proxy_id] = identity_name
        if before not in (None, identity_name) and self._cookies is not None:
            self._cookies.jars.pop(before, None)

    def _send_through(self, request: Request, proxy: Proxy, sessions: int) -> None:
        if proxy.gateway is None:
            request.meta["proxy"] = proxy.url_after(sessions)
            if proxy.ca is not None or not proxy.verify:
                request.meta[TRUSTED_CA] = str(proxy.ca) if proxy.verify else False
        elif url := proxy.gateway.url_for(request.url):
            request.meta[GATEWAY_URL] = url
        else:
            raise NoProxy("the gateway serves another site")

    def _any_proxy_id(self) -> str:
        """A proxy for a request that was granted none, such as robots.txt outside of a fleet."""
        refs = self.pool.refs()
        if not refs:
            return DIRECT_ID
        tier = cheapest_tier(refs)
        return random.choice([ref.id for ref in refs if ref.tier == tier])

    def _now_seconds(self) -> float:
        """Redis' time, which is the same for all workers; 0 outside of a fleet."""
        fleet = fleet_of(self.crawler)
        if fleet is None or not fleet.serving:
            return 0.0
        return fleet.now() / 1000

    async def _read_health(self) -> None:
        """Runs until it is cancelled. While Redis is not available, the last values are used."""
        while True:
            await asyncio.sleep(HEALTH_SECONDS)
            fleet = fleet_of(self.crawler)
            if fleet is None:
                continue
            try:
                healths = await fleet.feedback.proxy_health.all()
            except Exception as error:  # this task must go on
                logger.warning("proxy/health_unknown: portal=%s: %s", self.identities.portal, error)
                continue
            self._sessions = {proxy_id: health.session for proxy_id, health in healths.items()}


def _default_headers(settings: BaseSettings) -> dict[str, str]:
    """DEFAULT_REQUEST_HEADERS, if the user sets it. Scrapy's own default is for its own user agent."""
    if not is_set(settings, "DEFAULT_REQUEST_HEADERS"):
        return {}
    headers = settings.getdict("DEFAULT_REQUEST_HEADERS")
    return {name: str(value) for name, value in headers.items() if value is not None}

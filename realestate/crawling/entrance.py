"""Where a spider's work comes from: seeds, for ever, as they come; and the address at which its portal is found."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

import msgspec
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy_redis.spiders import RedisSpider

from realestate.crawling import seeds
from realestate.crawling.conclusion import Conclusions
from realestate.parsing.urls import is_on_site
from realestate.queue.fleet import Fleet, fleet_of
from realestate.storage.handle import store_of


class SeededSpider(RedisSpider):  # type: ignore[misc]
    """A spider that serves its portal's seed list."""

    callback_prefixes: ClassVar[tuple[str, ...]] = ("read_", "parse_", "on_")
    """Methods that a request stored in Redis may call."""

    reads_its_seeds: ClassVar[bool] = True
    """`start` reads them, so the queue does not."""

    site: ClassVar[str]
    """Address of the portal, without a slash at its end."""

    searches: ClassVar[tuple[str, ...]]
    """Paths of the searches that together show every listing; what `realestate crawl` begins with."""

    def seed_request(self, seed: seeds.Seed) -> Request:
        """The request a seed asks for."""
        raise NotImplementedError

    def check(
        self, url: str, job: str, mode: str, rent_period: str | None = None, known_by: dict[str, Any] | None = None
    ) -> Request:
        """A request for the page of an item that no search page led to; the period is what one told before."""
        raise NotImplementedError

    async def revisits(self, items: Sequence[Any]) -> Mapping[str, dict[str, Any]]:
        """By ref, what the pages of those items are known by that need not be read again if they are as they were."""
        raise NotImplementedError

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider: Self = super().from_crawler(crawler, *args, **kwargs)
        if simulator := crawler.settings.get("SIMULATOR_URL"):
            spider.site = cls.address(simulator)  # type: ignore[misc]
            spider.allowed_domains = [urlsplit(spider.site).hostname]
        return spider

    @classmethod
    def address(cls, simulator: str | None) -> str:
        """The portal's address: its own, or the one a simulator gives it."""
        if not simulator:
            return cls.site
        addresses = _simulated(simulator)
        if cls.name not in addresses:
            raise ValueError(f"the simulator at {simulator} has no portal {cls.name}")
        return addresses[cls.name]

    @classmethod
    def is_served_by(cls, simulator: str) -> bool:
        return cls.name in _simulated(simulator)

    @classmethod
    def seed_urls(cls, simulator: str | None = None) -> list[str]:
        return [cls.address(simulator) + path for path in cls.searches]

    @property
    def fleet(self) -> Fleet:
        """The fleet this spider works for."""
        fleet = fleet_of(self.crawler)
        assert fleet is not None
        return fleet

    def setup_redis(self, crawler: Crawler | None = None) -> None:
        """Nothing: scrapy-redis would open a connection of its own and read seeds when idle; `start` reads them
        all the time, over the scheduler's."""

    async def start(self) -> AsyncIterator[Request]:
        """Seeds, for ever, as they come."""
        fleet = self.fleet
        fleet.serve()
        concluding = asyncio.create_task(Conclusions(self).run())
        try:
            while True:
                if (found := await fleet.next_seed()) is None:
                    if self.settings.getbool("UNTIL_DONE") and await fleet.nothing_left():
                        return
                    continue
                data, nonce = found
                request = self.make_request_from_data(data)
                if request is None:
                    await fleet.remove_seed(nonce)
                    continue
                request.meta["seed"] = nonce
                request.meta.setdefault("job", nonce)
                if request.meta["stage"] == "plan" and request.meta["mode"] == "refresh":
                    await self._refresh(request)
                    await fleet.remove_seed(nonce)
                    continue
                if request.meta["stage"] == "plan":
                    await self._open_job(request)
                yield request
        finally:
            concluding.cancel()
            fleet.stop_serving()

    async def _open_job(self, request: Request) -> None:
        """From now on the job is looked after until it is concluded."""
        jobs, meta = self.fleet.jobs, request.meta
        job, mode, scope = meta["job"], meta["mode"], meta.pop("scope", "")
        if not await jobs.is_open(job):
            await store_of(self.crawler).ask(lambda store: store.begin_job(job, self.name, mode, scope))
            await jobs.open(job, mode, scope)

    async def _refresh(self, request: Request) -> None:
        """No search page is asked for: what is due is known. Pushed before the seed goes, and once however often it is
        taken up."""
        job, mode = request.meta["job"], request.meta["mode"]
        due = await store_of(self.crawler).ask(lambda store: store.due(self.name))
        self.logger.info("refresh/due: job %s of %s: %d listings", job, self.name, len(due))
        self.crawler.stats.inc_value("refresh/due", len(due))
        known_by = await self.revisits(due)
        checks = (self.check(each.url, job, mode, each.rent_period, known_by.get(each.ref)) for each in due)
        await self.fleet.push(checks)
        await self._open_job(request)

    def make_request_from_data(self, data: bytes) -> Request | None:
        """The request for a seed; a bad seed is refused, told and kept."""
        try:
            seed = seeds.parse(data)
            if not self.owns(seed.url):
                raise seeds.BadSeed(f"outside {self.name}'s domains: {seed.url[:200]}")
            request = self.seed_request(seed)
            self.fleet.check(request)
            return request
        except Exception as error:  # whatever somebody pushed, it must not end the worker
            self.logger.warning("seed/refused: %s", error)
            self.crawler.stats.inc_value("seed/refused")
            text = data.decode("utf-8", "backslashreplace")[:2000]
            self.fleet.give_up("seed", str(error), seed=text)
            return None

    def owns(self, url: str) -> bool:
        return self.is_of(self.site, url)

    @classmethod
    def is_of(cls, site: str, url: str) -> bool:
        """Whether the address is this portal's; a simulated portal is told by its port too."""
        if is_on_site(site, url):
            return True
        wanted, given = urlsplit(site), urlsplit(url)
        if given.netloc == wanted.netloc:
            return True
        host = given.hostname or ""
        return wanted.port is None and any(
            host == domain or host.endswith("." + domain) for domain in cls.allowed_domains
        )

    @classmethod
    def refuses(cls, url: str, simulator: str | None = None) -> str | None:
        """Why the address cannot be a seed of this portal; None if it can."""
        try:
            seeds.parse(url.encode())
            return None if cls.is_of(cls.address(simulator), url) else f"{url!r} is no address of {cls.name}"
        except ValueError as error:
            return str(error)


@cache
def _simulated(simulator: str) -> dict[str, str]:
    """Asked directly: a proxy for the real sites knows nothing of a simulator on this machine."""
    try:
        with build_opener(ProxyHandler({})).open(f"{simulator.rstrip('/')}/_portals", timeout=10) as answer:
            return msgspec.json.decode(answer.read(), type=dict[str, str])
    except (ValueError, msgspec.MsgspecError) as error:
        raise OSError(f"SIMULATOR_URL {simulator!r}: {error}") from error

"""PortalSpider: what all portals share. A portal says where its data sits; this says what becomes of a page."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any, ClassVar, Literal, Self, TypeVar
from urllib.parse import urljoin, urlsplit
from urllib.request import ProxyHandler, build_opener
from zoneinfo import ZoneInfo

import msgspec
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadTimeoutError, IgnoreRequest
from scrapy.http import Response, TextResponse
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy_redis.spiders import RedisSpider
from twisted.python.failure import Failure

from realestate.items import Evidence, Gone, Listing, Sighting
from realestate.parsing.prices import Price
from realestate.spiders import seeds
from realestate.spiders.conclusion import Conclusions
from realestate.spiders.outcomes import GONE_STATUSES, REFUSALS, BrokenPage, Found, ListingGone, is_news

T = TypeVar("T")
Stage = Literal["discover", "extract"]

#: Listings before further search pages: what is found is stored soon, and the queue stays short.
PRIORITY: dict[Stage, int] = {"discover": 0, "extract": 10}


class PortalSpider(RedisSpider):  # type: ignore[misc]
    """One property portal.

    A portal names its site, its searches and the form of a listing's address, and writes `parse_search`
    (listings found, further search pages) and `parse_listing` (one Listing). It raises BrokenPage or
    ListingGone and need not catch anything: whatever happens to a page is counted, as `page/<stage>/<outcome>`,
    and what failed is kept as a dead letter.
    """

    site: ClassVar[str]
    """Address of the portal, without a slash at its end."""

    searches: ClassVar[tuple[str, ...]]
    """Paths of the searches that together show every listing; what `realestate crawl` begins with."""

    listing_path: ClassVar[re.Pattern[str]]
    """Matches the path of a listing's address, its group `ref` being the portal's id; all else is a search."""

    country: ClassVar[str]
    currency: ClassVar[str]
    timezone: ClassVar[ZoneInfo]

    handle_httpstatus_list = GONE_STATUSES

    redirects_gone: ClassVar[bool] = False
    """Whether the portal is known to send a visitor of a listing that is gone to another of its pages."""

    ask_store: Callable[[Callable[[Any], T]], Awaitable[T]]
    """Runs a question in the store's thread and waits for a store that is away; given by who holds the store."""

    parser_version: ClassVar[int] = 1
    """Raised when the same page would now give other values."""

    # ----- for portals

    def parse_search(self, response: TextResponse) -> Iterator[Found | Request]:
        """What `listing` and `search` make."""
        raise NotImplementedError

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing]:
        """The listing of a page; `hints` is what the search page told of it and the page itself does not."""
        raise NotImplementedError

    def listing(self, url: str, price: Price | None = None, rent_period: Any = None, **hints: Any) -> Found:
        """A listing on a search page, with its price where the page shows one."""
        url = urljoin(self.site, url)
        ref = self.ref_of(url)
        if ref is None:
            raise BrokenPage(f"no address of a listing: {url}")
        told = price or Price()
        sighting = Sighting(
            portal=self.name,
            ref=ref,
            url=url,
            price=told.amount,
            currency=told.currency,
            price_basis=told.basis,
            rent_period=rent_period,
        )
        return Found(sighting, hints)

    def search(self, url: str) -> Request:
        """A request for a further search page."""
        return self._request(url, "discover")

    def check(self, url: str, job: str, mode: str) -> Request:
        """A request for the page of a listing that a job did not see."""
        request = self._request(url, "extract")
        request.meta.update(job=job, mode=mode)
        return request

    def ref_of(self, url: str) -> str | None:
        """The portal's id in a listing's address; None for any other address."""
        found = self.listing_path.search(urlsplit(url).path)
        return found["ref"] if found else None

    # ----- seeds

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
    def seed_urls(cls, simulator: str | None = None) -> list[str]:
        return [cls.address(simulator) + path for path in cls.searches]

    def setup_redis(self, crawler: Crawler | None = None) -> None:
        """Nothing: scrapy-redis would open a connection of its own and read seeds when idle; `start` reads them
        all the time, over the scheduler's."""

    async def start(self) -> AsyncIterator[Request]:
        """Seeds, for ever, as they come."""
        scheduler = self.crawler.engine.scheduler
        scheduler.serve()
        concluding = asyncio.create_task(Conclusions(self).run())
        try:
            while True:
                if (found := await scheduler.next_seed()) is None:
                    if self.settings.getbool("UNTIL_DONE") and await scheduler.nothing_left():
                        return
                    continue
                data, nonce = found
                request = self.make_request_from_data(data)
                if request is None:
                    await scheduler.seed_refused(nonce)
                    continue
                request.meta["seed"] = nonce
                request.meta.setdefault("job", nonce)
                if request.meta["stage"] == "discover":
                    await self._open_job(request)
                yield request
        finally:
            concluding.cancel()
            scheduler.stop_serving()

    async def _open_job(self, request: Request) -> None:
        """From now on the job is looked after until it is concluded."""
        jobs, meta = self.crawler.engine.scheduler.jobs, request.meta
        job, mode, scope = meta["job"], meta["mode"], meta.pop("scope", "")
        if not await jobs.is_open(job):
            await self.ask_store(lambda store: store.begin_run(job, self.name, mode, scope))
            await jobs.open(job, mode, scope)

    def make_request_from_data(self, data: bytes) -> Request | None:
        """The request for a seed; a bad seed is refused, told and kept."""
        try:
            seed = seeds.parse(data)
            if not self.owns(seed.url):
                raise seeds.BadSeed(f"outside {self.name}'s domains: {seed.url[:200]}")
            request = self._seed_request(seed)
            self.crawler.engine.scheduler.check(request)
            return request
        except Exception as error:  # whatever somebody pushed, it must not end the worker
            self.logger.warning("seed/refused: %s", error)
            self.crawler.stats.inc_value("seed/refused")
            text = data.decode("utf-8", "backslashreplace")[:2000]
            self.crawler.engine.scheduler.give_up("seed", str(error), seed=text)
            return None

    def owns(self, url: str) -> bool:
        return self.is_of(self.site, url)

    @classmethod
    def is_of(cls, site: str, url: str) -> bool:
        """Whether the address is this portal's; a simulated portal is told by its port too."""
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

    def _seed_request(self, seed: seeds.Seed) -> Request:
        stage: Stage = "extract" if self.ref_of(seed.url) else "discover"
        meta = {**seed.meta, "mode": seed.mode, "scope": seed.scope, **({"job": seed.job} if seed.job else {})}
        request = self._request(seed.url, stage, method=seed.method.upper(), headers=seed.headers, body=seed.body)
        request = request.replace(priority=request.priority + seed.priority, dont_filter=True)
        request.meta.update(meta, **({"job_priority": seed.priority} if seed.priority else {}))
        self.crawler.stats.inc_value("seed/taken")
        return request

    def _request(self, url: str, stage: Stage, **parts: Any) -> Request:
        return Request(
            urljoin(self.site, url),
            callback=self.read_listing if stage == "extract" else self.read_search,
            errback=self.on_failure,
            priority=PRIORITY[stage],
            meta={"stage": stage},
            **parts,
        )

    # ----- what becomes of a page

    async def read_search(self, response: Response) -> AsyncIterator[Any]:
        if response.status in GONE_STATUSES and response.request is not None:
            self._failed(response.request, HttpError(response))  # a listing may be gone, a search may not
            return
        found = []
        for each in self._watched(response, "discover"):
            if isinstance(each, Found):
                found.append(each)
            else:
                yield each  # a further search page need not wait for what is known of this one's listings
        wanted = await self._wanted(found, response.meta.get("mode"))
        for each in found:
            yield each.sighting
            if each in wanted:
                sighting = each.sighting
                hints = each.hints | ({"rent_period": sighting.rent_period} if sighting.rent_period else {})
                yield self._request(sighting.url, "extract", cb_kwargs=hints)

    async def _wanted(self, found: list[Found], mode: str | None) -> list[Found]:
        """Those whose own page has to be read: all, or in a sweep the new, the changed and the long unread."""
        if mode != "sweep" or not found:
            return found
        known = await self.ask_store(lambda store: store.known(self.name, [each.sighting.ref for each in found]))
        now = datetime.now(UTC)
        return [each for each in found if is_news(each.sighting, known.get(each.sighting.ref), now)]

    async def read_listing(self, response: Response, **hints: Any) -> AsyncIterator[Any]:
        for each in self._watched(response, "extract", **hints):
            if isinstance(each, Gone) and response.request is not None:
                await self._open_job(response.request)
            yield each

    def parsed(self, response: Response, stage: Stage, **hints: Any) -> Iterator[Any]:
        """What the portal's parser makes of a page, fetched now or kept from earlier; raises what it is instead."""
        page = self._checked(response)
        if stage == "discover":
            yield from self.parse_search(page)
        else:
            self._still_there(response)
            yield from self.parse_listing(page, **hints)

    def _watched(self, response: Response, stage: Stage, **hints: Any) -> Iterator[Any]:
        """What the parser yields; nothing it meets ends the worker, and every outcome is counted."""
        try:
            yield from self.parsed(response, stage, **hints)
        except ListingGone as reason:
            self._count(stage, "gone")
            self.logger.debug("page/gone: %s: %s", response.url, reason)
            yield self._gone(response, reason)
        except Exception as error:
            self._count(stage, "broken")
            response.flags.append("broken")  # SnapshotMiddleware keeps such a page
            told = f"{type(error).__name__}: {error}"
            self.logger.warning("page/broken: %s: %s", response.url, told, exc_info=not isinstance(error, BrokenPage))
            self._give_up("parse", told, response.request)
        else:
            self._count(stage, "ok")

    def _checked(self, response: Response) -> TextResponse:
        if response.status in GONE_STATUSES:
            raise ListingGone(f"status {response.status}", "404" if response.status == 404 else "410")
        if not self.owns(response.url):
            raise BrokenPage("redirected to another site")
        if not isinstance(response, TextResponse):
            raise BrokenPage("not a text document")
        return response

    def _still_there(self, response: Response) -> None:
        if not self.ref_of(response.url):
            evidence: Evidence = "marker" if self.redirects_gone else "absent"
            raise ListingGone(f"redirected to {response.url}", evidence)

    def _gone(self, response: Response, reason: ListingGone) -> Gone:
        """Of the listing that was asked for, wherever the portal sent us."""
        asked = response.meta.get("redirect_urls", [response.url])[0]
        ref = self.ref_of(asked) or ""
        return Gone(portal=self.name, ref=ref, url=asked, evidence=reason.evidence, detail=str(reason))

    def on_failure(self, failure: Failure) -> None:
        """A request without a page: forbidden by robots.txt, refused, or never answered."""
        request: Request = failure.request  # type: ignore[attr-defined]
        self._failed(request, failure.value)
        self.crawler.engine.scheduler.finished(request)

    def _failed(self, request: Request, error: BaseException | None) -> None:
        stage = request.meta["stage"]
        if isinstance(error, HttpError):
            status = error.response.status
            self._count(stage, "failed")
            self._give_up("ban" if status in REFUSALS else "http", f"status {status}", request, status=status)
        elif outcome := getattr(error, "outcome", None):
            self._count(stage, outcome)  # nobody is to try again
        elif isinstance(error, IgnoreRequest):
            forbidden = "robots.txt" in str(error)
            self._count(stage, "forbidden" if forbidden else "failed")
            self._give_up("robots" if forbidden else "ignored", str(error), request)
        else:
            self._count(stage, "failed")
            reason = "timeout" if isinstance(error, DownloadTimeoutError) else "download"
            self._give_up(reason, f"{type(error).__name__}: {error}", request)

    def _count(self, stage: Stage, outcome: str) -> None:
        self.crawler.stats.inc_value(f"page/{stage}/{outcome}")

    def _give_up(self, reason: Any, error: str, request: Request | None, **what: Any) -> None:
        assert request is not None
        self.crawler.engine.scheduler.give_up(reason, error, request, url=request.url, **what)


@cache
def _simulated(simulator: str) -> dict[str, str]:
    """Asked directly: a proxy for the real sites knows nothing of a simulator on this machine."""
    try:
        with build_opener(ProxyHandler({})).open(f"{simulator.rstrip('/')}/_portals", timeout=10) as answer:
            return msgspec.json.decode(answer.read(), type=dict[str, str])
    except (ValueError, msgspec.MsgspecError) as error:
        raise OSError(f"SIMULATOR_URL {simulator!r}: {error}") from error

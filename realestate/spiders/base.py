"""PortalSpider: what all portals share. A portal says where its data sits; this says what becomes of a page."""

import re
from collections.abc import AsyncIterator, Iterator
from functools import cache
from typing import Any, ClassVar, Literal, Self
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

from realestate.items import Listing
from realestate.spiders import seeds

Stage = Literal["discover", "extract"]

#: Listings before further search pages: what is found is stored soon, and the queue stays short.
PRIORITY: dict[Stage, int] = {"discover": 0, "extract": 10}
GONE_STATUSES = (404, 410)
#: Answers that are about us, not about the page.
REFUSALS = (401, 403, 429)


class BrokenPage(ValueError):
    """A page that answers 200 and is not what its address promises."""


class ListingGone(Exception):
    """The portal itself says that the listing is no more."""


class PortalSpider(RedisSpider):  # type: ignore[misc]
    """One property portal.

    A portal names its site, its searches and the form of a listing's address, and writes `parse_search`
    (addresses of listings, further search pages) and `parse_listing` (one Listing). It raises BrokenPage or
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

    parser_version: ClassVar[int] = 1
    """Raised when the same page would now give other values."""

    # ----- for portals

    def parse_search(self, response: TextResponse) -> Iterator[Request]:
        """Requests made by `listing` and `search`."""
        raise NotImplementedError

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing]:
        """The listing of a page; `hints` is what the search page told of it and the page itself does not."""
        raise NotImplementedError

    def listing(self, url: str, **hints: Any) -> Request:
        """A request for a listing's own page."""
        return self._request(url, "extract", cb_kwargs=hints)

    def search(self, url: str) -> Request:
        """A request for a further search page."""
        return self._request(url, "discover")

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
                yield request
        finally:
            scheduler.stop_serving()

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
        meta = {**seed.meta, "mode": seed.mode, **({"job": seed.job} if seed.job else {})}
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

    def read_search(self, response: Response) -> Iterator[Any]:
        yield from self._watched(response, "discover", self.parse_search)

    def read_listing(self, response: Response, **hints: Any) -> Iterator[Any]:
        yield from self._watched(response, "extract", self.parse_listing, **hints)

    def _watched(self, response: Response, stage: Stage, parse: Any, **hints: Any) -> Iterator[Any]:
        """What `parse` yields; nothing it meets ends the worker, and every outcome is counted."""
        try:
            self._check(response)
            if stage == "extract" and not self.ref_of(response.url):
                raise ListingGone("redirected away from the listing")
            yield from parse(response, **hints)
        except ListingGone as reason:
            self._count(stage, "gone")
            self.logger.debug("page/gone: %s: %s", response.url, reason)
        except Exception as error:
            self._count(stage, "broken")
            told = f"{type(error).__name__}: {error}"
            self.logger.warning("page/broken: %s: %s", response.url, told, exc_info=not isinstance(error, BrokenPage))
            self._give_up("parse", told, response.request)
        else:
            self._count(stage, "ok")

    def _check(self, response: Response) -> None:
        if not self.owns(response.url):
            raise BrokenPage("redirected to another site")
        if not isinstance(response, TextResponse):
            raise BrokenPage("not a text document")

    def on_failure(self, failure: Failure) -> None:
        """A request without a page: gone, forbidden by robots.txt, refused, or never answered."""
        request: Request = failure.request  # type: ignore[attr-defined]
        self._failed(request, failure.value)
        self.crawler.engine.scheduler.finished(request)

    def _failed(self, request: Request, error: BaseException | None) -> None:
        stage = request.meta["stage"]
        if isinstance(error, HttpError):
            status = error.response.status
            if status in GONE_STATUSES and stage == "extract":
                self._count(stage, "gone")
                return
            self._count(stage, "failed")
            self._give_up("ban" if status in REFUSALS else "http", f"status {status}", request, status=status)
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

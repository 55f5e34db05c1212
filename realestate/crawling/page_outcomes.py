"""What a page can turn out to be, and how each outcome is counted, logged and kept.

Each page and each failed request is counted once, as `page/<stage>/<outcome>`. A failed page becomes a dead letter.
"""

import logging
from collections import deque
from typing import TYPE_CHECKING, Any, Literal

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpError

from realestate.items import Evidence
from realestate.queue import signals
from realestate.queue.failures import reason_of, text_of
from realestate.queue.refetch import SUSPECT_PROXY

if TYPE_CHECKING:
    from realestate.crawling.search_spider import SearchSpider

logger = logging.getLogger(__name__)

Stage = Literal["plan", "discover", "extract", "photo"]

GONE_STATUSES = (404, 410)
#: The spider looks back at this many pages…
RECENT_PAGES = 20
#: … and if this many of them were unreadable, the portal has changed its pages: then a page is not fetched twice.
MOST_UNREADABLE = 14


class BrokenPage(ValueError):
    """The page has status 200, but is not what its URL promises."""


class OtherItem(BrokenPage):
    """The page is of another item than the one that was asked for."""

    def __init__(self, ref: str, asked: str) -> None:
        super().__init__(f"the page is of {ref}, and {asked} was asked for")
        self.ref = ref
        """The id on the page."""


class Banned(Exception):
    """The portal refuses us, and says so in a page with status 200. The page is neither empty nor broken."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        """For the statistic `ban/<portal>/<kind>`."""


class ItemGone(Exception):
    """The portal says that the item no longer exists. With the evidence `absent`, it shows another page instead."""

    outcome = "gone"

    def __init__(self, detail: str, evidence: Evidence = "marker") -> None:
        super().__init__(detail)
        self.evidence = evidence


#: The name that portals of homes use.
ListingGone = ItemGone


class PageOutcomes:
    """Counts and logs what happens to the pages of one spider, and makes dead letters of what failed."""

    def __init__(self, spider: "SearchSpider") -> None:
        self.spider = spider
        self._recent_unreadable: deque[bool] = deque(maxlen=RECENT_PAGES)

    def record(
        self,
        outcome: str,
        request: Request,
        reason: object = "",
        *,
        level: int = logging.DEBUG,
        mistake: Exception | None = None,
    ) -> None:
        """Count the outcome of a page, and log it in one line. `mistake` adds the traceback of an error in a parser."""
        stage = request.meta["stage"]
        self.spider.crawler.stats.inc_value(f"page/{stage}/{outcome}")
        if logger.isEnabledFor(level):
            why = f" reason={reason}" if reason else ""
            logger.log(level, "page/%s/%s %s%s", stage, outcome, self.fields(request), why, exc_info=mistake)

    def fields(self, request: Request) -> str:
        """The fields that each log line about a page has."""
        return f"portal={self.spider.name} job={request.meta.get('job', '-')} url={request.url}"

    def parsed(self, response: Response) -> None:
        """The page was parsed. If an earlier fetch of it could not be parsed, that proxy had replaced it."""
        self._recent_unreadable.append(False)
        if SUSPECT_PROXY in response.meta and response.request is not None:
            self.spider.fleet.feedback.refetch_succeeded(response.request)

    def fetched_again(self, request: Request) -> bool:
        """Whether an unreadable page is fetched once more. Not if most recent pages were unreadable too."""
        self._recent_unreadable.append(True)
        if sum(self._recent_unreadable) >= MOST_UNREADABLE or not self.spider.fleet.refetch(request):
            return False
        self.record("refetched", request)
        return True

    def broken(self, request: Request, error: Exception) -> None:
        """The page could not be parsed: a dead letter."""
        reason = f"{type(error).__name__}: {error}"
        mistake = None if isinstance(error, BrokenPage) else error
        self.record("broken", request, reason, level=logging.WARNING, mistake=mistake)
        self.give_up("parse", reason, request)
        self.spider.crawler.signals.send_catch_log(signals.page_unreadable, request=request, error=error)

    def banned(self, request: Request, ban: Banned) -> None:
        """The page is a ban page: a dead letter, and an error in the log, because a person has to act."""
        self.record("banned", request, ban)
        self.spider.crawler.stats.inc_value(f"ban/{self.spider.name}/{ban.kind}")
        logger.error("ban/%s/%s %s reason=%s", self.spider.name, ban.kind, self.fields(request), ban)
        self.give_up("ban", str(ban), request)

    def failed(self, request: Request, error: BaseException | None) -> None:
        """The request got no page: it was forbidden by robots.txt, refused, or not answered."""
        if isinstance(error, HttpError):
            status = error.response.status
            self.record("failed", request, f"status {status}")
            self.give_up(reason_of(error), text_of(error), request, status=status)
        elif isinstance(error, IgnoreRequest):
            reason = getattr(error, "reason", None)
            outcome = getattr(error, "outcome", "banned" if reason else "failed")
            self.record(outcome, request, error)
            if reason or outcome == "failed":
                self.give_up(reason_of(error), str(error), request)  # the other outcomes need no second try
        else:
            self.record("failed", request, error)
            self.give_up(reason_of(error), text_of(error), request)

    def give_up(self, reason: Any, error: str, request: Request, **details: Any) -> None:
        """Make the request a dead letter."""
        self.spider.fleet.give_up(reason, error, request, url=request.url, **details)

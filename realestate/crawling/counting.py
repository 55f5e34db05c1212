"""What becomes of a page or a request is counted, and what failed is kept as a dead letter."""

from collections import deque
from typing import Any, Literal

from scrapy import Request
from scrapy.exceptions import DownloadTimeoutError, IgnoreRequest
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpError
from twisted.python.failure import Failure

from realestate.crawling.entrance import SeededSpider
from realestate.crawling.outcomes import REFUSALS, Blocked

Stage = Literal["plan", "discover", "extract"]


#: When so many of the last pages could not be read, the portal has changed, and asking again is in vain.
LOOKED_BACK, CHANGED = 20, 14


class CountingSpider(SeededSpider):
    """A spider that loses nothing in silence: every outcome is a stat, `page/<stage>/<outcome>`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._unread: deque[bool] = deque(maxlen=LOOKED_BACK)

    def on_failure(self, failure: Failure) -> None:
        """A request without a page: forbidden by robots.txt, refused, or never answered."""
        request: Request = failure.request  # type: ignore[attr-defined]
        self.failed(request, failure.value)
        self.fleet.finished(request)

    def failed(self, request: Request, error: BaseException | None) -> None:
        stage = request.meta["stage"]
        if isinstance(error, HttpError):
            status = error.response.status
            self.count(stage, "failed")
            self.give_up("ban" if status in REFUSALS else "http", f"status {status}", request, status=status)
        elif isinstance(error, IgnoreRequest):
            reason = getattr(error, "reason", None)
            outcome = getattr(error, "outcome", "blocked" if reason else "failed")
            self.count(stage, outcome)
            if reason or outcome == "failed":
                self.give_up(reason or "ignored", str(error), request)  # else nobody is to try again
        else:
            self.count(stage, "failed")
            reason = "timeout" if isinstance(error, DownloadTimeoutError) else "download"
            self.give_up(reason, f"{type(error).__name__}: {error}", request)

    def blocked(self, stage: Stage, reason: Blocked, response: Response) -> None:
        """Somebody has to do something about it: nothing can be read until then."""
        self.count(stage, "blocked")
        self.crawler.stats.inc_value(f"ban/{self.name}/{reason.kind}")
        self.logger.error("ban/%s/%s: %s", self.name, reason.kind, reason)
        self.give_up("ban", str(reason), response.request)

    def tries_again(self, response: Response) -> bool:
        """Whether a page that cannot be read is asked for once more before that is believed."""
        self._unread.append(True)
        assert response.request is not None
        return sum(self._unread) < CHANGED and self.fleet.doubt(response.request)

    def was_read(self, response: Response) -> None:
        self._unread.append(False)
        if response.request is not None:
            self.fleet.feedback.refetch_succeeded(response.request)

    def count(self, stage: Stage, outcome: str) -> None:
        self.crawler.stats.inc_value(f"page/{stage}/{outcome}")

    def give_up(self, reason: Any, error: str, request: Request | None, **what: Any) -> None:
        assert request is not None
        self.fleet.give_up(reason, error, request, url=request.url, **what)

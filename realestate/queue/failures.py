"""Why a request failed: one function from an exception to the reason of its dead letter."""

from scrapy.exceptions import DownloadTimeoutError, IgnoreRequest
from scrapy.spidermiddlewares.httperror import HttpError

from realestate.queue.dead_letters import REFUSED_STATUSES, Reason
from realestate.queue.page_budget import PageTooSlow


def reason_of(error: BaseException | None) -> Reason:
    """The reason of the dead letter of a request that got no page.

    A middleware that ignores a request may set `reason` on its exception.
    """
    if isinstance(error, HttpError):
        return "ban" if error.response.status in REFUSED_STATUSES else "http"
    if isinstance(error, IgnoreRequest):
        reason: Reason = getattr(error, "reason", None) or "ignored"
        return reason
    if isinstance(error, PageTooSlow):
        return "too_slow"
    if isinstance(error, DownloadTimeoutError):
        return "timeout"
    return "download"


def text_of(error: BaseException | None) -> str:
    """One line that says what the error was."""
    if isinstance(error, HttpError):
        return f"status {error.response.status}"
    return f"{type(error).__name__}: {error}"

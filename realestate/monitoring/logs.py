"""The log lines of pages and items: one line each, with the fields ``portal=… job=… url=…``.

Outcomes of pages are logged at DEBUG, failures at WARNING or ERROR. No line contains the values of an item: they may
be long, and a log is no place for personal data. No line of any library contains a password.
"""

import logging
from typing import Any, Self

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.logformatter import LogFormatter as ScrapyLogFormatter
from scrapy.logformatter import LogFormatterResult
from twisted.python.failure import Failure

from realestate.queue.credentials import without_credentials


class MaskedRecord(logging.LogRecord):
    """A log record whose text and traceback show no credentials, whichever library wrote it."""

    _traceback: str | None = None

    def getMessage(self) -> str:  # noqa: N802
        return without_credentials(super().getMessage())

    @property
    def exc_text(self) -> str | None:
        """The traceback, which a formatter sets."""
        return self._traceback

    @exc_text.setter
    def exc_text(self, text: str | None) -> None:
        self._traceback = without_credentials(text) if text else text


def mask_credentials() -> None:
    """From now on, no log line of this process contains a password."""
    logging.setLogRecordFactory(MaskedRecord)


class LogFormatter(ScrapyLogFormatter):
    """Formats the log lines of Scrapy. It makes no line that LOG_LEVEL would hide: that costs time with every page."""

    def __init__(self, level: int = logging.DEBUG) -> None:
        self.is_debug = level <= logging.DEBUG

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        mask_credentials()
        return cls(logging.getLevelNamesMapping()[crawler.settings["LOG_LEVEL"]])

    def crawled(self, request: Request, response: Response, spider: Spider) -> LogFormatterResult | None:  # type: ignore[override]
        if not self.is_debug:
            return None
        return _line(logging.DEBUG, "page", spider, request, status=response.status, bytes=len(response.body))

    def scraped(self, item: Any, response: Response | Failure | None, spider: Spider) -> LogFormatterResult | None:  # type: ignore[override]
        if not self.is_debug:
            return None
        return _line(logging.DEBUG, "item", spider, _request_of(response), **_item(item))

    def dropped(
        self, item: Any, exception: BaseException, response: Response | Failure | None, spider: Spider
    ) -> LogFormatterResult:
        level = super().dropped(item, exception, response, spider)["level"]
        return _line(level, "item dropped", spider, _request_of(response), **_item(item), reason=exception)

    def item_error(
        self, item: Any, exception: BaseException, response: Response | Failure | None, spider: Spider
    ) -> LogFormatterResult:
        return _line(logging.ERROR, "pipeline failed", spider, _request_of(response), **_item(item), error=exception)

    def spider_error(
        self, failure: Failure, request: Request, response: Response | Failure, spider: Spider
    ) -> LogFormatterResult:
        return _line(logging.ERROR, "parser failed", spider, request, error=failure.getErrorMessage())

    def download_error(
        self, failure: Failure, request: Request, spider: Spider, errmsg: str | None = None
    ) -> LogFormatterResult:
        return _line(logging.ERROR, "download failed", spider, request, error=errmsg or failure.getErrorMessage())


def _line(level: int, what: str, spider: Spider, request: Request | None, **more: Any) -> LogFormatterResult:
    """``what: name=value …`` with the portal first and the URL of the request last. Missing values are left out."""
    fields = {"portal": spider.name, "job": request.meta.get("job") if request else None, **more}
    if request is not None:
        fields["url"] = request.url
    text = " ".join(f"{name}={value}" for name, value in fields.items() if value is not None)
    return {"level": level, "msg": "%(what)s: %(fields)s", "args": {"what": what, "fields": text}}


def _request_of(response: Response | Failure | None) -> Request | None:
    return response.request if isinstance(response, Response) else None


def _item(item: Any) -> dict[str, Any]:
    """The type of an item, and the portal's id of it. Nothing else of it is logged."""
    return {"type": type(item).__name__, "ref": getattr(item, "ref", None)}

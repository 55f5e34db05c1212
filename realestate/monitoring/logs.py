"""The log lines of pages and items: one line each, with the fields ``portal=… job=… url=…``.

Each line names its portal. With LOG_FORMAT=json each line is one JSON object (`JsonLines`).

Outcomes of pages are logged at DEBUG, failures at WARNING or ERROR. No line contains the values of an item: they may
be long, and a log is no place for personal data. No line of any library contains a password.
"""

import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Self

from pythonjsonlogger.msgspec import MsgspecFormatter
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.logformatter import LogFormatter as ScrapyLogFormatter
from scrapy.logformatter import LogFormatterResult
from scrapy.settings import BaseSettings, Settings
from scrapy.utils.log import get_scrapy_root_handler
from twisted.python.failure import Failure

from realestate.queue.credentials import without_credentials
from realestate.queue.engine import LEASE
from realestate.queue.log_context import PORTAL
from realestate.queue.workers import process_name

#: Loggers of Scrapy that write lists of settings and components for each portal, or what `progress.py` says shorter.
#: With LOG_LEVEL=DEBUG they write all; otherwise only warnings.
WORDY_LOGGERS = (
    "scrapy.addons",
    "scrapy.core.engine",
    "scrapy.crawler",
    "scrapy.extensions.telnet",
    "scrapy.middleware",
    "scrapy.utils.log",
)
_FIELD = re.compile(r"\b(portal|job|spider|request)=([^\s,;:]+)")


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


def quieten_scrapy(settings: BaseSettings) -> None:
    """Hide nearly all INFO lines of the wordy loggers, except with LOG_LEVEL=DEBUG. Scrapy resets their levels when it
    configures logging, but not their filters."""
    for name in WORDY_LOGGERS:
        logger = logging.getLogger(name)
        if settings["LOG_LEVEL"] == "DEBUG":
            logger.removeFilter(_only_warnings)
        else:
            logger.addFilter(_only_warnings)


def _only_warnings(record: logging.LogRecord) -> bool:
    """Warnings, and the line that says that the worker stops because of a signal."""
    return record.levelno >= logging.WARNING or str(record.msg).startswith("Received ")


def install_handler(settings: Settings) -> None:
    """Install the handler of a worker. Scrapy would install its own again for each portal, and lose the format."""
    mask_credentials()
    quieten_scrapy(settings)
    file = settings["LOG_FILE"]
    mode = "a" if settings.getbool("LOG_FILE_APPEND") else "w"
    handler = logging.FileHandler(file, mode, settings["LOG_ENCODING"]) if file else logging.StreamHandler()
    handler.setLevel(settings["LOG_LEVEL"])
    handler.setFormatter(_formatter(settings))
    logging.root.setLevel(logging.NOTSET)
    logging.root.addHandler(handler)
    settings.set("LOG_ENABLED", False, priority="cmdline")
    settings.set("LOG_FILE", None, priority="cmdline")


def format_lines(settings: BaseSettings) -> None:
    """From now on, each line that Scrapy's handler writes names its portal."""
    handler = get_scrapy_root_handler()
    if handler is not None and not isinstance(handler.formatter, JsonLines | TextLines):
        handler.setFormatter(_formatter(settings))


def _formatter(settings: BaseSettings) -> logging.Formatter:
    if settings.getbool("LOG_JSON"):
        return JsonLines()
    return TextLines(settings["LOG_FORMAT"], settings["LOG_DATEFORMAT"])


def fields_of(record: logging.LogRecord, message: str) -> Mapping[str, str]:
    """The portal, the job and the request of a line, as far as known: from its text, its spider or its task."""
    found = dict(reversed(_FIELD.findall(message)))
    spider = getattr(record, "spider", None)
    portal = getattr(record, "portal", None)
    if portal is None:
        portal = found.get("portal") or found.get("spider") or getattr(spider, "name", None) or PORTAL.get()
    return {"portal": portal, "job": found.get("job", ""), "request": found.get("request", "")}


class TextLines(logging.Formatter):
    """One line of text, with the portal at its end if the text does not name it."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        text = super().formatMessage(record)
        portal = fields_of(record, record.message)["portal"]
        if not portal or f"portal={portal}" in text or "\n" in text:
            return text
        return f"{text} portal={portal}"


class JsonLines(MsgspecFormatter):
    """One JSON object per line: time, level, logger, message, portal, job, request, worker, and the traceback of an
    error."""

    def add_fields(self, log_record: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        message = record.getMessage()
        log_record.update(
            {
                "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
                "level": record.levelname,
                "logger": record.name,
                "message": message,
                **fields_of(record, message),
                "worker": _this_process(),
            }
        )
        if record.exc_info:
            log_record["traceback"] = without_credentials("".join(self.formatException(record.exc_info)))


def start_logging(level: str, *, as_json: bool) -> None:
    """Write the log lines of a process that is no worker (`up`, `timetable run`) to stderr, in the same form."""
    mask_credentials()
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if as_json else TextLines("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])


@cache
def _this_process() -> str:
    return process_name()


class LogFormatter(ScrapyLogFormatter):
    """Formats the log lines of Scrapy. It makes no line that LOG_LEVEL would hide: that costs time with every page."""

    def __init__(self, level: int = logging.DEBUG) -> None:
        self.is_debug = level <= logging.DEBUG

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        mask_credentials()
        quieten_scrapy(crawler.settings)
        # The tasks of this crawler come from this one.
        PORTAL.set(str(getattr(crawler.spidercls, "name", "") or ""))
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
        fields["request"] = request.meta.get(LEASE)
        fields["url"] = request.url
    text = " ".join(f"{name}={value}" for name, value in fields.items() if value is not None)
    return {"level": level, "msg": "%(what)s: %(fields)s", "args": {"what": what, "fields": text}}


def _request_of(response: Response | Failure | None) -> Request | None:
    return response.request if isinstance(response, Response) else None


def _item(item: Any) -> dict[str, Any]:
    """The type of an item, and the portal's id of it. Nothing else of it is logged."""
    return {"type": type(item).__name__, "ref": getattr(item, "ref", None)}

"""The log of a worker: one line per page at DEBUG, and few lines at INFO."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.http import HtmlResponse
from scrapy.logformatter import LogFormatterResult
from scrapy.utils.misc import load_object
from twisted.python.failure import Failure

from realestate import settings
from realestate.monitoring.logs import JsonLines, LogFormatter, TextLines
from realestate.queue.log_context import PORTAL, WHOLE_PROCESS
from realestate.spiders.immoweb import ImmowebSpider
from tests.examples import a_listing

MakeCrawler = Callable[..., Crawler]
URL = "https://www.immoweb.be/en/classified/1"


def text(line: LogFormatterResult | None) -> str:
    assert line is not None
    return line["msg"] % line["args"]


@pytest.fixture
def spider(make_crawler: MakeCrawler) -> Any:
    crawler = make_crawler(ImmowebSpider)
    return ImmowebSpider.from_crawler(crawler)


@pytest.fixture
def response() -> HtmlResponse:
    return HtmlResponse(URL, body=b"12345", request=Request(URL, meta={"job": "5f0c"}))


def test_a_page_is_one_debug_line_with_its_fields(spider: Any, response: HtmlResponse) -> None:
    assert response.request is not None
    line = LogFormatter().crawled(response.request, response, spider)
    assert line is not None
    assert line["level"] == logging.DEBUG
    assert text(line) == f"page: portal=immoweb job=5f0c status=200 bytes=5 url={URL}"


def test_an_item_is_one_debug_line_without_its_values(spider: Any, response: HtmlResponse) -> None:
    item = a_listing(ref="7", title="Call Ms Peeters")
    line = text(LogFormatter().scraped(item, response, spider))
    assert line == f"item: portal=immoweb job=5f0c type=Listing ref=7 url={URL}"
    dropped = LogFormatter().dropped(item, DropItem("erased"), response, spider)
    assert text(dropped) == f"item dropped: portal=immoweb job=5f0c type=Listing ref=7 reason=erased url={URL}"


def test_a_failure_says_what_failed_and_why(spider: Any, response: HtmlResponse) -> None:
    assert response.request is not None
    formatter = LogFormatter()
    failure = Failure(ValueError("no price"))  # type: ignore[no-untyped-call]
    fields = f"portal=immoweb job=5f0c error=no price url={URL}"
    assert text(formatter.spider_error(failure, response.request, response, spider)) == f"parser failed: {fields}"
    assert text(formatter.download_error(failure, response.request, spider)) == f"download failed: {fields}"
    error = formatter.item_error(a_listing(ref="7"), ValueError("full"), None, spider)
    assert text(error) == "pipeline failed: portal=immoweb type=Listing ref=7 error=full"
    assert error["level"] == logging.ERROR


@pytest.mark.parametrize(("level", "is_debug"), [("DEBUG", True), ("INFO", False), ("WARNING", False)])
def test_a_line_per_page_is_made_only_where_it_is_shown(
    make_crawler: MakeCrawler, spider: Any, response: HtmlResponse, level: str, is_debug: bool
) -> None:
    assert response.request is not None
    formatter = LogFormatter.from_crawler(make_crawler(ImmowebSpider, LOG_LEVEL=level))
    assert (formatter.crawled(response.request, response, spider) is not None) is is_debug
    assert (formatter.scraped(a_listing(), response, spider) is not None) is is_debug


def test_this_is_the_formatter_of_the_project() -> None:
    assert load_object(settings.LOG_FORMATTER) is LogFormatter


def record(message: str, **extra: Any) -> logging.LogRecord:
    made = logging.makeLogRecord({"msg": message, "levelname": "INFO", "name": "realestate.x", **extra})
    made.message = made.getMessage()
    return made


def test_a_line_names_the_portal_of_its_task_if_its_text_does_not() -> None:
    def formatted(message: str, **extra: Any) -> str:
        token = PORTAL.set("emlak")
        try:
            return TextLines("%(levelname)s: %(message)s").format(record(message, **extra))
        finally:
            PORTAL.reset(token)

    assert formatted("retrying") == "INFO: retrying portal=emlak"
    assert formatted("page: portal=tap job=5f0c") == "INFO: page: portal=tap job=5f0c"
    assert formatted("redis is back", **WHOLE_PROCESS) == "INFO: redis is back"
    assert formatted("opened", spider=SimpleNamespace(name="bina")) == "INFO: opened portal=bina"


def test_with_json_each_line_is_one_object() -> None:
    line = json.loads(JsonLines().format(record('job/opened portal=tap job=5f0c "x"\nsecond', created=0.0)))
    worker = line.pop("worker")
    assert line == {
        "time": "1970-01-01T00:00:00.000+00:00",
        "level": "INFO",
        "logger": "realestate.x",
        "message": 'job/opened portal=tap job=5f0c "x"\nsecond',
        "portal": "tap",
        "job": "5f0c",
        "request": "",
    }
    assert worker.endswith(f":{os.getpid()}")


@pytest.mark.parametrize("as_json", [True, False])
def test_the_lines_of_a_process_that_is_no_worker_have_the_same_form(as_json: bool) -> None:
    """`realestate up` and `timetable run`."""
    program = (
        "import logging; from realestate.monitoring.logs import start_logging;"
        f"start_logging('INFO', as_json={as_json});"
        "logging.getLogger('realestate.x').info('timetable/started entry=e job=5f0c of redis://u:geheim@h/0')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "geheim" not in done.stderr
    if as_json:
        line = json.loads(done.stderr)
        assert (line["level"], line["job"], line["portal"]) == ("INFO", "5f0c", "")
    else:
        assert " INFO timetable/started entry=e job=5f0c of redis://***@h/0" in done.stderr


def test_json_has_the_traceback_without_passwords() -> None:
    try:
        raise ValueError("redis://u:geheim@host/0")
    except ValueError:
        line = JsonLines().format(record("failed", exc_info=sys.exc_info()))
    assert "geheim" not in line
    assert "ValueError: redis://***@host/0" in json.loads(line)["traceback"]

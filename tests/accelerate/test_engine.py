"""The accelerated engine and scraper beside Scrapy's own: the same crawl, with the same signals and statistics."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Response

from realestate.accelerate.scraper import Scraper


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response({"/missing": 404, "/moved": 302}.get(self.path.partition("?")[0], 200))
        self.send_header("Location", "/listed-moved")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def crawled(*words: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.accelerate.crawled", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("meddling", [(), ("meddling",)])
def test_for_every_outcome_of_a_request_signals_and_statistics_are_those_of_scrapy(
    site: str, meddling: tuple[str, ...]
) -> None:
    accelerated = crawled("accelerated", site, *meddling)
    stock = crawled("stock", site, *meddling)
    assert (accelerated["is_accelerated"], stock["is_accelerated"]) == (True, False)
    assert accelerated["signals"] == stock["signals"]
    assert accelerated["stats"] == stock["stats"]
    assert len(accelerated["signals"]) > 100


@pytest.fixture
def log() -> list[Any]:
    return []


@pytest.fixture
def scraper(log: list[Any]) -> Scraper:
    """A spider whose page yields the output of the test."""
    made = Scraper.__new__(Scraper)
    made.spidermw = SimpleNamespace()  # type: ignore[assignment]
    made.crawler = SimpleNamespace(engine=SimpleNamespace(crawl=lambda each: log.append(("crawled", each.url))))  # type: ignore[assignment]
    made.handle_spider_error = lambda failure, *_: log.append(("error", failure.value))  # type: ignore[method-assign]

    async def processed(item: Any, response: Any) -> None:
        log.append(("item begun", item))
        await asyncio.sleep(0.01)
        log.append(("item over", item))

    made.start_itemproc_async = processed  # type: ignore[method-assign]
    return made


def scrape(scraper: Scraper, *results: Any) -> None:
    async def output(*_: Any) -> AsyncIterator[Any]:
        for each in results:
            if isinstance(each, BaseException):
                raise each
            yield each

    async def scraped(*_: Any) -> AsyncIterator[Any]:
        return output()

    scraper.spidermw.scrape_response_async = scraped  # type: ignore[method-assign,assignment]
    request = Request("http://x.example/")
    asyncio.run(scraper._scrape(Response(request.url, request=request), request))


def test_the_output_is_handled_in_order_one_after_the_other(scraper: Scraper, log: list[Any]) -> None:
    child = Request("http://x.example/child")
    scrape(scraper, "a", None, child, "b")
    assert log == [
        ("item begun", "a"),
        ("item over", "a"),
        ("crawled", child.url),
        ("item begun", "b"),
        ("item over", "b"),
    ]


def test_an_error_is_reported_and_ends_the_page(scraper: Scraper, log: list[Any]) -> None:
    error = KeyError("id")
    scrape(scraper, "a", error)
    assert log == [("item begun", "a"), ("item over", "a"), ("error", error)]


def test_a_cancelled_callback_is_not_an_error(scraper: Scraper, log: list[Any]) -> None:
    with pytest.raises(asyncio.CancelledError):
        scrape(scraper, asyncio.CancelledError())
    assert log == []

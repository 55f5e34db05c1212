"""The lean engine and scraper beside Scrapy's own: the same crawl, told the same way."""

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
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("meddling", [(), ("meddling",)])
def test_whatever_happens_to_a_request_is_told_as_scrapy_tells_it(site: str, meddling: tuple[str, ...]) -> None:
    lean, scrapys = crawled("lean", site, *meddling), crawled("scrapy", site, *meddling)
    assert (lean["lean"], scrapys["lean"]) == (True, False)
    assert lean["told"] == scrapys["told"]
    assert lean["stats"] == scrapys["stats"]
    assert len(lean["told"]) > 100


class Reader:
    """A spider middleware that wants to know."""

    def __init__(self, log: list[Any]) -> None:
        self.log = log

    def page_gives(self, response: Response, each: Any) -> None:
        self.log.append(("gives", each))

    async def page_ends(self, response: Response, error: Exception | None) -> None:
        await asyncio.sleep(0)
        self.log.append(("ends", error))


class Plain(Reader):
    def page_ends(self, response: Response, error: Exception | None) -> None:  # type: ignore[override]
        self.log.append(("plain", error))


@pytest.fixture
def log() -> list[Any]:
    return []


@pytest.fixture
def scraper(log: list[Any]) -> Scraper:
    """One whose page gives what the test says."""
    made = Scraper.__new__(Scraper)
    made.spidermw = SimpleNamespace(middlewares=(Reader(log), Plain(log)))  # type: ignore[assignment]
    made.crawler = SimpleNamespace(engine=SimpleNamespace(crawl=lambda each: log.append(("crawled", each.url))))  # type: ignore[assignment]
    made.handle_spider_error = lambda failure, *_: log.append(("told", failure.value))  # type: ignore[method-assign]

    async def processed(item: Any, response: Any) -> None:
        log.append(("item begun", item))
        await asyncio.sleep(0.01)
        log.append(("item over", item))

    made.start_itemproc_async = processed  # type: ignore[method-assign]
    made.look()
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


def test_nothing_is_read_ahead_and_the_end_comes_last(scraper: Scraper, log: list[Any]) -> None:
    child = Request("http://x.example/child")
    scrape(scraper, "a", None, child, "b")
    expected = [
        *[("gives", "a"), ("gives", "a"), ("item begun", "a"), ("item over", "a")],
        *[("gives", child), ("gives", child), ("crawled", child.url)],
        *[("gives", "b"), ("gives", "b"), ("item begun", "b"), ("item over", "b")],
        *[("plain", None), ("ends", None)],
    ]
    assert log == expected


def test_an_error_is_told_and_ends_the_page(scraper: Scraper, log: list[Any]) -> None:
    error = KeyError("id")
    scrape(scraper, error)
    assert log == [("told", error), ("plain", error), ("ends", error)]


def test_a_callback_cut_short_by_the_end_of_the_worker_is_not_over(scraper: Scraper, log: list[Any]) -> None:
    with pytest.raises(asyncio.CancelledError):
        scrape(scraper, asyncio.CancelledError())
    assert log == []

"""Who settles a lease, in a real crawl of an ordinary spider, on stock Scrapy and accelerated."""

import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest
from redis import Redis

from realestate.queue import keys
from tests.queue.settlement_crawl import MANY

#: By path: how its lease ended, the reason of its dead letter, and how many children were stored with it.
EXPECTED: dict[str, tuple[str, str | None, int]] = {
    "async": ("done", None, 1),
    "list": ("done", None, 1),
    "nothing": ("done", None, 0),
    "raises-at-once": ("dead", "parse", 0),
    "raises-midway": ("dead", "parse", 1),
    "raises-midway-async": ("dead", "parse", 1),
    "handled-error": ("done", None, 1),
    "dropped-item": ("done", None, 0),
    "broken-item": ("done", None, 0),
    "many": ("done", None, MANY),
    "duplicates": ("done", None, 2),
    "same-object": ("done", None, 2),
    "offsite": ("done", None, 0),
    "local": ("done", None, 0),
    "moved": ("done", None, 0),
    "missing": ("dead", "http", 0),
    "forbidden": ("dead", "ban", 0),
    "ignored": ("dead", "ignored", 0),
    "refused-page": ("dead", "ignored", 0),
    "swallowed": ("dead", "swallowed", 0),
    "slow": ("dead", "timeout", 0),
    "missing?errback": ("done", None, 1),
    "unreachable": ("dead", "download", 0),
    "unreachable?errback": ("done", None, 1),
    "unreachable?raises": ("dead", "download", 0),
}

#: The rows of "Who settles a lease" in docs/architecture.md, and what shows each: a case of the crawl, or a folder
#: and a word in the name of its test.
ROWS: dict[str, str] = {
    "the callback finishes": "async",
    "the callback raises": "raises-midway",
    "the callback needs the store, which stays away, and the worker stops": "tests/queue::closes_the_spider",
    "redirect": "moved",
    "retry": "tests/queue::retry",
    "404, 410 of a listing": "tests/crawling::gone",
    "another HTTP error": "missing",
    "robots.txt is not known yet, or cannot be fetched": "tests/middlewares::robots|host|wait",
    "robots.txt forbids it, or cannot be fetched for too long": "tests/middlewares::forbidden",
    "a middleware drops it, such as offsite": "ignored",
    "its address is not public": "tests/middlewares::address",
    "the listing was erased": "tests/middlewares::erased",
    "download error": "unreachable",
    "its value in Redis is not a request": "tests/queue::malformed",
    "the page uses more than `PAGE_CPU_SECONDS` of CPU": "tests/end_to_end::interrupt",
    "another page of the same worker does": "tests/end_to_end::stuck",
    "a middleware swallows it": "swallowed",
    "the worker stops": "tests/end_to_end::stopped",
    "the worker dies": "tests/end_to_end::killed",
}
#: One crawl for all tests of a mode: they run in one process.
pytestmark = pytest.mark.xdist_group("settlement")
ROOT = Path(__file__).parents[2]


class Site(BaseHTTPRequestHandler):
    fetched: ClassVar[Counter[str]] = Counter()

    def do_GET(self) -> None:
        path = self.path[1:]
        self.fetched[path] += 1
        status = {"missing": 404, "missing?errback": 404, "forbidden": 403, "moved": 302}.get(path, 200)
        if path == "retried" and self.fetched[path] % 2:
            status = 503
        if path == "slow":
            time.sleep(1)
        try:
            self.send_response(status)
            self.send_header("Location", "/moved-here")
            self.send_header("Content-Length", "0")
            self.end_headers()
        except OSError:
            pass  # the client has given up

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


@pytest.fixture(scope="module", params=["on", "off"], ids=["accelerated", "stock"])
def crawl(request: pytest.FixtureRequest, site: str, services: Any) -> dict[str, Any]:
    """One crawl for all tests of this module."""
    server = Redis.from_url(services.redis_url)
    server.flushall()
    Site.fetched.clear()
    command = [sys.executable, "-m", "tests.queue.settlement_crawl", request.param, site, services.redis_url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert ("accelerate" in result["engine"]) is (request.param == "on")
    result["fetched"] = dict(Site.fetched)
    result["left"] = {
        name: server.zcard(key("any"))
        for name, key in {"ready": keys.ready, "delayed": keys.delayed, "in flight": keys.inflight}.items()
    }
    server.close()
    return result


@pytest.mark.parametrize("path", EXPECTED)
def test_each_lease_ends_once_and_as_expected(crawl: dict[str, Any], path: str) -> None:
    assert crawl["ended"][path] == [list(EXPECTED[path])]


def test_a_retry_ends_one_lease_and_begins_another(crawl: dict[str, Any]) -> None:
    assert [outcome for outcome, _, _ in crawl["ended"]["retried"]] == ["retry", "done"]


def test_no_lease_ends_before_everything_that_its_page_yielded_is_handled(crawl: dict[str, Any]) -> None:
    assert crawl["too_early"] == []
    assert crawl["handled"]["many"] == MANY // 10
    assert crawl["handled"]["handled-error"] == 2


def test_every_child_is_fetched(crawl: dict[str, Any]) -> None:
    fetched = crawl["fetched"]
    once = ["async-child", "list-child", "raises-midway-child", "raises-midway-async-child", "handled-error-child"]
    once += ["duplicates-child", "local-child", "missing?errback-after", "unreachable?errback-after"]
    once += [f"many-{number}" for number in range(MANY)]
    assert {path: fetched.get(path) for path in once} == dict.fromkeys(once, 1)
    assert fetched["same-object-child"] == 2, "they are not to be filtered"


def test_nothing_is_left_in_the_queue(crawl: dict[str, Any]) -> None:
    assert crawl["left"] == {"ready": 0, "delayed": 0, "in flight": 0}


def test_every_row_of_the_table_in_the_architecture_page_is_shown() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    table = page.partition("### Who settles a lease")[2].partition("\n## ")[0]
    rows = {
        cells[0]: cells[2]
        for line in table.splitlines()
        if line.startswith("| ") and len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 3
    }
    rows.pop("what happens to the request")
    assert rows.keys() == ROWS.keys()
    for row, shown_by in ROWS.items():
        if "::" in shown_by:
            folder, _, words = shown_by.partition("::")
            tests = "".join(path.read_text("utf-8") for path in (ROOT / folder).glob("test_*.py"))
            assert re.search(rf"def test_\w*({words})", tests), shown_by
        elif rows[row] != "–":
            outcome, reason, _ = EXPECTED[shown_by]
            assert re.search(rf"\b{outcome}\b", rows[row]), row
            assert reason is None or f"`{reason}`" in rows[row] or row.startswith("a middleware drops"), row

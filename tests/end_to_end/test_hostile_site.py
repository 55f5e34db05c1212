"""A site that tries to make a worker read files: nothing of them reaches any place that a worker writes."""

import asyncio
import gzip
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from scrapy import Request

from realestate.queue import keys
from realestate.queue.codec import encode
from realestate.queue.connection import connect_to
from realestate.queue.request_ids import RequestId
from realestate.queue.request_queue import Pushed, QueueSettings, RequestQueue
from realestate.spiders.generic import GenericSpider
from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import PYTHON, dead_letters, finished, running
from tests.end_to_end.hostile import serving

SECRET = "the-secret-of-this-machine-4711"
HOME = b"""<html><script type="application/ld+json">{"@type": "House", "name": "House for sale", "numberOfRooms": 3,
"image": ["https://img.example/1.jpg", "file://%s", "javascript:alert(1)"],
"address": {"@type": "PostalAddress", "addressLocality": "Gent", "addressCountry": "BE"},
"offers": {"price": 250000, "priceCurrency": "EUR"}}</script></html>"""


class HostileSite:
    """Robots.txt, sitemaps, redirects and a listing that all name the file."""

    def __init__(self, file: Path) -> None:
        self.file = f"file://{file}"
        self.asked: list[str] = []

    def answer(self, path: str, host: str) -> tuple[int, bytes, dict[str, str]]:
        self.asked.append(path)
        site = f"http://{host}"
        if path == "/_portals":
            return 200, json.dumps({"generic": site}).encode(), {"Content-Type": "application/json"}
        if path == "/robots.txt":
            return 200, f"Sitemap: {self.file}\nSitemap: {site}/index.xml\n".encode(), {"Content-Type": "text/plain"}
        if path == "/index.xml":
            files = (self.file, f"{site}/homes.xml.gz", "file:///dev/zero", f"{site}/moved.xml", f"{site}/entity.xml")
            return 200, _xml("sitemapindex", "sitemap", *files), {}
        if path == "/homes.xml.gz":
            homes = (self.file, "file:///dev/zero", f"{site}/homes-for-sale/10001", f"{site}/moved/10002", "http://[")
            return 200, gzip.compress(_xml("urlset", "url", *homes)), {}
        if path == "/entity.xml":
            entity = f'<!DOCTYPE x [<!ENTITY secret SYSTEM "{self.file}">]>'.encode()
            return 200, entity + _xml("urlset", "url", f"{site}/entity/10003?&secret;"), {}
        if path.startswith("/moved"):
            return 302, b"", {"Location": self.file}
        return 200, HOME % self.file.removeprefix("file://").encode(), {"Content-Type": "text/html"}


def _xml(root: str, entry: str, *urls: str) -> bytes:
    return f"<{root}>{''.join(f'<{entry}><loc>{url}</loc></{entry}>' for url in urls)}</{root}>".encode()


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[tuple[HostileSite, str]]:
    file = tmp_path / "secret.txt"
    file.write_text(SECRET, "utf-8")
    site = HostileSite(file)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body, headers = site.answer(self.path, self.headers["Host"])
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    with serving(Handler) as url:
        yield site, url


def forge(redis_url: str, url: str) -> None:
    """Put a request into the queue as somebody with access to Redis would."""

    async def push() -> None:
        server = connect_to(redis_url)
        spider = GenericSpider()
        request = Request(
            url,
            callback=spider.read_page,
            errback=spider.on_failure,
            dont_filter=True,
            meta={"stage": "extract", "job": "j"},
        )
        identity = RequestId(b"0123456789", 0, "forged")
        pushed = Pushed.of(identity, 0, "j", "extract", encode(request, spider))
        await RequestQueue(server, "generic", QueueSettings()).push([pushed])
        await server.aclose()

    asyncio.run(push())


def everything_in(server: Redis) -> bytes:
    found: list[Any] = []
    for key in server.scan_iter("*"):
        found.append(key)
        found.append(server.dump(key))
    return b"".join(filter(None, found))


def test_a_hostile_site_reads_no_file_of_a_worker(
    hostile: tuple[HostileSite, str],
    env: dict[str, str],
    server: Redis,
    redis_url: str,
    store: PostgresStore,
    tmp_path: Path,
) -> None:
    site, url = hostile
    env |= {
        "SIMULATOR_URL": url,
        "SNAPSHOTS_SAMPLE": "1",
        "SNAPSHOTS_URL": str(tmp_path / "pages"),
        "LOG_LEVEL": "DEBUG",
    }
    with running([PYTHON, "-m", "realestate", "work", "generic"], env, tmp_path / "worker.log") as worker:
        forge(redis_url, site.file)
        server.rpush(keys.start_urls("generic"), url + "/", site.file, json.dumps({"url": site.file}))
        finished(server, "generic")
        assert worker.stop() == 0
    (listing,) = store.records("generic")
    assert listing["photos"] == ["https://img.example/1.jpg"]
    reasons = sorted(letter["reason"] for letter in dead_letters(redis_url, "generic"))
    assert reasons.count("seed") == 2
    assert "malformed" in reasons, "the forged request"
    assert "/entity/10003" not in " ".join(site.asked)
    assert SECRET.encode() not in everything_in(server)
    assert SECRET not in worker.text()
    assert SECRET not in str(list(store.records("generic")))
    pages = [path for path in (tmp_path / "pages").rglob("*") if path.is_file()]
    assert pages, "the pages of the site are kept"
    for path in [*pages, *(each for each in (tmp_path / "home").rglob("*") if each.is_file())]:
        content = path.read_bytes()
        assert SECRET.encode() not in content + _unzipped(content), path
        assert b"WARC-Target-URI: file:" not in _unzipped(content)
    stats = worker.stats()
    assert stats["search/result/unreadable"] >= 5
    assert stats["page/extract/ok"] == 1


def _unzipped(content: bytes) -> bytes:
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content

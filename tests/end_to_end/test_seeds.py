"""Seeds are read all the time, not only when a spider is idle as in stock scrapy-redis."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from redis import Redis

from tests.end_to_end.conftest import PYTHON, finished, running, until
from tests.end_to_end.hostile import page


class SlowSite:
    """A site that holds the response for one listing until the test releases it."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.let_go = threading.Event()


@contextmanager
def serving(site: SlowSite) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.rsplit("/", 1)[-1]
            site.asked.add(name)
            if name == "21000001":
                site.let_go.wait(60)
            body = f'{{"immoweb": "http://{self.headers["Host"]}"}}'.encode() if name == "_portals" else page()
            self.send_response(404 if name == "robots.txt" else 200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        site.let_go.set()
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_busy_worker_takes_a_new_seed_at_once(env: dict[str, str], server: Redis, tmp_path: Path) -> None:
    site = SlowSite()
    with serving(site) as address:
        env["SIMULATOR_URL"] = address
        with running([PYTHON, "-m", "scrapy", "crawl", "immoweb"], env, tmp_path / "worker.log") as worker:
            server.lpush("immoweb:start_urls", f"{address}/en/classified/21000001")
            until(lambda: "21000001" in site.asked, "the first page to be asked for")
            server.lpush("immoweb:start_urls", f"{address}/en/classified/21000002")
            until(lambda: "21000002" in site.asked, "the second page, while the first is still on its way")
            assert not site.let_go.is_set()
            site.let_go.set()
            finished(server, "immoweb")
            assert worker.stop() == 0

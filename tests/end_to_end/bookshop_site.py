"""A small web shop for the example project: pages with links to books, and what its server saw."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PAGES = 5
BOOKS_PER_PAGE = 10


class Shop:
    """`/page/<n>` leads to ten books and to all other pages. `/book/broken` always answers with status 500."""

    def __init__(self) -> None:
        self.requests: list[tuple[float, str]] = []
        self.clients: set[str | None] = set()
        self.url = ""

    @property
    def books(self) -> set[str]:
        """The addresses of all books that can be read."""
        return {f"{self.url}/book/{number}" for number in range(PAGES * BOOKS_PER_PAGE)}

    def fetched(self) -> Counter[str]:
        """How often each path was fetched."""
        return Counter(path for _, path in self.requests)

    def most_per_second(self) -> int:
        """The largest number of requests in any second."""
        times = sorted(at for at, _ in self.requests)
        return max(sum(begin <= at < begin + 1 for at in times) for begin in times)

    def page(self, path: str) -> tuple[int, str]:
        kind, _, name = path.strip("/").partition("/")
        if kind == "page":
            first = int(name) * BOOKS_PER_PAGE
            books = [f"/book/{number}" for number in range(first, first + BOOKS_PER_PAGE)]
            links = [f'<a class="book" href="{link}">book</a>' for link in [*books, "/book/broken"]]
            links += [f'<a class="page" href="/page/{number}">page</a>' for number in range(PAGES)]
            return 200, "".join(links)
        if kind == "book" and name.isdecimal():
            return 200, f"<h1>Book {name}</h1>"
        return 500, "broken"


@contextmanager
def running_shop() -> Iterator[Shop]:
    shop = Shop()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            shop.requests.append((time.monotonic(), self.path))
            shop.clients.add(self.headers.get("X-Client"))
            status, text = shop.page(self.path)
            body = f"<html><body>{text}</body></html>".encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        shop.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield shop
        finally:
            server.shutdown()
            thread.join()

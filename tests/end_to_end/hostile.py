"""A site with immoweb's addresses that serves broken, empty, hostile and failing responses."""

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GOOD = {
    "id": 21000001,
    "property": {"type": "HOUSE", "subtype": "HOUSE", "title": "Good", "location": {"locality": "Gent"}},
    "transaction": {"type": "FOR_SALE"},
    "price": {"mainValue": 100000},
}


def page(**changes: object) -> bytes:
    return b"<html><script>window.classified = " + json.dumps({**GOOD, **changes}).encode() + b";</script></html>"


#: The last part of the address -> status, body, headers.
PAGES: dict[str, tuple[int, bytes, dict[str, str]]] = {
    "21000001": (200, page(), {}),
    "21000002": (200, page(id=21000002, price={"mainValue": None}), {}),
    "21000003": (200, page(id=21000003, transaction={"type": "FOR_BARTER"}), {}),
    "21000004": (200, page(id=21000004, property={**GOOD["property"], "bedroomCount": 5000}), {}),  # type: ignore[dict-item]
    "21000005": (200, page(id=21000005, property={**GOOD["property"], "title": "half \ud800 nul \0"}), {}),  # type: ignore[dict-item]
    "21000006": (200, b"<html>something went wrong</html>", {}),
    "21000007": (200, page(id=21000007)[:80], {}),
    "21000008": (200, b"", {}),
    "21000009": (200, "window.classified = {".encode("utf-16"), {"Content-Type": "text/html; charset=utf-8"}),
    "21000010": (200, b"\x89PNG\r\n\x1a\n\x00", {"Content-Type": "image/png"}),
    "21000011": (404, b"gone", {}),
    "21000012": (410, b"gone", {}),
    "21000013": (403, b"go away", {}),
    "21000014": (302, b"", {"Location": "/en/search/house"}),
    "21000015": (302, b"", {"Location": "http://127.0.0.1:1/en/classified/21000015"}),
    "21000016": (200, gzip.compress(page(id=21000016))[:50], {"Content-Encoding": "gzip"}),
    "21000017": (200, page(id=21000017), {"Content-Type": "text/html; charset=klingon"}),
    "21000018": (200, b"window.classified = " + b"[" * 100_000, {}),
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        name = self.path.rsplit("/", 1)[-1]
        if self.path == "/_portals":
            addresses = json.dumps({"immoweb": f"http://{self.headers['Host']}"}).encode()
            self._send(200, addresses, {"Content-Type": "application/json"})
        elif name in PAGES:
            self._send(*PAGES[name])
        else:
            self._send(404 if name == "robots.txt" else 200, b"<html>index</html>", {})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "text/html", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the tests check the worker."""


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """A server on this machine with these responses; its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def hostile_site() -> Iterator[str]:
    with serving(Handler) as url:
        yield url

"""An HTTP server that receives notifications, and answers as a test tells it."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Receiver:
    """What it got and accepted; `answers` are the statuses of the next requests, then 200."""

    port: int = 0
    answers: list[int] = field(default_factory=list)
    retry_after: str | None = None
    accepted: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    requests: int = 0
    reached: threading.Event = field(default_factory=threading.Event)
    """Set when a request arrives."""
    may_answer: threading.Event = field(default_factory=threading.Event)
    """Requests are answered while this is set."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def apprise_url(self) -> str:
        """The same receiver as apprise's JSON service."""
        return f"json://127.0.0.1:{self.port}/hook"


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()
    receiver.may_answer.set()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            with lock:
                receiver.requests += 1
                status = receiver.answers.pop(0) if receiver.answers else 200
                if status == 200:
                    receiver.accepted.append(json.loads(body))
                    receiver.bodies.append(body)
                    receiver.headers.append({name.lower(): value for name, value in self.headers.items()})
            receiver.reached.set()
            receiver.may_answer.wait(30)
            self.send_response(status)
            if receiver.retry_after:
                self.send_header("Retry-After", receiver.retry_after)
            if 300 <= status < 400:
                self.send_header("Location", receiver.url)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.may_answer.set()
        server.shutdown()
        server.server_close()
        thread.join()

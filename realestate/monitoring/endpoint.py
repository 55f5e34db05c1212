"""The HTTP server of one process: /metrics, /healthz, /readyz. It responds in threads of its own."""

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

logger = logging.getLogger(__name__)

#: Workers on one machine share METRICS_PORT: each takes the first free port of this many.
PORTS = 32


@dataclass(frozen=True, slots=True)
class Ready:
    """Whether a process can do its work, and what it says about each part."""

    is_ready: bool
    parts: Mapping[str, str] = field(default_factory=dict)


class Endpoint:
    """Serves until it is stopped."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self._server = server
        self.port = server.server_port
        self._thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
        self._thread.start()

    @classmethod
    def start(
        cls, port: int, address: str, registry: CollectorRegistry, ready: Callable[[], Ready], *, ports: int = PORTS
    ) -> Self | None:
        """Listen on the first free port of `ports` from this one. If none is free, log it and return None: a worker is
        worth more than its metrics."""
        handler = _handler(registry, ready)
        for each in range(port, port + ports):
            try:
                server = ThreadingHTTPServer((address, each), handler)
            except OSError as error:
                reason = error
                continue
            server.daemon_threads = True
            logger.info("metrics/serving: http://%s:%d/metrics", address, server.server_port)
            return cls(server)
        logger.error("metrics/unavailable: no port of %d to %d is free: %s", port, port + ports - 1, reason)
        return None

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


def _handler(registry: CollectorRegistry, ready: Callable[[], Ready]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/metrics":
                encode, content_type = choose_encoder(self.headers.get("Accept") or "")
                self._answer(200, content_type, encode(registry))
            elif path == "/healthz":
                self._answer(200, "text/plain; charset=utf-8", b"alive\n")
            elif path == "/readyz":
                state = ready()
                body = msgspec.json.encode({"ready": state.is_ready, "parts": dict(state.parts)})
                self._answer(200 if state.is_ready else 503, "application/json", body)
            else:
                self._answer(404, "text/plain; charset=utf-8", b"/metrics, /healthz or /readyz\n")

        def _answer(self, status: int, content_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            with suppress(ConnectionError):  # the client did not wait for it: a scrape has a timeout
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: a scrape each few seconds would fill the log."""

    return Handler

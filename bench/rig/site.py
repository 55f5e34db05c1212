"""A simulated portal seen from outside: its address, its truth and the requests it got."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from bench.rig.context import Context
from realestate.demo.simulators import simulator_process
from realestate.demo.truth import truth_of

SEED = 7


class Seen(NamedTuple):
    """The responses of the portal so far."""

    requests: int
    listings: int


class Site:
    """`refs` are the ids of all its listings."""

    def __init__(self, simulator: str, portal: str) -> None:
        self.simulator = simulator
        self.portal = portal
        self._connection = HTTPConnection(urlsplit(simulator).netloc, timeout=60)
        self.base: str = self._ask("GET", "/_portals")[portal]
        self.refs = frozenset(row["ref"] for row in truth_of(simulator, portal))

    def seen(self) -> Seen:
        found = self._ask("GET", "/_stats")[self.portal]
        return Seen(found["requests"], found["by_kind"]["listing"])

    def takes(self, seconds: float) -> None:
        """Delay every response by this many seconds from now on."""
        self._ask("POST", f"/_latency/{self.portal}", msgspec.json.encode({"seconds": seconds}))

    def close(self) -> None:
        self._connection.close()

    def _ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        self._connection.request(method, path, body)
        with self._connection.getresponse() as answer:
            return msgspec.json.decode(answer.read())


@contextmanager
def sites(context: Context, portals: tuple[str, ...], listings: int) -> Iterator[list[Site]]:
    """Start a simulator and yield its sites."""
    log = context.folder / "simulator.log"
    log.unlink(missing_ok=True)  # an earlier log contains another address
    with simulator_process(log, listings, SEED) as simulator:
        found = [Site(simulator, portal) for portal in portals]
        try:
            yield found
        finally:
            for site in found:
                site.close()

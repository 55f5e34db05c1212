"""A simulated portal with an adversary before it, and the proxies to it.

Each crawler has its own, with the same seed: the bans that one crawler earns must not hit another.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

import msgspec

from bench.rig.site import SEED
from realestate.demo.simulators import simulator_process
from realestate.demo.truth import truth_of

PORTAL = "emlak"
#: Results on a search page of this portal.
PAGE_SIZE = 20
PROXIES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Toll:
    """What the adversary saw of a crawl, without robots.txt, and what it did."""

    requests: int
    refused: int
    """Requests with the response 429 or 403."""
    bans: int
    fault_share: float
    """The share of requests that met a fault."""

    @property
    def refused_share(self) -> float:
        return self.refused / max(1, self.requests)


class Arena:
    """`pages` is how many requests a crawl needs if every first response is good."""

    def __init__(self, simulator: str, proxies: tuple[str, ...]) -> None:
        self.simulator = simulator
        self.proxies = proxies
        self.base: str = self._json("/_portals")[PORTAL]
        self.truth: list[dict[str, Any]] = truth_of(simulator, PORTAL)
        self.pages = len(self.truth) + ceil(len(self.truth) / PAGE_SIZE)

    def toll(self) -> Toll:
        counted = self._json("/_adversary")["portals"][PORTAL]
        return Toll(**{name: counted[name] for name in ("requests", "refused", "bans", "fault_share")})

    def _json(self, path: str) -> Any:
        with build_opener(ProxyHandler({})).open(self.simulator + path, timeout=60) as answer:
            return msgspec.json.decode(answer.read())


@contextmanager
def arena(folder: Path, profile: str, listings: int) -> Iterator[Arena]:
    log = folder / "simulator.log"
    options = ("--adversary", profile, "--proxies", str(PROXIES))
    with simulator_process(log, listings, SEED, *options) as simulator:
        proxies = re.search(r"PROXIES='([^']*)'", log.read_text("utf-8"))
        if not proxies:
            raise OSError("the simulator named no proxies")
        yield Arena(simulator, tuple(proxies[1].split(",")))

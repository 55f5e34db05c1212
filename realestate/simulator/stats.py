"""Counts of the requests by portal, client, second, status and kind."""

import time
from collections import Counter
from typing import Any, get_args

from realestate.simulator.site import Kind

REFUSED = frozenset({403, 429, 503})


class Stats:
    """The requests to one portal. Seconds are real time; only the days are simulated."""

    def __init__(self) -> None:
        self.requests = 0
        self.by_client: Counter[str] = Counter()
        self.by_second: Counter[int] = Counter()
        self.by_status: Counter[int] = Counter()
        self.by_kind: Counter[Kind] = Counter()

    def count(self, client: str, status: int, kind: Kind) -> None:
        self.requests += 1
        self.by_client[client] += 1
        self.by_second[int(time.time())] += 1
        self.by_status[status] += 1
        self.by_kind[kind] += 1

    @property
    def refusals(self) -> int:
        return sum(count for status, count in self.by_status.items() if status in REFUSED)

    def as_record(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "by_client": dict(self.by_client),
            "by_second": {str(second): count for second, count in self.by_second.items()},
            "by_status": {str(status): count for status, count in self.by_status.items()},
            "by_kind": {kind: self.by_kind[kind] for kind in get_args(Kind)},
        }

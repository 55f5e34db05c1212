"""Counts of what the adversary did, per client address."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from realestate.simulator.adversary.limits import Reason, Refusal
from realestate.simulator.adversary.profiles import Fault


class Tally:
    """The requests of one client address, without those for robots.txt."""

    def __init__(self) -> None:
        self.requests = 0
        self.bans = 0
        self.refusals: Counter[Reason] = Counter()
        self.faults: Counter[Fault] = Counter()

    @property
    def refused(self) -> int:
        """The number of responses with 429 or 403."""
        return self.refusals.total()

    def refuse(self, refusal: Refusal) -> None:
        self.refusals[refusal.reason] += 1
        self.bans += refusal.is_new_ban

    def as_record(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "refused": self.refused,
            "banned": self.refusals["banned"],
            "bans": self.bans,
            "refusals": dict(self.refusals),
            "faults": dict(self.faults),
        }


def total(tallies: Iterable[Tally]) -> dict[str, Any]:
    """Return the counts of all clients together, and their shares of all requests."""
    whole = Tally()
    for each in tallies:
        whole.requests += each.requests
        whole.bans += each.bans
        whole.refusals += each.refusals
        whole.faults += each.faults
    shares = {"refused_share": whole.refused, "fault_share": whole.faults.total()}
    return whole.as_record() | {name: count / max(1, whole.requests) for name, count in shares.items()}

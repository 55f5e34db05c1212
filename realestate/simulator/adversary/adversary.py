"""Decides what happens to a request. It does no network access, and the time is passed in.

The result of the n-th request of an address for a target follows from the seed, so that a client that tries again may
get the page. The new layout and the period of empty pages begin after a number of requests that depends on the size of
the portal.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from random import Random
from typing import Any, Literal, NamedTuple

from realestate.simulator.adversary.ban_pages import KINDS, LOGIN, LOGIN_PATH, ban_page
from realestate.simulator.adversary.counts import Tally, total
from realestate.simulator.adversary.damage import bomb, emptied, garbled, relaid
from realestate.simulator.adversary.header_checks import objection
from realestate.simulator.adversary.limits import Limits, Refusal
from realestate.simulator.adversary.profiles import PROFILES, Fault
from realestate.simulator.adverts import dice
from realestate.simulator.site import Response

Manner = Literal["whole", "reset", "truncated", "drip", "too_long", "too_short"]
"""How a response is sent. The lengths are those of Content-Length."""

LOOP_PATH = "/_loop/"
#: The period of empty pages begins and ends, and the new layout begins, after this many requests for each listing.
SPELL_BEGINS = 0.3
SPELL_ENDS = 0.36
NEW_LAYOUT = 0.55
SERVER_ERRORS = (500, 502, 503, 504)


class Visit(NamedTuple):
    """A request, as the adversary sees it."""

    address: str
    target: str
    """Path and query, as they were received."""
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Treatment:
    """The response to a request, and how it is sent."""

    response: Response
    manner: Manner = "whole"

    @property
    def status(self) -> int:
        """The status that the client gets, or 0 if it gets no response."""
        return 0 if self.manner == "reset" else self.response.status


class Adversary:
    """The adversary of one portal. The size of the portal is read at the first request: that creates the portal."""

    def __init__(self, profile: str, portal: str, base: str, *, seed: int, size: Callable[[], int]) -> None:
        self._profile = PROFILES[profile]
        self._base = base
        self._dice = partial(dice, seed, "adversary", portal)
        self._size = size
        self._limits = defaultdict[str, Limits](partial(Limits, self._profile))
        self._tallies = defaultdict[str, Tally](Tally)
        self._asked = Counter[tuple[str, str]]()
        self._let_in = 0
        self._new_layouts = 0
        if "bomb" in self._profile.faults:
            bomb(Response("other", b""))  # made now: it takes a second, in which no other request gets a response

    @cached_property
    def _listings(self) -> int:
        return self._size()

    def treat(self, visit: Visit, response: Response, now: float) -> Treatment:
        """Decide how this client gets the response."""
        tally = self._tallies[visit.address]
        tally.requests += 1
        refusal = self._refusal(visit, now)
        if refusal is not None:
            tally.refuse(refusal)
            return Treatment(_refused(response, refusal))
        self._let_in += 1
        self._asked[visit.address, visit.target] += 1
        fault, rolled = self._fault(visit)
        if fault is None or not (response.body or fault in _WITHOUT_BODY):
            return Treatment(self._as_laid_out(response))
        tally.faults[fault] += 1
        return self._treatment(fault, visit, response, rolled)

    def clients(self) -> dict[str, Any]:
        """By address."""
        return {address: tally.as_record() for address, tally in self._tallies.items()}

    def as_record(self) -> dict[str, Any]:
        """Return the counts of all addresses together."""
        return total(self._tallies.values()) | {"new_layout": self._new_layouts}

    def _refusal(self, visit: Visit, now: float) -> Refusal | None:
        refusal = self._limits[visit.address].refusal(now)
        if refusal is None and self._profile.checks_clients and (reason := objection(visit.headers)):
            return Refusal(reason, 403)
        return refusal

    def _fault(self, visit: Visit) -> tuple[Fault | None, Random]:
        """Return the fault for this request, and the random numbers for its details."""
        rolled = self._dice(*visit[:2], self._asked[visit[:2]])
        faults = self._profile.faults
        if "redirect_loop" in faults and visit.target.startswith(LOOP_PATH):
            return "redirect_loop", rolled
        if "challenge" in faults and visit.target == LOGIN_PATH:
            return "challenge", rolled
        number = rolled.random()
        half = rolled.random() < 0.5
        for fault, share in faults.items():
            number -= share
            if number < 0:
                return fault, rolled
        return ("empty" if half and self._is_empty_spell() else None), rolled

    def _is_empty_spell(self) -> bool:
        begins = SPELL_BEGINS * self._listings
        ends = SPELL_ENDS * self._listings
        return self._profile.has_empty_spell and begins <= self._let_in < ends

    def _as_laid_out(self, response: Response) -> Response:
        if not self._profile.changes_layout or self._let_in < NEW_LAYOUT * self._listings:
            return response
        self._new_layouts += 1
        return relaid(response)

    def _treatment(self, fault: Fault, visit: Visit, response: Response, rolled: Random) -> Treatment:
        match fault:
            case "server_error":
                status = rolled.choice(SERVER_ERRORS)
                return Treatment(Response(response.kind, f"<title>{status}</title><h1>It is us</h1>".encode(), status))
            case "challenge" if visit.target == LOGIN_PATH:
                return Treatment(Response(response.kind, LOGIN))
            case "challenge":
                return Treatment(ban_page(rolled.choice(KINDS), response.kind, self._base))
            case "redirect_loop":
                onward = "b" if visit.target == f"{LOOP_PATH}a" else "a"
                return Treatment(Response(response.kind, b"", 302, location=f"{self._base}{LOOP_PATH}{onward}"))
            case "bomb":
                return Treatment(bomb(response))
            case "encoding":
                return Treatment(garbled(response, rolled))
            case "empty":
                return Treatment(emptied(response))
            case "length":
                return Treatment(self._as_laid_out(response), rolled.choice(("too_long", "too_short")))
        return Treatment(self._as_laid_out(response), fault)


#: Faults that are possible for a response without content.
_WITHOUT_BODY: frozenset[Fault] = frozenset({"server_error", "reset", "challenge", "redirect_loop"})


def _refused(response: Response, refusal: Refusal) -> Response:
    if refusal.status == 429:
        words = b"<title>Too many requests</title><h1>Slow down</h1>"
        extra = {"Retry-After": str(refusal.retry_after)}
        return Response(response.kind, words, 429, extra=extra)
    return Response(response.kind, b"<title>Forbidden</title><h1>You are not welcome</h1>", 403)

"""How the fleet behaves towards a site: what one worker meets, all take to heart."""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from scrapy import Request
from scrapy.statscollectors import StatsCollector

from realestate.accelerate.headers import has, take_off
from realestate.queue.exits import Exit, Signal
from realestate.queue.request_queue import RequestQueue
from realestate.queue.standings import Standings
from realestate.queue.suspicion import EXIT, MISLED, SENT

logger = logging.getLogger(__name__)

#: Where a request carries which of its headers belong to who we were at its exit.
WORN = "worn"
#: Where it carries what else does.
_DRESS = frozenset({WORN, "proxy", "_auth_proxy", "cookiejar", "entered", "trusted"})
#: Told so often at most that the site refuses most exits.
ALARM_MS = 60_000

Soon = Callable[[Callable[[], Awaitable[None]], str], None]


def undress(request: Request) -> None:
    """Take off what belonged to an exit and an identity: the next may be others."""
    worn = request.meta.pop(WORN, None)
    for header in (*(worn or ()), *(("Cookie",) if worn is not None else ()), "Proxy-Authorization"):
        take_off(request.headers, header)
    for name in _DRESS:
        request.meta.pop(name, None)


def is_dressed(request: Request) -> bool:
    return not _DRESS.isdisjoint(request.meta) or has(request.headers, "Proxy-Authorization")


class Feedback:
    """Told by who fetches. `soon` does something in the background; `hand_back` gives back what is not yet sent, all or
    by one exit."""

    def __init__(
        self,
        queue: RequestQueue,
        stats: StatsCollector,
        now: Callable[[], float],
        soon: Soon,
        hand_back: Callable[..., None],
    ) -> None:
        self.queue = queue
        self.stats = stats
        self.now = now
        self.standings = Standings(queue, now)
        self._soon = soon
        self._hand_back = hand_back
        self._good: Counter[str] = Counter()
        self._alarmed_at = -float(ALARM_MS)

    def use_proxies(self, exits: Sequence[Exit]) -> None:
        """From now on these are the ways out."""
        self.queue.exits = exits

    def has_proxy(self, exit: str) -> bool:
        """Whether the worker can still leave by it; the own address is none."""
        return not exit or any(each.id == exit for each in self.queue.exits or ())

    def request_sent(self, request: Request, exit: str) -> None:
        """It is on its way."""
        if exit:
            request.meta.update({EXIT: exit, SENT: self.now()})

    def request_succeeded(self, request: Request) -> None:
        """A good answer came."""
        if exit := request.meta.get(EXIT):
            self._good[exit] += 1

    def request_failed(
        self, request: Request, blame: Signal | None, reason: str, wait_seconds: float, *, slows: bool = False
    ) -> None:
        """None came. An exit is blamed for itself alone; where there is none, it is us."""
        exit = request.meta.get(EXIT)
        if exit and blame:
            if blame != "failed":
                self._hand_back(exit)
            sent_at = request.meta[SENT]
            self._soon(partial(self._blame, exit, blame, sent_at, wait_seconds, reason), "blaming an exit")
        if slows or (not exit and blame in ("refused", "banned")):
            self.site_refused(reason, wait_seconds)

    def was_misled(self, request: Request) -> None:
        """Its page could be read, and could not before: the exit of then had put something else in its place."""
        if misled := request.meta.get(MISLED):
            exit, sent_at = misled
            self._soon(partial(self._blame, exit, "bad", sent_at, 0.0, "misled"), "blaming an exit")

    def site_refused(self, reason: str, wait_seconds: float) -> None:
        """The site refuses us: the whole fleet slows down, and stops for as long as the site says."""
        self.stats.inc_value("pace/refused")
        if wait_seconds:
            self._hand_back()
        self._soon(partial(self.queue.refuse, reason, wait_seconds), "slowing down")

    def set_crawl_delay(self, seconds: float, origin: str) -> None:
        """The Crawl-delay of one of the site's hosts; 0: none."""
        self._soon(partial(self.queue.floor, seconds, origin), "telling the Crawl-delay")

    def pause(self) -> None:
        """The site is left alone until a person says otherwise."""
        self._hand_back()
        self._soon(self.queue.pause, "pausing")

    async def flush(self) -> None:
        """What is known of the exits' good answers is told."""
        good, self._good = self._good, Counter()
        await self.standings.praise(good)

    async def _blame(self, exit: str, signal: Signal, sent_at: float, wait_seconds: float, reason: str) -> None:
        self.stats.inc_value(f"exits/{signal}")
        if not await self.standings.blame(exit, signal, sent_at, wait_seconds):
            return
        self.site_refused(f"most exits are refused: {reason}", 0.0)
        if self.now() - self._alarmed_at >= ALARM_MS:
            self._alarmed_at = self.now()
            logger.error("exits/refused: %s refuses most of our exits: it means us; slower", self.queue.portal)
            self.stats.inc_value("exits/all_refused")

"""What the fleet knows of its exits at one site: kept in Redis, decided by `exits`, written if nobody was faster."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from realestate.queue import keys
from realestate.queue.exits import Signal, Standing, blamed, is_us, lessons, worked
from realestate.queue.request_queue import RequestQueue


class Standings:
    """The exits of one portal."""

    def __init__(self, queue: RequestQueue, now: Callable[[], float]) -> None:
        self.queue = queue
        self.now = now

    async def praise(self, times: Mapping[str, int]) -> None:
        """So many good answers came by each."""
        if not times:
            return
        learned = lessons(self._in_use(await self.all()), self.now())
        for name, count in times.items():
            await self._change(name, partial(worked, times=count, learned=learned, leads=name == learned.leader))

    async def blame(self, exit: str, signal: Signal, sent_at: float, wait_seconds: float = 0.0) -> bool:
        """Whether it is us whom the site does not want, rather than this exit."""
        now = self.now()
        learned = lessons(self._in_use(await self.all()), now)
        wait_ms = wait_seconds * 1000
        await self._change(
            exit, partial(blamed, signal=signal, sent_at=sent_at, now=now, wait_ms=wait_ms, learned=learned)
        )
        return signal in ("refused", "banned") and is_us(list((await self.all()).values()), now)

    async def all(self) -> dict[str, Standing]:
        """As they are; an exit of which nothing is known stands well."""
        names = [exit.id for exit in self.queue.exits or ()]
        found: Any = await self.queue.server.hmget(keys.exits(self.queue.portal), names) if names else []
        return {name: _read(told) for name, told in zip(names, found, strict=True)}

    def _in_use(self, standings: Mapping[str, Standing]) -> dict[str, Standing]:
        """Those of the cheapest tier of which one is not resting: what others would do says nothing of them."""
        tiers = {exit.id: exit.tier for exit in self.queue.exits or ()}
        awake = [tiers[name] for name, standing in standings.items() if standing.until <= self.now()]
        cheapest = min(awake or tiers.values(), default=0)
        return {name: standing for name, standing in standings.items() if tiers[name] == cheapest}

    async def _change(self, name: str, act: Callable[[Standing], Standing]) -> None:
        """Again, if somebody else was faster."""
        while True:
            old: Any = await self.queue.server.hget(keys.exits(self.queue.portal), name)
            new = act(_read(old))
            if new == _read(old) or await self.queue.stand(name, old, msgspec.json.encode(new)):
                return


def _read(told: bytes | None) -> Standing:
    try:
        return Standing() if told is None else msgspec.json.decode(told, type=Standing)
    except msgspec.MsgspecError:
        return Standing()

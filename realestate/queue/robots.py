"""The robots.txt of a portal's hosts, known to the whole fleet: one worker asks for it, all read what it heard."""

from typing import NamedTuple

from realestate.queue.request_queue import RequestQueue

#: What a host said may be gone by while it cannot be asked, but not longer (RFC 9309 leaves it to us).
USABLE_MS = 30 * 24 * 3600 * 1000
#: Longer than anybody asks. Who dies meanwhile is known by its heart: the others do not wait for this.
ASKING_MS = 5 * 60 * 1000


class Copy(NamedTuple):
    """What the fleet knows. Times are Redis', in milliseconds."""

    now: float
    asks: bool
    """Whether this worker is to ask the host now."""
    again_at: float
    """When it is asked for again; 0: it never was."""
    failures: int
    """How often it was asked in vain since it was last read."""
    text: bytes | None
    """What it says, by the last answer that counted; None: there is none that is young enough."""
    reason: str
    """Why it was asked in vain."""

    @property
    def is_being_asked(self) -> bool:
        return self.now >= self.again_at


class RobotsTexts:
    """Of one portal. Hosts are told apart by their origin: scheme, name and port."""

    def __init__(self, queue: RequestQueue, worker: str) -> None:
        self.queue = queue
        self.worker = worker

    async def look(self, origin: str) -> Copy:
        now, asks, again_at, failures, read_at, text, reason = await self.queue.run(
            "robots", origin=origin, worker=self.worker, longest=ASKING_MS
        )
        usable = text is not None and now - read_at < USABLE_MS
        return Copy(now, bool(asks), again_at, failures, text if usable else None, (reason or b"").decode())

    async def heard(self, origin: str, text: bytes, seconds: float) -> None:
        """It says this, and is asked again after so many seconds."""
        await self._tell(origin, text, "", seconds)

    async def missed(self, origin: str, reason: str, seconds: float) -> None:
        """It was asked in vain."""
        await self._tell(origin, None, reason, seconds)

    async def _tell(self, origin: str, text: bytes | None, reason: str, seconds: float) -> None:
        told = {"origin": origin, "worker": self.worker, "text": text if text is not None else False}
        await self.queue.run("robots_heard", **told, reason=reason, wait=int(seconds * 1000), keep=USABLE_MS)

"""The robots.txt of a portal's hosts, shared by the fleet: one worker fetches it, all workers read it from Redis."""

from typing import NamedTuple

from realestate.queue import stored
from realestate.queue.request_queue import RequestQueue

#: An old robots.txt is used for this long while the host cannot be reached (RFC 9309 does not set the time).
USABLE_MS = 30 * 24 * 3600 * 1000
#: The lock of the worker that fetches it expires after this: longer than a fetch with all its redirects. It ends
#: earlier when the fetch ends, also when it fails, and when the worker counts as dead.
LOCK_MS = 2 * 60 * 1000


class Copy(NamedTuple):
    """What the fleet knows about a host's robots.txt. Times are Redis', in milliseconds."""

    now: float
    must_fetch: bool
    """Whether this worker has to fetch it now."""
    again_at: float
    """When it is fetched again; 0 if it never was fetched."""
    failures: int
    """Failed fetches since the last good one."""
    text: bytes | None
    """Its text in the last good response. None if there is none, or if it is too old."""
    reason: str
    """Why the last fetch failed."""

    @property
    def is_being_fetched(self) -> bool:
        return self.now >= self.again_at


class RobotsTexts:
    """The robots.txt files of one portal, by origin: scheme, host and port."""

    def __init__(self, queue: RequestQueue, worker: str) -> None:
        self.queue = queue
        self.worker = worker

    async def look(self, origin: str, *, fetching: bool = False) -> Copy:
        """Return what the fleet knows about the file, and whether this worker has to fetch it now. `fetching` says
        whether this worker is fetching it already."""
        now, must_fetch, again_at, failures, read_at, text, reason = await self.queue.run(
            "robots", origin=origin, worker=self.worker, longest=LOCK_MS, fetching=fetching
        )
        usable = text is not None and now - read_at < USABLE_MS
        return Copy(now, bool(must_fetch), again_at, failures, text if usable else None, stored.text(reason or b""))

    async def save(self, origin: str, text: bytes, seconds: float) -> None:
        """Store the text; it is fetched again after this many seconds."""
        await self._save(origin, text, "", seconds)

    async def save_failure(self, origin: str, reason: str, seconds: float) -> None:
        """Store that the fetch failed; the old text stays; the next try is after this many seconds."""
        await self._save(origin, None, reason, seconds)

    async def _save(self, origin: str, text: bytes | None, reason: str, seconds: float) -> None:
        await self.queue.run(
            "robots_save",
            origin=origin,
            worker=self.worker,
            text=text if text is not None else False,
            reason=reason,
            wait=int(seconds * 1000),
            keep=USABLE_MS,
        )

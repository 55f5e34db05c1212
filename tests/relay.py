"""A relay to a server. A test can slow it, hold it, cut its connections, or lose a reply."""

import asyncio
import threading

from bench.rig.relay import Relay


class Line(Relay):
    """A relay that a test controls. `delay_seconds` may be changed at any time."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.lost = threading.Event()
        self._losing: tuple[bytes, int] | None = None
        self._flows = asyncio.Event()
        self._flows.set()

    def lose_reply_to(self, word: bytes, longer_than: int = 0) -> None:
        """Lose the next reply that is longer than this to a command that contains the word: the server has executed the
        command, but the reply does not arrive. Then the connection is cut; new connections work. `lost` is set when it
        has happened."""
        self.lost.clear()
        self._losing = (word, longer_than)

    def hold(self) -> None:
        """Stop all data in both directions and keep the connections open."""
        self._loop.call_soon_threadsafe(self._flows.clear)

    def release(self) -> None:
        """Deliver the held data."""
        self._loop.call_soon_threadsafe(self._flows.set)

    def cut(self) -> None:
        """Cut every open connection. New connections work."""
        for talk in list(self._talks):
            self._loop.call_soon_threadsafe(talk.cancel)

    async def carries(self, asked: bytearray, answer: bytes | None = None) -> bool:
        await self._flows.wait()
        if answer is None or self._losing is None:
            return True
        word, longer_than = self._losing
        if word not in asked or len(answer) <= longer_than:
            return True
        self._losing = None
        self.lost.set()
        return False

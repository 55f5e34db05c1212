"""A way to a server that a test can break: slow it, stop it, cut it, or lose an answer on it."""

import asyncio
import threading

from bench.rig.relay import Relay


class Line(Relay):
    """`delay_seconds` may be changed at any time."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.lost = threading.Event()
        self._losing: tuple[bytes, int] | None = None
        self._flows = asyncio.Event()
        self._flows.set()

    def lose_an_answer_to(self, word: bytes, longer_than: int = 0) -> None:
        """The worst moment: the server has done what it was asked, and the answer never arrives. The next answer of
        that length to a command with that word in it; then the line is cut, new ones are whole. `lost` is set when it
        has happened."""
        self.lost.clear()
        self._losing = (word, longer_than)

    def hold(self) -> None:
        """Nothing gets through, either way, and no line is cut: who waits for an answer waits."""
        self._loop.call_soon_threadsafe(self._flows.clear)

    def release(self) -> None:
        """What was held arrives."""
        self._loop.call_soon_threadsafe(self._flows.set)

    def cut(self) -> None:
        """Every line that is open; new ones are whole."""
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

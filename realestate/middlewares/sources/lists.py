"""Proxies that somebody wrote down: in the environment, or in a file that may change at any time."""

import asyncio
import logging
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from scrapy.statscollectors import StatsCollector

from realestate.middlewares.proxies import BadProxy, Proxy, parse
from realestate.middlewares.sources.following import SourceAway

logger = logging.getLogger(__name__)

#: Looked at so often.
LOOK_SECONDS = 2.0
#: A last line without an end may be half a line: it counts once the file has been left alone for so many looks.
LOOKS_WITHOUT_END = 15
#: A file of proxies is not larger.
_LARGEST = 4_000_000


class Written:
    """A list that never changes."""

    name = "list"
    seconds = 3600.0

    def __init__(self, proxies: Sequence[Proxy]) -> None:
        self._proxies = proxies

    async def proxies(self) -> Sequence[Proxy]:
        return self._proxies

    async def close(self) -> None:
        """Nothing was made."""


class _Look(NamedTuple):
    """How a file stood at one moment: if two are the same, nobody wrote between them."""

    inode: int
    modified: int
    size: int


class Watched:
    """A file of one proxy a line, read again when it has changed and been left alone since. Blank lines and those that
    begin with # are nothing.

    A file that is missing, empty or half-written changes nothing: without any exit the sites would see our own address.
    """

    name = "file"
    seconds = LOOK_SECONDS

    def __init__(self, path: Path, stats: StatsCollector) -> None:
        self.path = path
        self.stats = stats
        self._proxies: Sequence[Proxy] = ()
        self._read: _Look | None = None
        self._last: _Look | None = None
        self._same = 0

    async def proxies(self) -> Sequence[Proxy]:
        return await asyncio.to_thread(self._current)

    async def close(self) -> None:
        """Nothing was made."""

    def _current(self) -> Sequence[Proxy]:
        try:
            look = self._look()
            if look != self._read and self._is_left_alone(look):
                self._take(look, self.path.read_bytes())
        except OSError as error:
            raise SourceAway(f"PROXIES_FILE: {os.strerror(error.errno or 0)}") from None
        if not self._proxies:
            raise SourceAway("PROXIES_FILE: no proxy in it")
        return self._proxies

    def _look(self) -> _Look:
        found = self.path.stat()
        if found.st_size > _LARGEST:
            raise SourceAway(f"PROXIES_FILE: more than {_LARGEST} bytes")
        return _Look(found.st_ino, found.st_mtime_ns, found.st_size)

    def _is_left_alone(self, look: _Look) -> bool:
        """At the start nothing is known that could be kept, so there is nothing to wait for."""
        self._same = self._same + 1 if look == self._last else 0
        self._last = look
        return self._read is None or self._same > 0

    def _take(self, look: _Look, content: bytes) -> None:
        has_end = content.endswith(b"\n") or self._read is None or self._same >= LOOKS_WITHOUT_END
        if not has_end or self._look() != look:
            return
        self._read = look
        found, bad = _lines(content.decode("utf-8", "replace"))
        self.stats.set_value("proxies/file/bad", len(bad))
        if bad:
            logger.warning("proxies/file: %d lines are no proxies; the first is %s", len(bad), bad[0])
        if found:
            self._proxies = found
        else:
            logger.warning("proxies/file: no proxy in it; what was known stays in use")


def _lines(text: str) -> tuple[list[Proxy], list[str]]:
    """The proxies, and what is wrong with the other lines."""
    found, bad = [], []
    for number, line in enumerate(re.split(r"\r?\n", text), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            found.append(parse(line))
        except BadProxy as error:
            bad.append(f"line {number}: {error}")
    return found, bad

"""Proxies that somebody has listed: in the setting PROXIES, or in a file that may change at any time."""

import asyncio
import logging
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from scrapy.statscollectors import StatsCollector

from realestate.middlewares.proxies import BadProxy, Proxy, parse_proxy
from realestate.middlewares.proxy_sources.refresh import SourceUnavailable

logger = logging.getLogger(__name__)

#: The file is checked for changes this often.
CHECK_SECONDS = 2.0
#: A last line without a line end may be incomplete: it is read after the file was unchanged for this many checks.
CHECKS_WITHOUT_LINE_END = 15
#: A larger file is not read.
_MAX_BYTES = 4_000_000


class ProxyList:
    """The proxies of PROXIES: they never change."""

    name = "list"
    seconds = 3600.0

    def __init__(self, proxies: Sequence[Proxy]) -> None:
        self._proxies = proxies

    async def proxies(self) -> Sequence[Proxy]:
        return self._proxies

    async def close(self) -> None:
        """There is nothing to clean up."""


class _FileState(NamedTuple):
    """If two states of a file are equal, nobody wrote to it between them."""

    inode: int
    modified: int
    size: int


class ProxyFile:
    """The proxies of PROXIES_FILE, one on each line. Empty lines and lines that begin with # are ignored.

    The file is read again when it has changed and was not written to since the last check. If it is missing, empty or
    incomplete, the known proxies stay in use: without any, the sites would see our own address.
    """

    name = "file"
    seconds = CHECK_SECONDS

    def __init__(self, path: Path, stats: StatsCollector) -> None:
        self.path = path
        self.stats = stats
        self._proxies: Sequence[Proxy] = ()
        self._read_state: _FileState | None = None
        self._last_state: _FileState | None = None
        self._unchanged_checks = 0

    async def proxies(self) -> Sequence[Proxy]:
        return await asyncio.to_thread(self._current)

    async def close(self) -> None:
        """There is nothing to clean up."""

    def _current(self) -> Sequence[Proxy]:
        try:
            state = self._state()
            if state != self._read_state and self._is_complete(state):
                self._read(state, self.path.read_bytes())
        except OSError as error:
            raise SourceUnavailable(f"PROXIES_FILE: {os.strerror(error.errno or 0)}") from None
        if not self._proxies:
            raise SourceUnavailable("PROXIES_FILE: the file contains no proxy")
        return self._proxies

    def _state(self) -> _FileState:
        found = self.path.stat()
        if found.st_size > _MAX_BYTES:
            raise SourceUnavailable(f"PROXIES_FILE: the file is larger than {_MAX_BYTES} bytes")
        return _FileState(found.st_ino, found.st_mtime_ns, found.st_size)

    def _is_complete(self, state: _FileState) -> bool:
        """Whether nobody writes to the file any more. At the start it is read at once: nothing is known yet."""
        self._unchanged_checks = self._unchanged_checks + 1 if state == self._last_state else 0
        self._last_state = state
        return self._read_state is None or self._unchanged_checks > 0

    def _read(self, state: _FileState, content: bytes) -> None:
        is_first = self._read_state is None
        has_end = content.endswith(b"\n") or is_first or self._unchanged_checks >= CHECKS_WITHOUT_LINE_END
        if not has_end or self._state() != state:
            return
        self._read_state = state
        found, errors = _parse_lines(content.decode("utf-8", "replace"))
        self.stats.set_value("proxy/source/file/bad_lines", len(errors))
        if errors:
            logger.warning("proxy/file: bad_lines=%d: the first is %s", len(errors), errors[0])
        if found:
            self._proxies = found
        else:
            logger.warning("proxy/file: the file contains no proxy; the known proxies stay in use")


def _parse_lines(text: str) -> tuple[list[Proxy], list[str]]:
    """The proxies, and an error for each bad line."""
    found = []
    errors = []
    for number, line in enumerate(re.split(r"\r?\n", text), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            found.append(parse_proxy(line))
        except BadProxy as error:
            errors.append(f"line {number}: {error}")
    return found, errors

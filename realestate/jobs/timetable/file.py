"""A timetable file that may change while it is used. If it has an error, the last good one goes on."""

import logging
from collections.abc import Callable
from pathlib import Path

from realestate.jobs.timetable.entries import BadTimetable, Entry, read_timetable

logger = logging.getLogger(__name__)

Broken = Callable[[str], object]
"""Called with the error when a file that was good is broken, and with "" when it is good again. If it raises an
exception, it is called again at the next look."""


class TimetableFile:
    """Raises BadTimetable if the file is broken from the beginning."""

    def __init__(self, path: Path, simulator: str | None, broken: Broken) -> None:
        self.path = path
        self.simulator = simulator
        self.entries = read_timetable(path, simulator)
        self._broken = broken
        self._read = self._version()
        self._error = ""
        self._reported: str | None = ""

    def latest(self) -> tuple[Entry, ...]:
        """The entries of the file as it is now, or those of the last good one."""
        version = self._version()
        if version != self._read:
            self._read = version
            self._read_again()
        if self._error != self._reported:
            self._broken(self._error)
            self._reported = self._error
        return self.entries

    def repeat_error(self) -> None:
        """Report the error once more, if there is one: Redis may have restarted and lost it."""
        if self._error:
            self._reported = None

    def _read_again(self) -> None:
        try:
            self.entries = read_timetable(self.path, self.simulator)
        except BadTimetable as error:
            self._error = str(error)
            logger.error("timetable/broken %s; the last good timetable goes on", error)
            return
        logger.info("timetable/read %s: %d entries", self.path, len(self.entries))
        self._error = ""

    def _version(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

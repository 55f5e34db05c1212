"""One server process: start it on a free port, know when it is ready, stop it, end one left behind."""

import logging
import os
import re
import signal
import socket
import subprocess
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from realestate.embedded import locks, poll
from realestate.embedded.announcement import Service
from realestate.embedded.children import Account, launched
from realestate.embedded.errors import EmbeddedError

HOST = "127.0.0.1"
START_SECONDS = 60
"""Reading a large file back after a crash takes its time."""
STOP_SECONDS = 10
"""For each of the stop signals."""
LEFTOVER_SECONDS = 1
"""For a server that the kernel has told of its keeper's death."""
ATTEMPTS = 3
"""Another process may take the port between our look and the server's start."""
MOST_REVIVALS = 5
"""A server that ends more often would only end again."""

COMPLAINT = re.compile(r"fatal|error|bad|can't|cannot|could not|denied", re.IGNORECASE)

logger = logging.getLogger(__name__)


class Server(ABC):
    """A private server with its data in a folder; the same URL for as long as this object lives."""

    name: ClassVar[str]
    title: ClassVar[str]
    stop_signals: ClassVar[tuple[signal.Signals, ...]]
    """From the gentlest on. The first is also sent by the kernel if the keeper dies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / self.name
        self.lock = folder / f"{self.name}.lock"
        self.log = folder / f"{self.name}.log"
        self.port: int | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.revivals = 0

    @abstractmethod
    def prepare(self) -> None:
        """Whatever must be there before the server can start."""

    @abstractmethod
    def run(self, port: int) -> subprocess.Popen[bytes]:
        """Start the process, by ``launch``."""

    @abstractmethod
    def is_ready(self, port: int) -> bool: ...

    @abstractmethod
    def url(self, port: int) -> str: ...

    def start(self) -> Service:
        """Start it, again on the same port if it ran before."""
        self.end_leftover()
        if self.port is None:
            self.log.write_bytes(b"")
        self.prepare()
        for attempt in range(1, ATTEMPTS + 1):
            port = self.port or free_port()
            self.process = self.run(port)
            if self._becomes_ready(self.process, port):
                self.port = port
                return Service(self.url(port), self.process.pid)
            self.stop()
            logger.warning("%s, attempt %d: %s", self.title, attempt, self.complaint())
        raise EmbeddedError(f"{self.title} did not start: {self.complaint()} (see {self.log})")

    def has_ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def revive(self) -> Service:
        """Start one that ended unexpectedly again."""
        self.revivals += 1
        if self.revivals > MOST_REVIVALS:
            raise EmbeddedError(f"{self.title} does not stay up: {self.complaint()} (see {self.log})")
        logger.error("%s ended unexpectedly: %s", self.title, self.complaint())
        return self.start()

    def stop(self) -> None:
        if self.process is not None:
            self._end(self.process.pid)
        self.process = None

    def end_leftover(self) -> None:
        """A keeper killed before may have left its server; while that holds the lock, the lock names it."""
        self.process = None
        if not poll.until(self._is_gone, LEFTOVER_SECONDS):
            self._end(int(self.lock.read_text()))

    def launch(
        self, command: list[str], *, account: Account | None = None, stdin: bytes = b""
    ) -> subprocess.Popen[bytes]:
        """Run a program that holds our lock together with all that it starts in turn."""
        with locks.take(self.lock) as lock, self.log.open("ab") as log:
            lock.truncate(0)  # no id rather than that of an earlier holder
            descriptor = lock.fileno()
            process = subprocess.Popen(
                launched(command, on_parent_death=self.stop_signals[0], account=account, lock=descriptor),
                pass_fds=[descriptor],
                cwd=self.home,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        assert process.stdin
        with suppress(BrokenPipeError), process.stdin as pipe:
            pipe.write(stdin)
        return process

    def complaint(self) -> str:
        """The line of the server's log that says what was wrong."""
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        return next(filter(COMPLAINT.search, reversed(lines)), lines[-1] if lines else "it said nothing")

    def _becomes_ready(self, process: subprocess.Popen[bytes], port: int) -> bool:
        poll.until(lambda: process.poll() is not None or self.is_ready(port), START_SECONDS)
        return process.poll() is None and self.is_ready(port)

    def _end(self, pid: int) -> None:
        for number in self.stop_signals:
            self._signal(pid, number)
            if poll.until(self._is_gone, STOP_SECONDS):
                return
        raise EmbeddedError(f"{self.title} (process {pid}) does not stop")

    def _signal(self, pid: int, number: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(number)  # which knows if the id is no longer its own
        else:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def _is_gone(self) -> bool:
        if self.process is not None and self.process.poll() is None:
            return False
        return not locks.is_taken(self.lock)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port

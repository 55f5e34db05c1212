"""One server process: start it on a free port, wait until it is ready, stop it, stop one that was left behind."""

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
from realestate.embedded.children import Account, launched
from realestate.embedded.services_file import EmbeddedError, Service
from realestate.private_files import owner_only

HOST = "127.0.0.1"
#: Recovering a large file after a crash takes time.
START_SECONDS = 60
#: For each of the stop signals.
STOP_SECONDS = 10
#: For a server whose keeper was killed: the kernel sends it a signal.
LEFTOVER_SECONDS = 1
#: Another process may take the port after we found it free and before the server uses it.
ATTEMPTS = 3
#: A server that ended more often would end again.
RESTARTS_MAX = 5

ERROR_LINE = re.compile(r"fatal|error|bad|can't|cannot|could not|denied", re.IGNORECASE)

logger = logging.getLogger(__name__)


class Server(ABC):
    """A private server with its data in a folder. Its URL stays the same for the life of this object."""

    name: ClassVar[str]
    title: ClassVar[str]
    stop_signals: ClassVar[tuple[signal.Signals, ...]]
    """The gentlest first. The kernel sends the first one if the keeper dies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / self.name
        self.lock = folder / f"{self.name}.lock"
        self.log = folder / f"{self.name}.log"
        self.port: int | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.restarts = 0

    @abstractmethod
    def prepare(self) -> None:
        """Create what the server needs to start."""

    @abstractmethod
    def run(self, port: int) -> subprocess.Popen[bytes]:
        """Start the process with ``launch``."""

    @abstractmethod
    def is_ready(self, port: int) -> bool: ...

    @abstractmethod
    def url(self, port: int) -> str: ...

    def start(self) -> Service:
        """Start the server; on the same port if it ran before."""
        self.stop_leftover()
        if self.port is None:
            open(self.log, "wb", opener=owner_only).close()
        self.prepare()
        for attempt in range(1, ATTEMPTS + 1):
            port = self.port or free_port()
            self.process = self.run(port)
            if self._becomes_ready(self.process, port):
                self.port = port
                return Service(self.url(port), self.process.pid)
            self.stop()
            logger.warning("%s did not start, attempt %d: %s", self.title, attempt, self.error_line())
        raise EmbeddedError(f"{self.title} did not start: {self.error_line()} (see {self.log})")

    def has_ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def start_again(self) -> Service:
        """Start a server again that ended unexpectedly."""
        self.restarts += 1
        if self.restarts > RESTARTS_MAX:
            raise EmbeddedError(f"{self.title} ended too often: {self.error_line()} (see {self.log})")
        logger.error("%s ended unexpectedly: %s", self.title, self.error_line())
        return self.start()

    def stop(self) -> None:
        if self.process is not None:
            self._stop_process(self.process.pid)
        self.process = None

    def stop_leftover(self) -> None:
        """Stop the server of a keeper that was killed. While it runs, it holds the lock file, which contains its id."""
        self.process = None
        if not poll.until(self._is_gone, LEFTOVER_SECONDS):
            self._stop_process(int(self.lock.read_text()))

    def launch(
        self, command: list[str], *, account: Account | None = None, stdin: bytes = b""
    ) -> subprocess.Popen[bytes]:
        """Start a program. It and the processes that it starts hold our lock."""
        with locks.take(self.lock) as lock, open(self.log, "ab", opener=owner_only) as log:
            lock.truncate(0)  # remove the process id of an earlier holder
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

    def error_line(self) -> str:
        """The line of the server's log that says what went wrong."""
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        return next(filter(ERROR_LINE.search, reversed(lines)), lines[-1] if lines else "its log is empty")

    def _becomes_ready(self, process: subprocess.Popen[bytes], port: int) -> bool:
        poll.until(lambda: process.poll() is not None or self.is_ready(port), START_SECONDS)
        return process.poll() is None and self.is_ready(port)

    def _stop_process(self, pid: int) -> None:
        for number in self.stop_signals:
            self._signal(pid, number)
            if poll.until(self._is_gone, STOP_SECONDS):
                return
        raise EmbeddedError(f"{self.title} (process {pid}) does not stop; kill it and try again")

    def _signal(self, pid: int, number: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(number)  # does nothing if the process ended and its id was reused
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

"""Child processes that end with this process.

On Linux the kernel signals a child when its parent dies, even by ``kill -9``. It watches the *thread* that started
the child, not the whole process: start children from the main thread, or from one that lives as long. Other systems
have no such signal; there only ``stop`` ends a child.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from realestate.private_files import owner_only

LAUNCH = Path(__file__).with_name("launch.py")


@dataclass(frozen=True)
class Account:
    """The user that a child runs as when we are root."""

    uid: int
    gid: int
    capability: int | None = None
    """The one capability of root that it keeps, as the kernel's number."""


def launched(
    command: Sequence[str],
    *,
    on_parent_death: signal.Signals = signal.SIGTERM,
    account: Account | None = None,
    lock: int | None = None,
) -> list[str]:
    """The command line that runs ``command`` as a child that ends with us. The open file ``lock`` gets its id."""
    options = {
        "signal": on_parent_death,
        "parent": os.getpid(),
        "account": asdict(account) if account else None,
        "lock": lock,
    }
    return [sys.executable, "-I", "-S", str(LAUNCH), json.dumps(options), *command]


def spawn(command: Sequence[str], *, env: Mapping[str, str], log: Path | None) -> subprocess.Popen[bytes]:
    """Start a child in its own session, so that Ctrl-C reaches only us and we send it one SIGTERM.

    It also gets SIGTERM when we die. Its output is appended to ``log``; without a log it goes where ours goes.
    A command that does not exist gives exit code 1 and a line of output, not an exception.
    """
    output = open(log, "ab", opener=owner_only) if log else None  # noqa: SIM115 (closed below)
    try:
        return subprocess.Popen(
            launched(command),
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
            start_new_session=True,
        )
    finally:
        if output:
            output.close()


def stop(children: Iterable[subprocess.Popen[bytes]], timeout: float) -> list[int]:
    """Send SIGTERM to all, wait up to ``timeout`` seconds, kill the rest. Returns the exit codes in order."""
    children = list(children)
    for child in children:
        child.terminate()
    deadline = time.monotonic() + timeout
    for child in children:
        with suppress(subprocess.TimeoutExpired):
            child.wait(max(0.0, deadline - time.monotonic()))
    return [_killed_if_running(child) for child in children]


def _killed_if_running(child: subprocess.Popen[bytes]) -> int:
    if child.poll() is None:
        # its whole session: also the processes that it started
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    return child.wait()

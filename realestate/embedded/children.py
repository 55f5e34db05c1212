"""Processes we start ourselves, and which must never outlive us.

On Linux the kernel signals the child when its parent dies, even by ``kill -9``. It watches the *thread* that
started the child, not the whole process: start children from the main thread, or from one that lives as long.
Elsewhere there is no such signal, and only ``stop`` ends a child.
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

LAUNCH = Path(__file__).with_name("launch.py")


@dataclass(frozen=True)
class Account:
    """The user a child runs as when we are root."""

    uid: int
    gid: int
    capability: int | None = None
    """The one capability of root's it keeps, by the kernel's number."""


def launched(
    command: Sequence[str],
    *,
    on_parent_death: signal.Signals = signal.SIGTERM,
    account: Account | None = None,
    lock: int | None = None,
) -> list[str]:
    """The command line that runs ``command`` tied to this process; its id goes to the open file ``lock``."""
    options = {
        "signal": on_parent_death,
        "parent": os.getpid(),
        "account": asdict(account) if account else None,
        "lock": lock,
    }
    return [sys.executable, "-I", "-S", str(LAUNCH), json.dumps(options), *command]


def spawn(command: Sequence[str], *, env: Mapping[str, str], log: Path | None) -> subprocess.Popen[bytes]:
    """Start a child in a session of its own, so that Ctrl-C reaches us alone and we pass on one SIGTERM.

    It gets SIGTERM too when we die. Its output goes to the end of ``log``; without one, where ours goes.
    A command that does not exist shows as exit code 1 and a line of output, not as an exception.
    """
    output = log.open("ab") if log else None
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
    """Ask all to end, give them ``timeout`` seconds together, kill the rest; the exit codes, in order."""
    children = list(children)
    for child in children:
        child.terminate()
    deadline = time.monotonic() + timeout
    for child in children:
        with suppress(subprocess.TimeoutExpired):
            child.wait(max(0.0, deadline - time.monotonic()))
    return [_ended(child) for child in children]


def _ended(child: subprocess.Popen[bytes]) -> int:
    if child.poll() is None:
        # its whole session: what it started itself had its chance with it
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    return child.wait()

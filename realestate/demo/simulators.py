"""Start a simulator as a process."""

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from subprocess import Popen

from realestate import environment
from realestate.embedded import children

#: Long enough for a big world on a busy machine.
SIMULATOR_SECONDS = 60.0


@contextmanager
def simulator_process(log: Path, listings: int, seed: int, *options: str) -> Iterator[str]:
    """Run a simulator and yield its control address. `options` are further options of `realestate simulate`."""
    with starting_simulator(log, listings, seed, *options) as address:
        yield address()


@contextmanager
def starting_simulator(log: Path, listings: int, seed: int, *options: str) -> Iterator[Callable[[], str]]:
    """Start a simulator and yield a function that waits until it is ready and returns its control address."""
    world = ["--port", "0", "--listings", str(listings), "--seed", str(seed)]
    command = [sys.executable, "-m", "realestate", "simulate", *world, *options]
    process = children.spawn(command, env=environment.changed(), log=log)
    try:
        yield partial(_announced, process, log)
    finally:
        children.stop([process], SIMULATOR_SECONDS)


def _announced(process: Popen[bytes], log: Path) -> str:
    """Wait until the simulator prints its address, and return the address."""
    deadline = time.monotonic() + SIMULATOR_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if found := re.search(r"SIMULATOR_URL=(\S+)", log.read_text("utf-8") if log.exists() else ""):
            return found[1]
        time.sleep(0.05)
    raise OSError(f"the simulator did not start: {log.read_text('utf-8')[-500:] or 'its log is empty'}")

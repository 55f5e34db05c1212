"""Runs programs and says what it runs."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

STARTED = time.monotonic()


class CheckFailed(Exception):
    """What was seen is not what was expected. The text says both."""


class NoEngine(Exception):
    """A Docker engine with base images cannot be had here. The text says why."""


def say(text: str) -> None:
    """One line with the seconds since the start."""
    print(f"[{time.monotonic() - STARTED:5.0f} s] {text}", flush=True)


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 600,
    check: bool = True,
) -> str:
    """Run a program and return what it prints. Raises CheckFailed with its last lines if it fails."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        raise CheckFailed(f"`{' '.join(words)}` was not done after {timeout:.0f} s") from None
    if check and done.returncode != 0:
        last = "\n".join(done.stdout.splitlines()[-25:])
        raise CheckFailed(f"`{' '.join(words)}` ended with {done.returncode}:\n{last}")
    return done.stdout


def until(true: Callable[[], bool], what: str, seconds: float = 120, every: float = 1.0) -> None:
    """Wait until the condition is true. Raises CheckFailed."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if true():
            return
        time.sleep(every)
    raise CheckFailed(f"still waiting for {what} after {seconds:.0f} s")


def expect(condition: bool, what: str) -> None:
    if not condition:
        raise CheckFailed(what)
    say(f"ok: {what}")


def missing_programs(names: Sequence[str]) -> list[str]:
    from shutil import which

    return [name for name in names if which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None]


def fail(text: str) -> int:
    print(f"containers-check: {text}", file=sys.stderr)
    return 1

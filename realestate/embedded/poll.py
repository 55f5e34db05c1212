"""Waits for a condition by testing it again and again."""

import time
from collections.abc import Callable

STEP_SECONDS = 0.02


def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until the condition is true, at most this long. Returns whether it became true."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(STEP_SECONDS)
    return True

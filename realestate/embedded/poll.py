"""Wait for something that cannot tell us when it happens."""

import time
from collections.abc import Callable

STEP_SECONDS = 0.02


def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Ask again and again; the answer is whether it came true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(STEP_SECONDS)
    return True

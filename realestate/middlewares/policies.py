"""What is done about each kind of trouble: who is to blame, who slows down, how long the request waits, how often it is
tried again."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from scrapy.exceptions import DownloadTimeoutError

from realestate.middlewares.packing import TooLarge
from realestate.queue.proxy_health import Fault


@dataclass(frozen=True, slots=True)
class Policy:
    """One kind of trouble."""

    blame: Fault | None
    """What the exit is blamed for; None: it can do nothing for it."""
    slows: bool
    """Whether the whole site is asked less often, whichever exit it was. Without exits a refusal always means that."""
    delay: float
    """The request waits up to so many RETRY_DELAY_SECONDS before it is tried again, twice as long each time."""
    more_tries: int = 0
    """How much oftener than RETRY_TIMES it is tried again."""


#: We came too often: the exit waits, the request goes on by another.
TOO_OFTEN = Policy("refused", slows=False, delay=0.5, more_tries=4)
#: This one is not wanted.
NOT_WANTED = Policy("banned", slows=False, delay=2.5)
#: The site itself has too much to do, whoever asks.
TOO_BUSY = Policy(None, slows=True, delay=2.5, more_tries=1)
#: Something between us and the site broke.
BROKEN = Policy(None, slows=False, delay=1)
#: The exit, or the site, does not answer.
SILENT = Policy("failed", slows=False, delay=2, more_tries=4)
CUT_OFF = Policy("failed", slows=False, delay=1, more_tries=4)
#: Something else came than the page.
WALL = Policy("bad", slows=False, delay=2.5)
BUSY_WALL = Policy("bad", slows=True, delay=2.5)

ANSWERS: Mapping[int, Policy] = {
    **dict.fromkeys((401, 403), NOT_WANTED),
    407: SILENT,  # the exit wants a password we do not have
    **dict.fromkeys((429, 430), TOO_OFTEN),
    **dict.fromkeys((503, 529), TOO_BUSY),
    **dict.fromkeys((408, 500, 502, 504, 520, 521, 522, 523, 524, 525, 527), BROKEN),
}


def of_failure(error: Exception) -> Policy:
    """Of a request without an answer. What is too large is the site's, or a fault of the moment."""
    if isinstance(error, TooLarge):
        return BROKEN
    return SILENT if isinstance(error, DownloadTimeoutError) else CUT_OFF


Level = Literal["fine", "slower", "stop"]
#: Of the last pages so many may be walls before the portal is asked less often, and so many before it is left alone.
LOOKED_BACK, SLOWER, STOP = 20, 3, 16


class Escalation:
    """From another identity to a slower pace to none: what a portal's walls come to."""

    def __init__(self) -> None:
        self._walls: deque[bool] = deque(maxlen=LOOKED_BACK)

    def fine(self) -> None:
        self._walls.append(False)

    def wall(self) -> Level:
        """After one more. It is told once, and then again when as many have followed."""
        self._walls.append(True)
        walls = sum(self._walls)
        if walls >= STOP:
            self._walls.clear()
            return "stop"
        return "slower" if walls >= SLOWER else "fine"

"""What the routes of the pages reach by their request: figures, sessions, keys and tiles."""

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from fastapi import Request

from realestate.searches.check import PUBLIC_RECEIVERS, Receivers
from realestate.web.keys import Key
from realestate.web.pages.sessions import Sessions
from realestate.web.pages.site import Site

#: The most wrong keys within so many seconds.
WRONG_KEYS = 10
WRONG_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Tiles:
    """A source of map tiles that the operator configured."""

    url: str
    """With {z}, {x} and {y}."""
    attribution: str = ""


class WrongKeys:
    """The times at which a wrong key was given. After many, nobody may try for a while: guessing must not be fast."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=WRONG_KEYS)

    @property
    def are_too_many(self) -> bool:
        return len(self._times) == WRONG_KEYS and time.monotonic() - self._times[0] < WRONG_SECONDS

    def add(self) -> None:
        self._times.append(time.monotonic())


@dataclass(frozen=True, slots=True)
class Web:
    """What the pages of one server share."""

    site: Site
    redis_url: str
    """Empty if there is no Redis."""
    sessions: Sessions
    keys: Mapping[str, Key]
    """Those of API_KEYS, by name; none: everybody is signed in."""
    tiles: Tiles | None = None
    receivers: Receivers = PUBLIC_RECEIVERS
    wrong_keys: WrongKeys = field(default_factory=WrongKeys)


def web_of(request: Request) -> Web:
    return cast(Web, request.app.state.web)

"""What the routes of the pages reach by their request: figures, sessions, keys and tiles."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from fastapi import Request

from realestate.web.pages.sessions import Sessions, Signer
from realestate.web.pages.site import Site


@dataclass(frozen=True, slots=True)
class Tiles:
    """A source of map tiles that the operator configured."""

    url: str
    """With {z}, {x} and {y}."""
    attribution: str = ""


@dataclass(frozen=True, slots=True)
class Web:
    """What the pages of one server share."""

    site: Site
    redis_url: str
    """Empty if there is no Redis."""
    sessions: Sessions
    find_key: Callable[[str], Signer | None]
    """Finds a key as somebody typed it; None if it is not one of API_KEYS."""
    tiles: Tiles | None = None


def web_of(request: Request) -> Web:
    return cast(Web, request.app.state.web)

"""What may stand in a portal's seed list: a bare URL, or a JSON object."""

from typing import Any, Literal

import msgspec


class BadSeed(ValueError):
    """A seed that cannot be followed; its text says why."""


class Seed(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What somebody asks a portal's workers to fetch."""

    url: str
    method: str = "GET"
    headers: dict[str, str] = {}
    body: str = ""
    meta: dict[str, Any] = {}
    priority: int = 0
    job: str | None = None
    mode: Literal["full", "sweep", "incremental", "refresh"] = "full"


def parse(data: bytes) -> Seed:
    """A name that is not ours is refused, where scrapy-redis would send it to the site as form data."""
    try:
        text = data.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise BadSeed(f"not UTF-8: {error.reason} at byte {error.start}") from error
    if not text.startswith("{"):
        return Seed(url=_checked(text))
    try:
        seed = msgspec.json.decode(text, type=Seed)
    except msgspec.MsgspecError as error:
        raise BadSeed(f"not a seed: {error}") from error
    _checked(seed.url)
    return seed


def _checked(url: str) -> str:
    if not url.startswith(("http://", "https://")) or any(letter.isspace() for letter in url):
        raise BadSeed(f"not an http address: {url[:200]!r}")
    return url

"""A portal's seeds: a bare URL, or a JSON object."""

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from realestate.queue.credentials import without_credentials

#: Keys of a request's meta that we or Scrapy use. A seed's `meta` may not set them.
RESERVED = frozenset(
    (
        "stage",
        "job",
        "job_priority",
        "mode",
        "scope",
        "limit",
        "filter",
        "pages",
        "lease",
        "lease_parent",
        "parent",
        "private",
        "seed",
        "seed_name",
        "delay_seconds",
        "depth",
        "retry_times",
        "robots_waits",
        "redirect_urls",
        "sitemap_budget",
        "validators",
    )
)


class BadSeed(ValueError):
    """A seed that cannot be used. Its text says why."""


class Seed(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What a portal's workers are asked to fetch."""

    url: str
    method: str = "GET"
    headers: dict[str, str] = {}
    body: str = ""
    meta: dict[str, Any] = {}
    priority: Annotated[int, Meta(ge=-1000, le=1000)] = 0
    job: Annotated[str, Meta(pattern=r"^[\w.-]{1,64}$")] | None = None
    mode: Literal["full", "sweep", "incremental", "refresh"] = "full"
    scope: Annotated[str, Meta(max_length=200)] = ""
    """What the job covers: "all" means that its seeds together show every listing of the portal."""
    limit: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 0
    """The job fetches the pages of this many listings at most; 0 is no limit."""
    filter: Annotated[str, Meta(max_length=200)] = ""
    """Which homes are wanted: the text of a `Scope`."""
    pages: Annotated[str, Meta(pattern=r"^([0-9]{1,6}-[0-9]{1,6})?$")] = ""
    """Which pages of the search are wanted, such as `1-50`; empty: all."""

    @property
    def own_method(self) -> dict[str, str]:
        """The method, if the seed names one. Otherwise the portal's own method stays."""
        return {"method": self.method.upper()} if self.method != "GET" else {}

    @property
    def narrowing(self) -> dict[str, Any]:
        """For the request's meta: the limit, the filter and the pages, if the seed names them."""
        return {name: value for name in ("limit", "filter", "pages") if (value := getattr(self, name))}

    @property
    def own_priority(self) -> dict[str, int]:
        """The priority for the request's meta, if the seed names one."""
        return {"job_priority": self.priority} if self.priority else {}


def parse(data: bytes) -> Seed:
    """Read a seed. Raises BadSeed.

    An unknown field is an error; scrapy-redis would send it to the site as form data."""
    try:
        text = data.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise BadSeed(f"not UTF-8: {error.reason} at byte {error.start}") from error
    if not text.startswith("{"):
        return Seed(url=_checked(text))
    try:
        seed = msgspec.json.decode(text, type=Seed)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadSeed(f"not a seed: {error}") from error
    _checked(seed.url)
    if reserved := seed.meta.keys() & RESERVED:
        raise BadSeed(f"meta may not set {', '.join(sorted(reserved))}")
    return seed


def _checked(url: str) -> str:
    shown = without_credentials(url)[:200]
    if not url.startswith(("http://", "https://")) or any(character.isspace() for character in url):
        raise BadSeed(f"not an http URL: {shown!r}")
    if "@" in re.split("[/?#]", url, maxsplit=3)[2]:
        raise BadSeed(f"a URL with a user name or password: {shown!r}; it would be stored with every listing")
    return url

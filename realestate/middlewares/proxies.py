"""Proxies: the ways out, other than our own address. Their names are all that leaves this module in words: credentials
appear in no log, stat, dead letter or page."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

from realestate.queue.exits import Exit

Tier = Literal["direct", "datacentre", "residential"]
#: What they cost, the cheapest first.
TIERS: tuple[Tier, ...] = ("direct", "datacentre", "residential")


class BadProxy(ValueError):
    """An address that is no proxy's, or one we cannot use; its text says why, without credentials."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """One way out. `None` as address is our own."""

    address: str | None
    """scheme://host:port, without credentials."""
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    tier: Tier = "datacentre"
    ca: Path | None = None
    """The authority that signs what it shows us in the sites' place."""
    verifies: bool = True
    """Whether the certificates it shows are checked."""

    @property
    def id(self) -> str:
        """The same on every worker, and telling nobody anything."""
        told = f"{self.address or 'direct'}\n{self.user}\n{self.password}"
        return blake2b(told.encode(), digest_size=6).hexdigest()

    @property
    def url(self) -> str | None:
        """With credentials: for who fetches, and for nobody else."""
        if self.address is None or not self.user:
            return self.address
        scheme, _, host = self.address.partition("://")
        return f"{scheme}://{quote(self.user, safe='')}:{quote(self.password, safe='')}@{host}"

    @property
    def exit(self) -> Exit:
        return Exit(self.id, TIERS.index(self.tier))


DIRECT = Proxy(None, tier="direct")


def parse(text: str, *, tier: Tier = "datacentre") -> Proxy:
    """`http://user:password@host:port`; without a scheme it is http."""
    parts = urlsplit(text if "://" in text else f"http://{text}")
    shown = f"{parts.scheme}://{parts.hostname or '?'}"
    try:
        port = parts.port
    except ValueError as error:
        raise BadProxy(f"{shown}: {error}") from None
    if parts.scheme not in ("http", "https"):
        raise BadProxy(f"{shown}: the download handler speaks http and https proxies, not {parts.scheme}")
    if not parts.hostname or port is None:
        raise BadProxy(f"{shown}: a host and a port are needed")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return Proxy(f"{parts.scheme}://{host}:{port}", user, password, tier)


class Pool:
    """The ways out that a worker has now."""

    def __init__(self, proxies: Iterable[Proxy] = ()) -> None:
        self._proxies = {proxy.id: proxy for proxy in proxies}

    def __len__(self) -> int:
        return len(self._proxies)

    def exits(self) -> list[Exit]:
        return [proxy.exit for proxy in self._proxies.values()]

    def get(self, id: str) -> Proxy | None:
        return self._proxies.get(id)

"""Lets a worker connect to public addresses only: not to this machine, its network or its cloud's metadata service."""

import socket
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import ResolveResult
from scrapy.exceptions import IgnoreRequest

from realestate.parsing.hosts import PRIVATE_ADVICE, is_ip_address, is_public_host, is_public_ip

_DEFAULT_PORTS = {"http": 80, "https": 443}


class ForbiddenAddress(IgnoreRequest):
    """The URL leads to an address that is not public. A retry would change nothing."""

    reason = "address"
    outcome = "forbidden"


class AddressGuard:
    """Allows public addresses, and the hosts of `simulated` URLs; `allow_all` is for portals in a private network.

    A name is checked when the connection is made, by the addresses it resolves to then: it may resolve to others later.
    """

    def __init__(self, simulated: Iterable[str] = (), *, allow_all: bool = False) -> None:
        self.allow_all = allow_all
        self._simulated = frozenset(_host_and_port(each) for each in simulated)
        self._is_public_host = lru_cache(maxsize=1024)(is_public_host)

    def allows_any_address(self, host: str, port: int | None) -> bool:
        """Whether this host may be fetched whatever it resolves to."""
        return self.allow_all or (host.lower(), port) in self._simulated

    def check(self, host: str, port: int | None, *, by_proxy: bool) -> None:
        """Raises ForbiddenAddress for an IP address that is not public.

        With a proxy it checks names too: the proxy resolves them, so `GuardedResolver` never sees them.
        """
        if self._is_public_host(host) or self.allows_any_address(host, port):
            return
        if by_proxy or is_ip_address(host):
            raise ForbiddenAddress(f"{host[:100]} is not a public address; {PRIVATE_ADVICE}")

    def public_only(self, host: str, found: list[ResolveResult]) -> list[ResolveResult]:
        """The public addresses among those a name resolves to; raises ForbiddenAddress if there is none."""
        public = [each for each in found if is_public_ip(each["host"])]
        if not public:
            raise ForbiddenAddress(f"{host[:100]} resolves to no public address; {PRIVATE_ADVICE}")
        return public


class GuardedResolver(aiohttp.ThreadedResolver):
    """Resolves names to allowed addresses only. aiohttp connects to no others."""

    def __init__(self, guard: AddressGuard) -> None:
        super().__init__()
        self.guard = guard

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await super().resolve(host, port, family)
        return found if self.guard.allows_any_address(host, port) else self.guard.public_only(host, found)


def _host_and_port(url: str) -> tuple[str, int | None]:
    parts = urlsplit(url)
    return (parts.hostname or "").lower(), parts.port or _DEFAULT_PORTS.get(parts.scheme)

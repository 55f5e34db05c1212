"""Addresses of the open internet, told from those of our machine, our network and a cloud's metadata."""

import re
import socket
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import ResolveResult
from scrapy.exceptions import IgnoreRequest

#: Other ways to write an IPv4 address: its last four bytes are what counts.
_WITH_IPV4 = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"), IPv6Network("::ffff:0:0:0/96"))
#: Networks of one's own that Python takes for the world's.
_OWN = (IPv6Network("fec0::/10"), IPv6Network("64:ff9b:1::/48"))
#: Names that lead nowhere but inside. One without a dot is completed by whoever resolves it.
_INSIDE = re.compile(r"(?:.*\.)?(?:localhost|localdomain|local|internal|intranet|lan|home|corp|home\.arpa)|[^.]*")
#: Anything else in a host's name is understood in one way here and in another by a proxy.
_NAME = re.compile(r"[a-z0-9._-]+")
#: What ends in a number is an address, in whatever spelling, or nothing.
_NUMBER_LAST = re.compile(r"(?:.*\.)?(?:\d+|0x[0-9a-f]*)")
_PORTS = {"http": 80, "https": 443}

Address = IPv4Address | IPv6Address


class ForbiddenAddress(IgnoreRequest):
    """Somebody wants us to ask where only we can: trying again changes nothing."""

    reason, outcome = "address", "forbidden"


def is_public(address: str) -> bool:
    """Whether an IP address is one of the open internet. A host's name is not: it has to be resolved first."""
    try:
        found = ip_address(address.strip("[]").partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, IPv6Address) and any(found in network for network in _OWN):
        return False
    return all(each.is_global and not each.is_multicast for each in _meant(found))


def is_public_name(host: str) -> bool:
    """Whether a name may lead to the open internet, as far as can be told from the name. An IP address does in its
    usual spelling only: 2130706433 and 0x7f.1 are 127.0.0.1 to some and names to others."""
    host = host.lower().rstrip(".")
    if ":" in host or _NUMBER_LAST.fullmatch(host):
        return is_public(host)
    return bool(_NAME.fullmatch(host)) and not _INSIDE.fullmatch(host)


class Guard:
    """Lets a worker ask the open internet, and the simulator; `lets_all` is for portals in one's own network.

    A name is resolved by who connects, so what it leads to is checked there and then: an earlier answer proves nothing.
    """

    def __init__(self, simulated: Iterable[str] = (), *, lets_all: bool = False) -> None:
        self.lets_all = lets_all
        self._simulated = frozenset(_place(each) for each in simulated)
        self._is_public_name = lru_cache(maxsize=1024)(is_public_name)

    def lets(self, host: str, port: int | None) -> bool:
        """Whether this very host may be asked, whatever it leads to."""
        return self.lets_all or (host.lower(), port) in self._simulated

    def check(self, host: str, port: int | None, *, by_proxy: bool) -> None:
        """Before a request leaves: an IP address is not resolved any more, and a proxy resolves names for itself."""
        if not self._is_public_name(host) and (by_proxy or _is_address(host)) and not self.lets(host, port):
            raise ForbiddenAddress(f"{host[:100]} is no address of the open internet")

    def public(self, host: str, found: list[ResolveResult]) -> list[ResolveResult]:
        """Those addresses of a name that may be asked."""
        public = [each for each in found if is_public(each["host"])]
        if not public:
            raise ForbiddenAddress(f"{host[:100]} leads to no address of the open internet")
        return public


class GuardedResolver(aiohttp.ThreadedResolver):
    """Finds only what the guard lets through. aiohttp connects to what it is told here and to nothing else."""

    def __init__(self, guard: Guard) -> None:
        super().__init__()
        self.guard = guard

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await super().resolve(host, port, family)
        return found if self.guard.lets(host, port) else self.guard.public(host, found)


def _place(url: str) -> tuple[str, int | None]:
    parts = urlsplit(url)
    return (parts.hostname or "").lower(), parts.port or _PORTS.get(parts.scheme)


def _is_address(host: str) -> bool:
    """In whatever spelling; all others are names, to be resolved."""
    return ":" in host or _NUMBER_LAST.fullmatch(host.lower().rstrip(".")) is not None


def _meant(address: Address) -> list[Address]:
    """The address, or the one it leads to."""
    if isinstance(address, IPv4Address):
        return [address]
    if any(address in network for network in _WITH_IPV4):
        return [IPv4Address(address.packed[-4:])]
    inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
    return [inner] if inner is not None else [address]

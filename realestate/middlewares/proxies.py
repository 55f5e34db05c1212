"""Proxies: the ways out, other than our own address. Their names are all that leaves this module in words: credentials
appear in no log, stat, dead letter or page."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from realestate.queue.proxy_health import ProxyRef

Tier = Literal["direct", "datacentre", "residential"]
#: What they cost, the cheapest first.
TIERS: tuple[Tier, ...] = ("direct", "datacentre", "residential")

_PLACE = re.compile(r"(\[[0-9a-f:.]+\]|[\w.-]+):(\d{1,5})/?", re.ASCII | re.IGNORECASE)
#: As sellers of proxies write their lists.
_SOLD = re.compile(r"(?P<place>[\w.-]+:\d{1,5}):(?P<user>[^:@\s]+):(?P<password>[^@\s]+)", re.ASCII)
#: Schemes that may be shown: anything else before `://` could be half a password.
_SOCKS = ("socks", "socks4", "socks4a", "socks5", "socks5h")
_YES_NO = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}


class BadProxy(ValueError):
    """An address that is no proxy's, or one we cannot use; its text says why, without credentials."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """Another address of a site: no proxy is asked for it, the address of the request itself is changed."""

    name: str
    """Stays the same when it is made anew."""
    site: str
    """https://host, as the portal is known."""
    prefix: str
    """What stands there instead."""

    def entered(self, url: str) -> str | None:
        """The address to be asked in place of this one; None if it is not of the site."""
        own, given = urlsplit(self.site), urlsplit(url)
        if (given.scheme, given.netloc.lower()) != (own.scheme, own.netloc.lower()):
            return None
        rest = given._replace(scheme="", netloc="", path=given.path or "/", fragment="").geturl()
        return self.prefix + rest


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
    has_sessions: bool = False
    """Whether its user name ends in the name of a session: another session is another address of the provider's."""
    gateway: Gateway | None = None
    """Set: there is no proxy to ask, and `address` is None."""

    @property
    def id(self) -> str:
        """The same on every worker, and telling nobody anything."""
        place = self.gateway.name if self.gateway else self.address or "direct"
        told = f"{place}\n{self.user}\n{self.password}"
        return blake2b(told.encode(), digest_size=6).hexdigest()

    @property
    def url(self) -> str | None:
        """With credentials: for who fetches, and for nobody else."""
        return self.url_after(0)

    def url_after(self, refusals: int) -> str | None:
        """As `url`; a provider's exit that was refused so many times gets another address of the provider's each
        time."""
        if self.address is None or not self.user:
            return self.address
        user = f"{self.user}x{refusals}" if self.has_sessions and refusals else self.user
        scheme, _, host = self.address.partition("://")
        return f"{scheme}://{quote(user, safe='')}:{quote(self.password, safe='')}@{host}"

    @property
    def exit(self) -> ProxyRef:
        return ProxyRef(self.id, TIERS.index(self.tier))


DIRECT = Proxy(None, tier="direct")


def parse(text: str, *, tier: Tier = "datacentre") -> Proxy:
    """`http://user:password@host:port`; without a scheme it is http; `host:port:user:password`; or `direct`.

    After a space, or as a query, its options: `tier=residential`, `ca=/path/ca.pem`, `verify=no`."""
    address, _, after = text.strip().partition(" ")
    if address == "direct":
        return DIRECT
    scheme, login, place, query = _parted(address)
    found = _PLACE.fullmatch(place)
    if not found or not 0 < int(found[2]) < 65536:
        raise BadProxy("a host and a port are needed")
    if scheme not in ("http", "https"):
        told = f"{scheme}://{found[1]}: " if scheme in _SOCKS else ""
        what = scheme if scheme in _SOCKS else "others"
        raise BadProxy(f"{told}the download handler speaks http and https proxies, not {what}")
    user, _, password = login.partition(":")
    user, password = unquote(user), unquote(password)
    if not (user + password).isprintable():
        raise BadProxy(f"{scheme}://{found[1]}: the credentials are no text")
    options = _options([*parse_qsl(query, keep_blank_values=True), *_pairs(after)])
    chosen, ca, verifies = _tier(options.get("tier", tier)), options.get("ca"), options.get("verify", "yes")
    if ca is not None and not Path(ca).is_file():
        raise BadProxy(f"{scheme}://{found[1]}: ca= names no file")
    if verifies.lower() not in _YES_NO:
        raise BadProxy(f"{scheme}://{found[1]}: verify= is yes or no")
    return Proxy(
        f"{scheme}://{found[1].lower()}:{int(found[2])}",
        user,
        password,
        chosen,
        Path(ca) if ca is not None else None,
        _YES_NO[verifies.lower()],
    )


def parse_all(texts: Iterable[str]) -> list[Proxy]:
    """All of a list; what is wrong with one is told by its place."""
    found = []
    for place, text in enumerate(texts, start=1):
        try:
            found.append(parse(text))
        except BadProxy as error:
            raise BadProxy(f"proxy {place}: {error}") from None
    return found


def listed(text: str) -> list[str]:
    """The proxies of a text, parted by commas or lines."""
    return list(filter(None, (each.strip() for each in re.split(r"[,\n]", text))))


class Pool:
    """The ways out that a worker has now."""

    def __init__(self, proxies: Iterable[Proxy] = ()) -> None:
        self._proxies = {proxy.id: proxy for proxy in proxies}

    def __len__(self) -> int:
        return len(self._proxies)

    def exits(self) -> list[ProxyRef]:
        return [proxy.exit for proxy in self._proxies.values()]

    def get(self, id: str) -> Proxy | None:
        return self._proxies.get(id)

    def replace(self, proxies: Iterable[Proxy]) -> bool:
        """From now on it is these; whether anything changed."""
        before, self._proxies = self._proxies, {proxy.id: proxy for proxy in proxies}
        return before != self._proxies


def _parted(address: str) -> tuple[str, str, str, str]:
    """Scheme, user:password, host:port, options. A password may hold anything but a blank: the last @ ends it."""
    if sold := _SOLD.fullmatch(address):
        return "http", f"{quote(sold['user'])}:{quote(sold['password'])}", sold["place"], ""
    scheme, mark, rest = address.partition("://")
    if not mark:
        scheme, rest = "http", address
    login, _, place = rest.rpartition("@")
    place, _, query = place.partition("?")
    return scheme.lower(), login, place, query


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(name, value) for name, _, value in (each.partition("=") for each in text.split())]


def _options(pairs: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """What is no option may be half a password, and is not told."""
    options = dict(pairs)
    if not options.keys() <= {"tier", "ca", "verify"}:
        raise BadProxy("its options are tier=, ca= and verify=")
    return options


def _tier(text: str) -> Tier:
    for tier in TIERS[1:]:
        if text == tier:
            return tier
    raise BadProxy(f"tier= is one of {', '.join(TIERS[1:])}")

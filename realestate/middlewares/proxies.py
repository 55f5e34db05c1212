"""Proxies: their addresses, tiers and options, and the pool of those that a worker has.

Credentials appear in no log line, statistic, dead letter or page. Elsewhere a proxy is known by its id.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from realestate.queue.proxy_health import ProxyRef

Tier = Literal["direct", "datacentre", "residential"]
#: The price classes, the cheapest first.
TIERS: tuple[Tier, ...] = ("direct", "datacentre", "residential")

_HOST_AND_PORT = re.compile(r"(\[[0-9a-f:.]+\]|[\w.-]+):(\d{1,5})/?", re.ASCII | re.IGNORECASE)
#: host:port:user:password, the form in which many providers list their proxies.
_PROVIDER_FORM = re.compile(r"(?P<place>[\w.-]+:\d{1,5}):(?P<user>[^:@\s]+):(?P<password>[^@\s]+)", re.ASCII)
#: Other schemes are not shown in errors: what stands before `://` could be a part of a password.
_SOCKS_SCHEMES = ("socks", "socks4", "socks4a", "socks5", "socks5h")
_YES_NO = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}


class BadProxy(ValueError):
    """Not a proxy's address, or one that cannot be used; the text says why, without credentials."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """Another address under which a site can be fetched: the URL of the request is changed, no proxy is used."""

    name: str
    """Stays the same when the gateway is created again."""
    site: str
    """https://host of the portal."""
    prefix: str
    """Replaces `site` at the beginning of a URL."""

    def url_for(self, url: str) -> str | None:
        """The URL to fetch instead of this one; None if it is not a URL of the site."""
        site = urlsplit(self.site)
        parts = urlsplit(url)
        if (parts.scheme, parts.netloc.lower()) != (site.scheme, site.netloc.lower()):
            return None
        rest = parts._replace(scheme="", netloc="", path=parts.path or "/", fragment="").geturl()
        return self.prefix + rest


@dataclass(frozen=True, slots=True)
class Proxy:
    """One proxy, or a gateway, or the direct connection."""

    address: str | None
    """scheme://host:port, without credentials; None for a gateway and for the direct connection."""
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    tier: Tier = "datacentre"
    ca: Path | None = None
    """The authority of the certificates that the proxy shows in place of the sites' own."""
    verify: bool = True
    """Whether certificates are verified."""
    has_sessions: bool = False
    """Whether its user name ends with a session name. With another session the provider uses another address."""
    gateway: Gateway | None = None

    @property
    def id(self) -> str:
        """The same on every worker; a hash, so that it shows nothing of the address."""
        place = self.gateway.name if self.gateway else self.address or "direct"
        identifying = f"{place}\n{self.user}\n{self.password}"
        return blake2b(identifying.encode(), digest_size=6).hexdigest()

    @property
    def url(self) -> str | None:
        """The URL with credentials, for the download handler only."""
        return self.url_after(0)

    def url_after(self, sessions: int) -> str | None:
        """The URL after this many changed sessions: with each one a provider uses another of its addresses."""
        if self.address is None or not self.user:
            return self.address
        user = f"{self.user}x{sessions}" if self.has_sessions and sessions else self.user
        scheme, _, host = self.address.partition("://")
        return f"{scheme}://{quote(user, safe='')}:{quote(self.password, safe='')}@{host}"

    @property
    def ref(self) -> ProxyRef:
        """The proxy as the queue knows it."""
        return ProxyRef(self.id, TIERS.index(self.tier))


DIRECT = Proxy(None, tier="direct")


class ProxyPool:
    """The proxies that a worker has now."""

    def __init__(self, proxies: Iterable[Proxy] = ()) -> None:
        self._proxies = {proxy.id: proxy for proxy in proxies}

    def __len__(self) -> int:
        return len(self._proxies)

    def refs(self) -> list[ProxyRef]:
        """The proxies as the queue knows them."""
        return [proxy.ref for proxy in self._proxies.values()]

    def get(self, id: str) -> Proxy | None:
        return self._proxies.get(id)

    def replace(self, proxies: Iterable[Proxy]) -> bool:
        """Use these proxies from now on. Returns whether anything changed."""
        before = self._proxies
        self._proxies = {proxy.id: proxy for proxy in proxies}
        return before != self._proxies


def split_proxies(text: str) -> list[str]:
    """The proxies of a text, separated by commas or lines."""
    return list(filter(None, (each.strip() for each in re.split(r"[,\n]", text))))


def parse_proxies(texts: Iterable[str]) -> list[Proxy]:
    """All proxies of a list; raises BadProxy with the number of the first bad one."""
    found = []
    for number, text in enumerate(texts, start=1):
        try:
            found.append(parse_proxy(text))
        except BadProxy as error:
            raise BadProxy(f"proxy {number}: {error}") from None
    return found


def parse_proxy(text: str, *, tier: Tier = "datacentre") -> Proxy:
    """The proxy of `[http://][user:password@]host:port`, `host:port:user:password` or `direct`.

    Options follow after a space or as a query: `tier=residential`, `ca=/path/ca.pem`, `verify=no`.
    """
    address, _, after = text.strip().partition(" ")
    if address == "direct":
        return DIRECT
    parts = _split_address(address)
    found = _HOST_AND_PORT.fullmatch(parts.place)
    if not found or not 0 < int(found[2]) < 65536:
        raise BadProxy("host and port are missing or not valid")
    name = f"{parts.scheme}://{found[1]}"
    if parts.scheme in _SOCKS_SCHEMES:
        raise BadProxy(f"{name}: only http and https proxies are supported, not {parts.scheme}")
    if parts.scheme not in ("http", "https"):
        raise BadProxy("only http and https proxies are supported")
    user, _, password = parts.login.partition(":")
    user = unquote(user)
    password = unquote(password)
    if not (user + password).isprintable():
        raise BadProxy(f"{name}: the credentials contain characters that cannot be printed")
    options = _options([*parse_qsl(parts.query, keep_blank_values=True), *_pairs(after)])
    ca = options.get("ca")
    if ca is not None and not Path(ca).is_file():
        raise BadProxy(f"{name}: the file of ca= does not exist")
    verify = options.get("verify", "yes").lower()
    if verify not in _YES_NO:
        raise BadProxy(f"{name}: verify= must be yes or no")
    return Proxy(
        f"{parts.scheme}://{found[1].lower()}:{int(found[2])}",
        user,
        password,
        tier=_tier(options.get("tier", tier)),
        ca=Path(ca) if ca is not None else None,
        verify=_YES_NO[verify],
    )


class _AddressParts(NamedTuple):
    scheme: str
    login: str
    """user:password"""
    place: str
    """host:port"""
    query: str
    """The options."""


def _split_address(address: str) -> _AddressParts:
    """A password may contain anything but a space: it ends at the last @."""
    if found := _PROVIDER_FORM.fullmatch(address):
        return _AddressParts("http", f"{quote(found['user'])}:{quote(found['password'])}", found["place"], "")
    scheme, separator, rest = address.partition("://")
    if not separator:
        scheme = "http"
        rest = address
    login, _, place = rest.rpartition("@")
    place, _, query = place.partition("?")
    return _AddressParts(scheme.lower(), login, place, query)


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(name, value) for name, _, value in (each.partition("=") for each in text.split())]


def _options(pairs: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """An unknown option could be a part of a password, so the error does not show it."""
    options = dict(pairs)
    if not options.keys() <= {"tier", "ca", "verify"}:
        raise BadProxy("unknown option; the options are tier=, ca= and verify=")
    return options


def _tier(text: str) -> Tier:
    for tier in TIERS[1:]:
        if text == tier:
            return tier
    raise BadProxy(f"tier= must be one of {', '.join(TIERS[1:])}")

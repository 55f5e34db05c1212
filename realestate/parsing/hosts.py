"""Whether a host name or an IP address is a public one, and which hosts belong to the same site."""

import re
from functools import cache, lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from tldextract import TLDExtract

Address = IPv4Address | IPv6Address

#: Ends every refusal of an address that is not public.
PRIVATE_ADVICE = "set ALLOW_PRIVATE_ADDRESSES=on if the portal is on this machine or in your own network"

#: IPv6 networks whose last four bytes are an IPv4 address: that address counts.
_CONTAIN_IPV4 = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"), IPv6Network("::ffff:0:0:0/96"))
#: Private networks that Python's `is_global` takes for public.
_PRIVATE = (IPv6Network("fec0::/10"), IPv6Network("64:ff9b:1::/48"))
#: Names that lead only into a private network or nowhere. A resolver completes a name without a dot by its own domain.
_PRIVATE_NAME = re.compile(
    r"(?:.*\.)?(?:localhost|localdomain|local|internal|intranet|lan|home|corp|home\.arpa|test|invalid|onion)|[^.]*"
)
#: No host name is longer. Encoding a longer one would take long.
_LONGEST_HOST = 253
#: Other characters in a host name are understood differently by us and by a proxy.
_NAME = re.compile(r"[a-z0-9._-]+")
#: A host that ends in a number is an IP address in some spelling, or invalid.
_ENDS_IN_NUMBER = re.compile(r"(?:.*\.)?(?:\d+|0x[0-9a-f]*)")


def is_public_ip(address: str) -> bool:
    """Whether an IP address is public. False for a host name: it has to be resolved first."""
    try:
        found = ip_address(address.strip("[]").partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, IPv6Address) and any(found in network for network in _PRIVATE):
        return False
    target = _target(found)
    return target.is_global and not target.is_multicast


def is_public_host(host: str) -> bool:
    """Whether a host may be public, by its name alone.

    An IP address must have its usual spelling: 2130706433 and 0x7f.1 are 127.0.0.1 for some programs, and names for
    others.
    """
    host = host.lower().rstrip(".")
    if is_ip_address(host):
        return is_public_ip(host)
    return bool(_NAME.fullmatch(host)) and not _PRIVATE_NAME.fullmatch(host)


def is_public_address(url: str) -> bool:
    """Whether the host of a URL may be public, by its name alone. Also for a name in letters other than ASCII."""
    try:
        host = urlsplit(url).hostname or ""
        return len(host) <= _LONGEST_HOST and is_public_host(host.encode("idna").decode())
    except ValueError:  # also UnicodeError: the host is no name
        return False


def is_ip_address(host: str) -> bool:
    """Whether a host is an IP address, in any spelling; all others are names that have to be resolved."""
    return ":" in host or _ENDS_IN_NUMBER.fullmatch(host.lower().rstrip(".")) is not None


@cache
def public_suffixes() -> "TLDExtract":
    """The list of public suffixes that tldextract brings with it. It never asks the network for a newer one.

    Imported when it is needed: that takes longer than most commands need to start."""
    from tldextract import TLDExtract

    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


def site_of(url: str) -> str:
    """Return the site of a URL: its registered domain, such as `example.co.uk`. Without one, its host and port."""
    parts = urlsplit(url)
    return _registered_domain(parts.hostname or "") or parts.netloc.rpartition("@")[2].lower()


@lru_cache(maxsize=4096)
def _registered_domain(host: str) -> str:
    """Return "" for an IP address, for `localhost`, and for a public suffix itself."""
    host = host.rstrip(".")
    if not host or len(host) > _LONGEST_HOST or is_ip_address(host):
        return ""
    try:
        host = host.encode("idna").decode()
    except UnicodeError:
        return ""
    return public_suffixes()(host).top_domain_under_public_suffix


def _target(address: Address) -> Address:
    """The address itself, or the IPv4 address that it contains."""
    if isinstance(address, IPv4Address):
        return address
    if any(address in network for network in _CONTAIN_IPV4):
        return IPv4Address(address.packed[-4:])
    teredo_client = address.teredo[1] if address.teredo else None
    return address.ipv4_mapped or address.sixtofour or teredo_client or address

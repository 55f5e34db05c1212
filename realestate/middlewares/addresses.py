"""Addresses of the open internet, told from those of our machine, our network and a cloud's metadata."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

#: Other ways to write an IPv4 address: its last four bytes are what counts.
_WITH_IPV4 = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"))


def is_public(address: str) -> bool:
    """Whether an IP address is one of the open internet. A host's name is not: it has to be resolved first."""
    try:
        found = ip_address(address.strip("[]").partition("%")[0])
    except ValueError:
        return False
    return all(each.is_global and not each.is_multicast for each in _meant(found))


def _meant(address: IPv4Address | IPv6Address) -> list[IPv4Address | IPv6Address]:
    """The address, or the one it leads to."""
    if isinstance(address, IPv4Address):
        return [address]
    if any(address in network for network in _WITH_IPV4):
        return [IPv4Address(address.packed[-4:])]
    inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
    return [inner] if inner is not None else [address]

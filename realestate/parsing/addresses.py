"""Addresses on a portal's site. Nearly all are as plain as can be, and what they consist of is seen without taking them
apart by the rules for all others, which takes ten times as long."""

import re
from urllib.parse import urljoin, urlsplit

#: From the root: no dots that lead upwards, no query, nothing after it.
_PLAIN = re.compile(r"(?:/[\w%-]+)+(?:\.\w+)?", re.ASCII)


def is_at(site: str, url: str) -> bool:
    """Whether an address is plainly the site's; the others may be too."""
    return url.startswith(site) and url[len(site) : len(site) + 1] == "/"


def joined(site: str, url: str) -> str:
    """The address in full, of a link on the site's root."""
    if _PLAIN.fullmatch(url):
        return site + url
    return url if is_at(site, url) and _PLAIN.fullmatch(url, len(site)) else urljoin(site, url)


def path_of(site: str, url: str) -> str:
    """The address' path."""
    if is_at(site, url) and _PLAIN.fullmatch(url, len(site)):
        return url[len(site) :]
    return urlsplit(url).path

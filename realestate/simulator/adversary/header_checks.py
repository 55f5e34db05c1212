"""Checks of the request headers: user agents of libraries, headers that contradict each other, headers of proxies.

An honest name of a crawler is allowed; the default user agent of a library is refused.
"""

import re
from collections.abc import Iterator, Mapping

from realestate.simulator.adversary.limits import Reason

_LIBRARIES = re.compile(
    r"^(python|aiohttp|httpx|curl|wget|scrapy|go-http-client|java|okhttp|libwww|axios|node|ruby|php|guzzle)",
    re.IGNORECASE,
)
_PROXY_HEADERS = ("Via", "X-Forwarded-For", "Forwarded", "X-Real-IP", "Proxy-Connection")
_HINTS = ("Sec-CH-UA", "Sec-CH-UA-Mobile", "Sec-CH-UA-Platform")
_MOBILE = re.compile(r"Mobile|Android|iPhone|iPad")
#: platform in the client hints -> text that the user agent then contains.
_PLATFORMS = {
    "Windows": "Windows NT",
    "macOS": "Macintosh",
    "Linux": "Linux",
    "Chrome OS": "CrOS",
    "Android": "Android",
}
#: brand in the client hints -> text that the user agent then contains.
_BRANDS = {"Google Chrome": "Chrome/", "Microsoft Edge": "Edg", "Opera": "OPR/"}


def objection(headers: Mapping[str, str]) -> Reason | None:
    """Return why a request with these headers is refused, or None if a browser could have sent it. The mapping ignores
    the case of names."""
    if any(name in headers for name in _PROXY_HEADERS):
        return "proxy"
    agent = headers.get("User-Agent", "").strip()
    if not agent or _LIBRARIES.match(agent):
        return "agent"
    return "headers" if any(_contradictions(agent, headers)) else None


def _contradictions(agent: str, headers: Mapping[str, str]) -> Iterator[bool]:
    yield "Accept-Language" not in headers
    yield "Accept" not in headers
    is_browser = agent.startswith("Mozilla/")
    yield is_browser and "gzip" not in headers.get("Accept-Encoding", "")
    hints = [headers.get(name) for name in _HINTS]
    if any(hint is not None for hint in hints):
        yield from _false_hints(agent, *(hint or "" for hint in hints))


def _false_hints(agent: str, brands: str, mobile: str, platform: str) -> Iterator[bool]:
    """Check the client hints: only Chromium sends them, all three, and they must agree with the user agent."""
    chromium = re.search(r"Chrome/(\d+)", agent)
    yield chromium is None
    yield not (brands and mobile and platform)
    yield (mobile == "?1") != bool(_MOBILE.search(agent))
    yield _PLATFORMS.get(platform.strip('"'), "\0") not in agent
    hinted = dict(re.findall(r'"([^"]*)";\s*v="(\d+)', brands))
    yield chromium is not None and hinted.get("Chromium") != chromium[1]
    yield any(brand in hinted and mark not in agent for brand, mark in _BRANDS.items())

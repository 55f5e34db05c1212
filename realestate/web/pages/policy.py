"""The Content-Security-Policy: what a page may load and do. Nothing in it is `unsafe`, and nothing comes from elsewhere
but photos of one listing and the tiles that the operator configured."""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

#: Whatever could end a directive or begin another is not an origin.
_ORIGIN = re.compile(r"https?://(?:[a-z0-9-]+\.)*[a-z0-9-]+(?::\d{1,5})?")
#: The length of a header is limited: of a listing with photos on many hosts, only the first are shown.
_MOST_ORIGINS = 8


def origin(address: str) -> str | None:
    """The scheme, host and port of an address; None if it has none that a policy can name."""
    try:
        parts = urlsplit(address)
        found = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}".lower()
    except ValueError:
        return None
    return found if _ORIGIN.fullmatch(found) else None


def origins(addresses: Iterable[str]) -> list[str]:
    """The origins of the addresses, each once, in their order."""
    found = dict.fromkeys(each for address in addresses if (each := origin(address)) is not None)
    return list(found)[:_MOST_ORIGINS]


def policy(*, images: Iterable[str] = (), tiles: Iterable[str] = ()) -> str:
    """The policy of a page that may show images of these origins, and tiles of those."""
    all_tiles = list(tiles)
    directives = {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:", *all_tiles, *images],
        "connect-src": ["'self'", *all_tiles],
        "worker-src": ["'self'"],
        "font-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
    return "; ".join(f"{name} {' '.join(sources)}" for name, sources in directives.items())


def headers(content_security_policy: str) -> dict[str, str]:
    """The headers of a page."""
    return {
        "Content-Security-Policy": content_security_policy,
        "Cache-Control": "private, no-store",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        "Referrer-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }

"""URLs: which ones may be fetched or stored, how they are joined, and their path.

Nearly all links of a portal are simple ("/path/to/page-1.html"). Those are handled by one pattern, which is ten times
faster than `urllib.parse`; all others are left to `urllib.parse`.
"""

import re
from urllib.parse import urljoin, urlsplit

#: A path from the root, without "..", query and fragment.
_SIMPLE_PATH = re.compile(r"(?:/[\w%-]+)+(?:\.\w+)?", re.ASCII)
#: The only schemes that exist for us. `file:` would read this machine, `javascript:` would run in a reader's browser.
WEB_SCHEMES = ("http", "https")
#: A longer URL is refused. Sitemaps allow 2,048 characters, servers about 8,000.
MAX_LENGTH = 8_000
#: A URL that needs no further look: a plain host name, and neither user name nor port.
_SIMPLE_URL = re.compile(r"https?://[a-z0-9]+(?:[.-][a-z0-9]+)*(?:/[\w%.~/-]*)?", re.ASCII)
#: Programs read these differently, and then one checks another host than the other fetches.
_AMBIGUOUS = re.compile(r"[\s\\\x00-\x1f\x7f]")
#: A link that a browser opens on the web. Spaces in its path are common in the addresses of photos.
_STORED_LINK = re.compile(r"(?i:https?)://[^\s/?#\\<>\"']+(?:[/?#][^\x00-\x1f<>\"]*)?")


def web_url(text: str) -> str | None:
    """Return the URL if it is absolute, http or https, and names a valid host; otherwise None.

    A URL with a user name or a password is refused: no page has a reason to give us one."""
    text = text.strip()
    if len(text) > MAX_LENGTH:
        return None
    if _SIMPLE_URL.fullmatch(text):
        return text
    try:
        parts = urlsplit(text)
        host = (parts.hostname or "").encode("idna")
        is_valid = parts.scheme in WEB_SCHEMES and bool(host) and parts.port != 0 and "@" not in parts.netloc
    except ValueError:  # also UnicodeError, of a host that cannot be written in ASCII
        return None
    if not is_valid or _AMBIGUOUS.search(text):
        return None
    return parts.scheme + text[len(parts.scheme) :]  # the scheme in lower case


def stored_link(text: str) -> str | None:
    """Return a link that may be stored and shown, such as that of a photo; None for any other scheme than http(s)."""
    text = text.strip()
    if text.startswith("//"):
        text = "https:" + text
    if not _STORED_LINK.fullmatch(text):
        return None
    scheme, _, rest = text.partition(":")
    return f"{scheme.lower()}:{rest}"


#: Scrapy drops requests for longer URLs too (URLLENGTH_LIMIT).
_LONGEST = 2_083


def is_on_site(site: str, url: str) -> bool:
    """Return whether the URL begins with the site's scheme and host. A URL in another spelling returns False."""
    return url.startswith(site) and url[len(site) : len(site) + 1] == "/"


def absolute_url(site: str, url: str) -> str:
    """Return the absolute URL of a link on the site's start page."""
    if _SIMPLE_PATH.fullmatch(url):
        return site + url
    return url if is_on_site(site, url) and _SIMPLE_PATH.fullmatch(url, len(site)) else urljoin(site, url)


def url_path(site: str, url: str) -> str:
    """Return the path of an absolute URL."""
    if is_on_site(site, url) and _SIMPLE_PATH.fullmatch(url, len(site)):
        return url[len(site) :]
    return urlsplit(url).path


def path_match(pattern: re.Pattern[str], site: str, url: str) -> re.Match[str] | None:
    """Return the match of a pattern in the path of an absolute URL; None if there is none or the URL is too long.

    Patterns of paths may begin anywhere and contain ".*": their time grows with the square of the length.
    """
    return pattern.search(url_path(site, url)) if len(url) <= _LONGEST else None

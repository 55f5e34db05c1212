"""URLs of one site: join them and get their path.

Nearly all links of a portal are simple ("/path/to/page-1.html"). Those are handled by one pattern, which is ten times
faster than `urllib.parse`; all others are left to `urllib.parse`.
"""

import re
from urllib.parse import urljoin, urlsplit

#: A path from the root, without "..", query and fragment.
_SIMPLE_PATH = re.compile(r"(?:/[\w%-]+)+(?:\.\w+)?", re.ASCII)
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

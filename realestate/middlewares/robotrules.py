"""What a robots.txt says, and what it means when something else comes in its place (RFC 9309)."""

import re
from functools import lru_cache
from math import isfinite
from urllib.parse import urlsplit

from protego import Protego

#: What is longer is not read: 500 KiB is what the RFC asks for.
MOST_BYTES = 512 * 1024
#: No site means longer, and one that says so by mistake does not stop the crawl for days.
LONGEST_DELAY_SECONDS = 3600.0
#: A site that cannot be asked is asked again after so many RETRY_DELAY_SECONDS, each time twice as long.
FIRST_WAIT, LONGEST_WAIT_SECONDS = 5, 900.0
#: To the RFC these are a site without robots.txt, as is any other 4xx. They are about us, not about the file: who does
#: not want us has not permitted everything.
ABOUT_US = frozenset({401, 403, 407, 408, 425, 429, 430})
#: What an address begins with, which is the same for all pages of a site.
_BEFORE_PATH = re.compile(r"https?://[^/?#\s]+(?=/)", re.ASCII)


class RobotRules:
    """A site's robots.txt, read for one who calls himself `user_agent`."""

    def __init__(self, text: bytes, user_agent: str) -> None:
        self._rules = Protego.parse(text.decode("utf-8-sig", "ignore"))
        self.user_agent = user_agent
        self.delay_seconds = self._delay()
        """Between two requests, as its Crawl-delay and Request-rate ask for; 0: neither does."""

    def allows(self, url: str, user_agent: str | None = None) -> bool:
        return bool(self._rules.can_fetch(url, user_agent or self.user_agent))

    def _delay(self) -> float:
        rate = self._rules.request_rate(self.user_agent)
        told = [self._rules.crawl_delay(self.user_agent) or 0.0]
        if rate is not None and rate.requests > 0:
            told.append(rate.seconds / rate.requests)
        return min(max((each for each in told if isfinite(each)), default=0.0), LONGEST_DELAY_SECONDS)


def origin_of(url: str) -> str:
    """Whose robots.txt it is: scheme, host and port, and nobody's password."""
    found = _BEFORE_PATH.match(url)
    return _origin(found[0] if found else url)


@lru_cache(maxsize=1024)
def _origin(url: str) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower()
    usual = ":443" if parts.scheme == "https" else ":80"
    return f"{parts.scheme}://{host.removesuffix(usual)}"


def said(status: int, body: bytes, wall: str | None = None) -> bytes | None:
    """The rules that an answer means; None: none, and nothing may be asked for until there is a better answer.

    A page in place of the file, at 200, has no rules, which allows everything; unless it is a wall."""
    if wall is not None or status in ABOUT_US or status >= 500:
        return None
    return _whole_lines(body) if 200 <= status < 300 else b""


def wait_seconds(failures: int, retry_seconds: float) -> float:
    """Before a site is asked again that was asked in vain so often."""
    return min(FIRST_WAIT * retry_seconds * 2.0 ** min(failures - 1, 30), LONGEST_WAIT_SECONDS)


def _whole_lines(body: bytes) -> bytes:
    """Half a line could forbid more than the site means, or less."""
    if len(body) <= MOST_BYTES:
        return body
    text = body[:MOST_BYTES]
    return text[: max(text.rfind(b"\n"), text.rfind(b"\r")) + 1]

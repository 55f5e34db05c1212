"""A page that lists free proxies. Most of them are dead, and anybody may have written it: nothing of it is believed."""

import asyncio
import re
import socket
from collections.abc import Sequence
from itertools import islice

from scrapy.statscollectors import StatsCollector

from realestate.middlewares.addresses import is_public
from realestate.middlewares.proxies import Proxy, parse
from realestate.middlewares.sources.asking import Unanswered, ask
from realestate.middlewares.sources.following import SourceAway
from realestate.middlewares.sources.provider import country_of

Named = tuple[str, int]

#: Tried at a time, each for so long: a free proxy that is slower is of no use.
AT_ONCE, TEST_SECONDS = 50, 10.0
#: Tried at most for each that is wanted: of free ones, one in ten lives on a good day.
TRIED_FOR_EACH = 20

_HOST = r"(?:\d{1,3}(?:\.\d{1,3}){3}|(?:[a-z0-9-]{1,63}\.){1,8}[a-z][a-z0-9-]{1,62}|localhost)"
#: After a colon, or in the next cell of a table. Looked for first: it is rare, and a page may be large and hostile.
_PORT = re.compile(r"(?::|</td>\s{0,20}<td[^<>]{0,200}>\s{0,20})(?P<port>\d{2,5})(?![\w.:])", re.IGNORECASE)
_BEFORE = re.compile(rf"(?:\b(?P<scheme>[a-z0-9]{{3,8}})://)?(?<![\w.@-])(?P<host>{_HOST})$", re.IGNORECASE)
_BREAK = re.compile(r"[^\w.:/@-]")
#: The longest host, with its scheme.
_WINDOW = 100
#: No page names more that are of use.
_LOOKED_AT = 20_000


class Page:
    """Asks for the page again and again; what it names is used after it was tried, and as long as it passes."""

    name = "page"

    def __init__(
        self,
        url: str,
        test_url: str,
        stats: StatsCollector,
        *,
        most: int = 50,
        seconds: float = 600.0,
        allow_private: bool = False,
    ) -> None:
        self.url = url
        self.test_url = test_url
        self.stats = stats
        self.most = most
        self.seconds = seconds
        self.allow_private = allow_private
        """For a simulator on this machine."""
        self._good: dict[Named, Proxy] = {}

    async def proxies(self) -> Sequence[Proxy]:
        """Those that were good before are tried first. If the page is away, they are tried all the same."""
        trouble, named = "", []
        try:
            body = await ask(self.url, only_public=not self.allow_private)
            named = named_in(body.decode("utf-8", "replace"))
        except Unanswered as error:
            trouble = str(error)
        known = dict.fromkeys([*self._good, *named[: self.most * TRIED_FOR_EACH]])
        self._good = await self._passing(list(known))
        if not self._good:
            raise SourceAway(f"PROXY_LIST_URL: {trouble or f'none of {len(named)} works'}")
        return list(self._good.values())

    async def close(self) -> None:
        """Nothing was made."""

    async def _passing(self, named: Sequence[Named]) -> dict[Named, Proxy]:
        good: dict[Named, Proxy] = {}
        for start in range(0, len(named), AT_ONCE):
            some = named[start : start + AT_ONCE]
            tried = await asyncio.gather(*(self._tried(*each) for each in some))
            passed = {each: proxy for each, proxy in zip(some, tried, strict=True) if proxy is not None}
            self.stats.inc_value("proxies/page/thrown_out", len(some) - len(passed))
            good.update(passed)
            if len(good) >= self.most:
                break
        return dict(islice(good.items(), self.most))

    async def _tried(self, host: str, port: int) -> Proxy | None:
        """The proxy, if what we know comes through it unchanged. A name is resolved before: it could lead to us the
        next time."""
        address = await _resolved(host)
        if address is None or not (self.allow_private or is_public(address)):
            self.stats.inc_value("proxies/page/refused_addresses")
            return None
        proxy = parse(f"[{address}]:{port}" if ":" in address else f"{address}:{port}")
        try:
            country_of(await self._ask_through(proxy))
        except Unanswered:
            return None
        return proxy

    async def _ask_through(self, proxy: Proxy) -> bytes:
        public = not self.allow_private
        return await ask(self.test_url, through=proxy, only_public=public, seconds=TEST_SECONDS, most=100_000)


def named_in(text: str) -> list[Named]:
    """Host and port of each proxy in a text or a page, in its order, each once; not those we cannot speak to."""
    found: dict[Named, None] = {}
    for after in islice(_PORT.finditer(text), _LOOKED_AT):
        before = _BEFORE.search(_BREAK.split(text[max(0, after.start() - _WINDOW) : after.start()])[-1])
        if before and (before["scheme"] or "http").lower() in ("http", "https") and 0 < int(after["port"]) < 65536:
            found[before["host"].lower(), int(after["port"])] = None
    return list(found)


async def _resolved(host: str) -> str | None:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(TEST_SECONDS):
            found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # TimeoutError is one
        return None
    return str(found[0][4][0])

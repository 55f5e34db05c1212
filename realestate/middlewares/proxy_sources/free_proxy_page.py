"""A web page that lists free proxies. Most of them are dead and anybody may have written the page: each is tested."""

import asyncio
import re
import socket
from collections.abc import Sequence
from itertools import islice

from scrapy.statscollectors import StatsCollector

from realestate.middlewares.proxies import Proxy, parse_proxy
from realestate.middlewares.proxy_sources.fetch import FetchFailed, fetch
from realestate.middlewares.proxy_sources.provider import country_of
from realestate.middlewares.proxy_sources.refresh import SourceUnavailable
from realestate.parsing.hosts import is_public_ip

HostAndPort = tuple[str, int]

#: This many are tested at the same time.
TESTED_AT_ONCE = 50
#: A slower free proxy is of no use.
TEST_SECONDS = 10.0
#: At most this many are tested for each one that is wanted: of free proxies about one in ten works.
TESTED_FOR_EACH = 20

_HOST = r"(?:\d{1,3}(?:\.\d{1,3}){3}|(?:[a-z0-9-]{1,63}\.){1,8}[a-z][a-z0-9-]{1,62}|localhost)"
#: After a colon, or in the next cell of a table. Ports are searched first: they are rare, and a page may be large and
#: made to slow us down.
_PORT = re.compile(r"(?::|</td>\s{0,20}<td[^<>]{0,200}>\s{0,20})(?P<port>\d{2,5})(?![\w.:])", re.IGNORECASE)
_BEFORE_PORT = re.compile(rf"(?:\b(?P<scheme>[a-z0-9]{{3,8}})://)?(?<![\w.@-])(?P<host>{_HOST})$", re.IGNORECASE)
_BREAK = re.compile(r"[^\w.:/@-]")
#: The longest host with its scheme.
_MAX_BEFORE_PORT = 100
#: Further ports in a page are ignored.
_MAX_PORTS = 20_000


class FreeProxyPage:
    """Fetches the page regularly. Its proxies are used after a test, and as long as they pass it."""

    name = "page"

    def __init__(
        self,
        url: str,
        test_url: str,
        stats: StatsCollector,
        *,
        max_proxies: int = 50,
        seconds: float = 600.0,
        allow_private: bool = False,
    ) -> None:
        self.url = url
        self.test_url = test_url
        self.stats = stats
        self.max_proxies = max_proxies
        self.seconds = seconds
        self.allow_private = allow_private
        """For a simulator on this machine."""
        self._good: dict[HostAndPort, Proxy] = {}

    async def proxies(self) -> Sequence[Proxy]:
        """The proxies that pass the test. Those that passed it before are tested first, also if the page fails."""
        error_text = ""
        listed: list[HostAndPort] = []
        try:
            body = await fetch(self.url, only_public=not self.allow_private)
            listed = find_proxies(body.decode("utf-8", "replace"))
        except FetchFailed as error:
            error_text = str(error)
        candidates = dict.fromkeys([*self._good, *listed[: self.max_proxies * TESTED_FOR_EACH]])
        self._good = await self._test_all(list(candidates))
        if not self._good:
            raise SourceUnavailable(f"PROXY_LIST_URL: {error_text or f'none of {len(listed)} proxies works'}")
        return list(self._good.values())

    async def close(self) -> None:
        """There is nothing to clean up."""

    async def _test_all(self, candidates: Sequence[HostAndPort]) -> dict[HostAndPort, Proxy]:
        good: dict[HostAndPort, Proxy] = {}
        for start in range(0, len(candidates), TESTED_AT_ONCE):
            some = candidates[start : start + TESTED_AT_ONCE]
            tested = await asyncio.gather(*(self._test(host, port) for host, port in some))
            passed = {each: proxy for each, proxy in zip(some, tested, strict=True) if proxy is not None}
            self.stats.inc_value("proxy/source/page/failed_test", len(some) - len(passed))
            good.update(passed)
            if len(good) >= self.max_proxies:
                break
        return dict(islice(good.items(), self.max_proxies))

    async def _test(self, host: str, port: int) -> Proxy | None:
        """The proxy, if a known response comes through it unchanged.

        The host is resolved here, and the proxy keeps the address: the name could lead to our network the next time.
        """
        address = await _resolve(host)
        if address is None or not (self.allow_private or is_public_ip(address)):
            self.stats.inc_value("proxy/source/page/refused_addresses")
            return None
        proxy = parse_proxy(f"[{address}]:{port}" if ":" in address else f"{address}:{port}")
        try:
            country_of(await self._fetch_through(proxy))
        except FetchFailed:
            return None
        return proxy

    async def _fetch_through(self, proxy: Proxy) -> bytes:
        only_public = not self.allow_private
        return await fetch(
            self.test_url, through=proxy, only_public=only_public, seconds=TEST_SECONDS, max_bytes=100_000
        )


def find_proxies(text: str) -> list[HostAndPort]:
    """Host and port of each http or https proxy in a text or a page, in its order, each once."""
    found: dict[HostAndPort, None] = {}
    for port in islice(_PORT.finditer(text), _MAX_PORTS):
        before = _BREAK.split(text[max(0, port.start() - _MAX_BEFORE_PORT) : port.start()])[-1]
        host = _BEFORE_PORT.search(before)
        if host and (host["scheme"] or "http").lower() in ("http", "https") and 0 < int(port["port"]) < 65536:
            found[host["host"].lower(), int(port["port"])] = None
    return list(found)


async def _resolve(host: str) -> str | None:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(TEST_SECONDS):
            found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # TimeoutError is an OSError
        return None
    return str(found[0][4][0])

"""The download handler: a request as it really leaves, an answer as it really was.

What is damaged on its way is no answer: it fails like a broken connection, so that it is tried again and never read.
"""

import ssl
import time
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Self

import aiohttp
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import BaseSettings
from yarl import URL

from realestate.accelerate.headers import last
from realestate.middlewares.addresses import Guard, GuardedResolver
from realestate.middlewares.answers import Answer, Reader
from realestate.middlewares.mishaps import NOT_ANSWERED, as_scrapy_tells
from realestate.middlewares.trust import trust

#: Where a request carries the address that is asked in place of its own, and whom it trusts beside the usual: a PEM
#: file's name, or False for anybody.
ENTERED, TRUSTED = "gateway_url", "trusted_ca"
#: How long a connection waits for its next request: an exit's turn may come round only every few seconds.
_KEEP_SECONDS = 30.0
_DNS_SECONDS = 300
#: Real sites send cookies and policies of several thousand letters.
_LONGEST_HEADER, _MOST_HEADERS = 65_536, 256
#: aiohttp sends nothing of its own accord.
_OURS_TO_SEND = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
_LOGIN = "Proxy-Authorization"
#: Scrapy begins each part of a name with a capital. So do browsers, but for these.
_AS_BROWSERS_SPELL = {name: name.lower() for name in ("Sec-Ch-Ua", "Sec-Ch-Ua-Mobile", "Sec-Ch-Ua-Platform")}


@dataclass(frozen=True, slots=True)
class Limits:
    """In seconds: how long one may take to connect, send nothing, and be done; in bytes: how much may come."""

    connect: float = 10.0
    stall: float = 15.0
    total: float = 30.0
    largest: int = 16 * 1024 * 1024

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        return cls(
            settings.getfloat("DOWNLOAD_CONNECT_TIMEOUT"),
            settings.getfloat("DOWNLOAD_STALL_TIMEOUT"),
            settings.getfloat("DOWNLOAD_TIMEOUT"),
            settings.getint("DOWNLOAD_MAXSIZE"),
        )


class ExitHandler:
    """Asks directly, or by the proxy a request names. Connections are kept, each for those who trust the same."""

    lazy = True

    def __init__(self, crawler: Crawler, guard: Guard, limits: Limits, *, connections: int, verifies: bool) -> None:
        self.guard = guard
        self.limits = limits
        self.verifies = verifies
        self.reader = Reader(crawler, crawler.settings.getint("DOWNLOAD_WARNSIZE"))
        self._timeout = lru_cache(maxsize=64)(self._made_timeout)
        self._direct = _session(connections, GuardedResolver(guard))
        #: Proxies may be anywhere: at home, in a company. Where they lead to is not ours to resolve.
        self._by_proxy = _session(connections)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        simulator, site = settings.get("SIMULATOR_URL"), getattr(crawler.spider, "site", None)
        guard = Guard(
            (simulator, site) if simulator and site else (),
            # Without a portal's spider somebody looks at the simulator by hand: `scrapy shell`.
            lets_all=settings.getbool("ALLOW_PRIVATE_ADDRESSES") or bool(simulator and not site),
        )
        return cls(
            crawler,
            guard,
            Limits.from_settings(settings),
            connections=settings.getint("CONCURRENT_REQUESTS"),
            verifies=settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES"),
        )

    async def download_request(self, request: Request) -> Response:
        try:
            began = time.monotonic()
            answer = await self._asked(request)
            request.meta["download_latency"] = time.monotonic() - began
            try:
                most = request.meta.get("download_maxsize", self.limits.largest)
                return await self.reader.response(request, answer, most)
            finally:
                answer.close()  # what is left of it would be taken for the next answer; if nothing is, it was released
        except NOT_ANSWERED as error:
            raise as_scrapy_tells(error) from error

    async def close(self) -> None:
        await self._direct.close()
        await self._by_proxy.close()

    async def _asked(self, request: Request) -> Answer:
        meta = request.meta
        url = URL(meta.get(ENTERED) or request.url, encoded=True)
        proxy, login = _way(meta.get("proxy") or "", last(request.headers, _LOGIN))
        self.guard.check(url.raw_host or "", url.port, by_proxy=proxy is not None)
        headers = list(_headers(request))
        to_proxy = None
        if login and url.scheme == "http":  # the proxy reads the request itself
            headers.append((_LOGIN, login))
        elif proxy is not None:
            to_proxy = _introduction(headers, login)
        answer = await (self._direct if proxy is None else self._by_proxy).request(
            request.method,
            url,
            headers=headers,
            data=request.body or None,
            allow_redirects=False,
            proxy=proxy,
            proxy_headers=to_proxy,
            ssl=self._trust(meta.get(TRUSTED)),
            timeout=self._timeout(meta.get("download_timeout", self.limits.total)),
        )
        assert isinstance(answer, Answer)
        return answer

    def _trust(self, told: str | bool | None) -> ssl.SSLContext | bool:
        if not told:
            return self.verifies and told is None
        return trust(Path(str(told)), verifies=self.verifies)

    def _made_timeout(self, total: float) -> aiohttp.ClientTimeout:
        limits = self.limits
        return aiohttp.ClientTimeout(
            total=total, connect=limits.connect, sock_connect=limits.connect, sock_read=limits.stall
        )


def _session(connections: int, resolver: GuardedResolver | None = None) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(
        limit=connections, resolver=resolver, ttl_dns_cache=_DNS_SECONDS, keepalive_timeout=_KEEP_SECONDS
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        response_class=Answer,
        skip_auto_headers=_OURS_TO_SEND,
        max_line_size=_LONGEST_HEADER,
        max_field_size=_LONGEST_HEADER,
        max_headers=_MOST_HEADERS,
    )


def _headers(request: Request) -> Iterator[tuple[str, str]]:
    """In their order, spelled as a browser does."""
    for name, values in dict.items(request.headers):
        spelled = _spelled(name)
        if spelled != _LOGIN:  # for a proxy's eyes only
            for value in values:
                yield spelled, _text(value)


@lru_cache(maxsize=1024)
def _spelled(name: bytes) -> str:
    text = _text(name)
    return _AS_BROWSERS_SPELL.get(text, text)


def _text(value: bytes) -> str:
    """aiohttp writes UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _way(proxy: str, login: bytes | None) -> tuple[URL | None, str | None]:
    """A proxy's address, and what lets us in: told with the address, or apart as Scrapy does."""
    if not proxy:
        return None, None
    address, own = _parted(proxy)
    return address, _text(login) if login else own


@lru_cache(maxsize=1024)
def _parted(proxy: str) -> tuple[URL, str | None]:
    url = URL(proxy if "://" in proxy else f"http://{proxy}")
    if url.user is None:
        return url, None
    login = f"{url.user}:{url.password or ''}".encode()
    return url.with_user(None), f"Basic {b64encode(login).decode()}"


def _introduction(headers: list[tuple[str, str]], login: str | None) -> dict[str, str]:
    """What a proxy is told before it lets us through: no more than the site will be told, but who lets us in."""
    told = {name: value for name, value in headers if name == "User-Agent"}
    return {**told, _LOGIN: login} if login else told

"""Who may ask: API keys, their scopes and their rate limit. The pages of the web app use the same rules.

`keys` reads the keys of `API_KEYS`.
Without keys the server is for this machine only: requests must be addressed to it by a name of this machine, so that no
web page in a browser can reach it under another name.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from realestate.web.json_response import Refusal, refusal
from realestate.web.keys import Key, find_key
from realestate.web.keys import Scope as Permission

if TYPE_CHECKING:
    from limits.strategies import RateLimiter

LOOPBACK = ("localhost", "127.0.0.1", "::1")
#: The largest body of a request.
LARGEST_BODY = 1024 * 1024
LONGEST_URL = 16 * 1024
_CHANGES = ("POST", "PUT", "PATCH", "DELETE")
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
}
#: Of the API only: pages have their own policy.
API_HEADERS = HEADERS | {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks."""

    name: str
    permissions: frozenset[str]


#: Everybody on this machine, while there are no keys.
LOCAL = Principal("local", frozenset({"read", "operate"}))


#: Another way to recognise who asks, such as the web app's signed-in session.
Authenticator = Callable[[Request], Principal | None]


@dataclass(slots=True)
class Security:
    """The keys and the rate limit of one server. It is `request.app.state.security`."""

    keys: Mapping[str, Key] = field(default_factory=dict)
    rate_limit: str = ""
    """Such as `600/minute`, for each key; empty: none."""
    redis_url: str | None = None
    authenticators: list[Authenticator] = field(default_factory=list)
    """Asked after the keys, in this order. The web app adds its own."""
    _limiter: "tuple[RateLimiter, Any] | None" = None

    @property
    def is_open(self) -> bool:
        """Whether everybody on this machine may do everything, because there are no keys."""
        return not self.keys

    def principal(self, request: Request, *, takes_password: bool = False) -> Principal | None:
        """Who asks; None if nobody is recognised. Raises Refusal for a key that is not valid."""
        secret = _secret_of(request)
        if secret is None and takes_password:
            secret = _password_of(request)
        if secret:
            return self.principal_of_key(secret)
        for authenticator in self.authenticators:
            if found := authenticator(request):
                return found
        return LOCAL if self.is_open else None

    def principal_of_key(self, secret: str) -> Principal:
        found = find_key(self.keys, secret)
        if found is None:
            raise Refusal(401, "the API key is not valid")
        return Principal(found.name, found.scopes)

    def demand(self, request: Request, permission: Permission, *, takes_password: bool = False) -> Principal:
        """Return who asks. Raises Refusal: 401 without a key, 403 without the permission, 429 if too often.

        `takes_password`: the key may be a password (RFC 7617). Browsers send a password with requests of other sites
        too, so nothing may be changed this way."""
        if self.is_open:
            _demand_local(request)
        principal = self.principal(request, takes_password=takes_password)
        if principal is None:
            raise Refusal(401, "an API key is needed: send `Authorization: Bearer <key>`")
        if permission not in principal.permissions:
            raise Refusal(403, f"the key {principal.name!r} may not do this: its scope is read, operate is needed")
        self._demand_rate(principal)
        return principal

    def _demand_rate(self, principal: Principal) -> None:
        if not self.rate_limit or self.is_open:
            return
        if self._limiter is None:
            self._limiter = _limiter(self.rate_limit, self.redis_url)
        limiter, rate = self._limiter
        try:
            is_allowed = limiter.hit(rate, "api", principal.name)
        except Exception as error:
            if not _is_of_redis(error):
                raise
            return  # without Redis the data can still be read
        if not is_allowed:
            raise Refusal(429, f"too many requests of the key {principal.name!r}: {self.rate_limit} are allowed")


def _secret_of(request: Request) -> str | None:
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


def _password_of(request: Request) -> str | None:
    scheme, _, written = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        return base64.b64decode(written).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return None


def _demand_local(request: Request) -> None:
    """Without keys: no other name than this machine's, and no change asked for by a page of another site."""
    host = urlsplit(f"//{request.headers.get('host', '')}").hostname
    if host not in LOOPBACK:
        raise Refusal(403, "without API keys the server answers only requests to localhost: set API_KEYS")
    origin = request.headers.get("origin")
    if request.method in _CHANGES and origin is not None and urlsplit(origin).hostname not in LOOPBACK:
        raise Refusal(403, "a page of another site may not change anything")


def _limiter(rate: str, redis_url: str | None) -> "tuple[RateLimiter, Any]":
    from limits import parse
    from limits.storage import MemoryStorage, RedisStorage, Storage
    from limits.strategies import SlidingWindowCounterRateLimiter

    from realestate.queue.connection import connect_blocking

    storage: Storage = MemoryStorage()
    if redis_url:
        pool = getattr(connect_blocking(redis_url), "connection_pool", None)
        if pool is not None:  # a cluster has none: there each server counts for itself
            storage = RedisStorage("redis://", connection_pool=pool, key_prefix="realestate:api")
    return SlidingWindowCounterRateLimiter(storage), parse(rate)


def _is_of_redis(error: Exception) -> bool:
    from realestate.queue.redis_client import REDIS_ERRORS

    return isinstance(error, REDIS_ERRORS)


def reads(request: Request) -> Principal:
    """A dependency: whoever may read."""
    return security_of(request).demand(request, "read")


def operates(request: Request) -> Principal:
    """A dependency: whoever may change something."""
    return security_of(request).demand(request, "operate")


def security_of(request: Request) -> Security:
    security: Security = request.app.state.security
    return security


class Limits:
    """Refuses requests that are too large, and adds headers to every response that does not set them itself."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        wanted = API_HEADERS if scope["path"].startswith("/api/") else HEADERS

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                missing = {name: value for name, value in wanted.items() if name.encode() not in present}
                more = [(name.encode(), value.encode()) for name, value in missing.items()]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        if why := _refused(scope):
            await refusal(why)(scope, receive, with_headers)
            return
        body = await _whole_body(scope, receive)
        if body is None:
            too_large = Refusal(413, f"the request has more than {LARGEST_BODY} bytes")
            await refusal(too_large)(scope, receive, with_headers)
            return
        await self.app(scope, _replayed(body, receive), with_headers)


def _refused(scope: Connection) -> Refusal | None:
    url = scope.get("raw_path", b"") + scope.get("query_string", b"")
    if len(url) > LONGEST_URL:
        return Refusal(414, f"the address has more than {LONGEST_URL} bytes")
    if b"%00" in url or b"\0" in url:
        return Refusal(422, "the address contains the character NUL")
    return None


async def _whole_body(scope: Connection, receive: Receive) -> bytes | None:
    """The body; None if it is too large."""
    if scope["method"] not in _CHANGES:
        return b""
    parts = []
    size = 0
    while True:
        message = await receive()
        part = message.get("body", b"")
        size += len(part)
        if size > LARGEST_BODY:
            return None
        parts.append(part)
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body once, then what the client does."""
    waiting = [body]

    async def replay() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return replay

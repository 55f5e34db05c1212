"""Signing in: an API key is exchanged for a session cookie. Nothing is stored; a session ends with its key.

A cookie is signed with the hash of the key it was made from: whoever removes a key from API_KEYS ends its sessions, and
several servers with the same keys know the same sessions. Without keys everybody on this machine is signed in, and the
cookie only carries what protects forms.
"""

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fastapi import Request, Response

from realestate.web.keys import Key

COOKIE = "realestate_session"
#: A session lasts this long; people sign in about once a day.
SESSION_SECONDS = 12 * 3600
#: The field of a form, and the header of a request by a script.
CSRF_FIELD = "csrf"
CSRF_HEADER = "x-csrf"
_MASK_BYTES = 16


@dataclass(frozen=True, slots=True)
class Signer:
    """A key as far as sessions need it: its name, what it may do, and a secret derived from it."""

    name: str
    scopes: frozenset[str]
    secret: bytes


@dataclass(frozen=True, slots=True)
class Session:
    """Who looks at the pages, and what they may do."""

    name: str
    """The name of the key; empty where no keys are configured."""
    scopes: frozenset[str]
    id: str
    secret: bytes

    @property
    def may_operate(self) -> bool:
        return "operate" in self.scopes

    def csrf(self) -> str:
        """A token for a form: another one each time, so that compression does not give it away."""
        mask = secrets.token_hex(_MASK_BYTES)
        return mask + _sign(self.secret, "csrf", self.id, mask)

    def is_csrf(self, token: str) -> bool:
        mask = token[: 2 * _MASK_BYTES]
        return _equal(token, mask + _sign(self.secret, "csrf", self.id, mask))

    def write(self, text: str) -> str:
        """The text for an address of this session. A link that somebody else made cannot put words on our pages."""
        packed = _packed(text[:500])
        return f"{packed}.{_sign(self.secret, 'text', self.id, packed)}"

    def read(self, written: str) -> str:
        """A text of `write`; empty if it is not one of this session."""
        packed, _, signature = written.partition(".")
        return _unpacked(packed) if _equal(signature, _sign(self.secret, "text", self.id, packed)) else ""


class Sessions:
    """Makes and reads session cookies. `signers` are the keys by their names; none: everybody is signed in."""

    def __init__(self, signers: Mapping[str, Signer], clock: Callable[[], float] = time.time) -> None:
        self.signers = signers
        self.clock = clock
        self._everybody = Signer("", frozenset({"read", "operate"}), secrets.token_bytes(32))

    @property
    def are_needed(self) -> bool:
        return bool(self.signers)

    def begin(self, response: Response, name: str, *, is_https: bool) -> Session:
        """Set the cookie of a new session."""
        signer = self._signer(name)
        id = secrets.token_urlsafe(12)
        text = f"{int(self.clock()) + SESSION_SECONDS}.{id}.{_packed(signer.name)}"
        response.set_cookie(
            COOKIE,
            f"{text}.{_sign(signer.secret, 'session', text)}",
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="strict",
            secure=is_https,
            path="/",
        )
        return Session(signer.name, signer.scopes, id, signer.secret)

    def end(self, response: Response) -> None:
        response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")

    def of(self, request: Request) -> Session | None:
        """The session of a request; None if it has none, or if it ended."""
        text, _, signature = request.cookies.get(COOKIE, "").rpartition(".")
        try:
            until, id, packed = text.split(".")
            name = _unpacked(packed)
            is_over = int(until) <= self.clock()
        except ValueError:
            return None
        signer = self.signers.get(name) if self.are_needed else self._everybody
        if signer is None or signer.name != name or is_over:
            return None
        if not _equal(signature, _sign(signer.secret, "session", text)):
            return None
        return Session(name, signer.scopes, id, signer.secret)

    def _signer(self, name: str) -> Signer:
        return self.signers[name] if self.are_needed else self._everybody


def signers_of(keys: Mapping[str, Key]) -> dict[str, Signer]:
    """What sessions need of the keys. The secret is made from the hash of a key, so it changes with the key."""
    return {
        name: Signer(name, key.scopes, hashlib.sha256(b"realestate session" + key.digest).digest())
        for name, key in keys.items()
    }


def _sign(secret: bytes, *texts: str) -> str:
    return hmac.new(secret, "\0".join(texts).encode(), hashlib.sha256).hexdigest()


def _equal(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), right.encode())


def _packed(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")


def _unpacked(packed: str) -> str:
    return base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)).decode()

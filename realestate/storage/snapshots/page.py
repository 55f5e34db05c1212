"""A raw page as it is kept, and its index row."""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha1
from typing import Any, Literal, Self, get_args
from urllib.parse import quote, urlsplit

from realestate.storage.errors import StoreError

Kind = Literal["failed", "sampled", "all"]
"""Why a page was kept: its parser or its listing failed, it was one of a sample, or all are kept."""

KINDS: tuple[Kind, ...] = get_args(Kind)

#: Headers that may contain personal data or credentials. No parser needs them.
_SECRET = re.compile(r"cookie|auth|token|session|csrf|xsrf|secret|api-?key", re.IGNORECASE)
#: The characters of a header's name (RFC 9110). Any other could be read as the start of another header.
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BREAKS = re.compile(r"[\r\n\0]+")
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


class SnapshotError(StoreError):
    """Snapshots cannot be kept or read as configured. The message is shown to the user."""


class DamagedSnapshot(SnapshotError):
    """The bytes in the file are not the page that was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A response as the parser received it: decompressed, after redirects. Of the request, only the URL is kept."""

    portal: str
    url: str
    status: int
    headers: tuple[tuple[str, str], ...] = ()
    """In the order and spelling of the site, decoded as latin-1."""

    body: bytes
    fetched_at: datetime
    kind: Kind
    stage: str
    """`discover` or `extract`: the parser of the portal that reads it."""

    ref: str | None = None
    """The portal's id of the listing, if the URL contains it."""

    job: str | None = None
    hints: Mapping[str, Any] = field(default_factory=dict)
    """What the search page said about the listing, and the parser needs. JSON values only."""

    def fit_to_keep(self) -> Self:
        """Return the page without secret headers, and without line breaks in headers or URL."""
        return replace(self, url=_plain(self.url), headers=tuple(_kept(self.headers)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRef:
    """The index row of one page: the place of its record. It holds URLs and ids, no content of the page."""

    portal: str
    url: str
    ref: str | None
    stage: str
    job: str | None
    kind: Kind
    status: int
    fetched_at: datetime
    file: str
    """The path below the folder or bucket, so that these can be moved."""

    offset: int
    length: int
    digest: str
    """Of the body; see `digest_of`."""

    @classmethod
    def of(cls, page: Page, file: str, offset: int, length: int) -> Self:
        return cls(
            portal=page.portal,
            url=page.url,
            ref=page.ref,
            stage=page.stage,
            job=page.job,
            kind=page.kind,
            status=page.status,
            fetched_at=page.fetched_at,
            file=file,
            offset=offset,
            length=length,
            digest=digest_of(page.body),
        )


def digest_of(body: bytes) -> str:
    """Return the SHA-1 of the body in the form that WARC uses."""
    return "sha1:" + base64.b32encode(sha1(body, usedforsecurity=False).digest()).decode()


def _plain(url: str) -> str:
    """Return the URL in printable ASCII, without user name and password."""
    ascii_only = quote(url.encode("utf-8", "replace"), safe=_PRINTABLE)
    parts = urlsplit(ascii_only)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if "@" in parts.netloc else ascii_only


def _kept(headers: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    return [
        (name, _BREAKS.sub(" ", value).strip())
        for name, value in headers
        if _NAME.fullmatch(name) and not _SECRET.search(name)
    ]

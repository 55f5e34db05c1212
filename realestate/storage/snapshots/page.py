"""What is kept of a page, and the row by which it is found again."""

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

#: Headers that may name a person or open a door. A parser needs none of them.
_SECRET = re.compile(r"cookie|auth|token|session|csrf|xsrf|secret|api-?key", re.IGNORECASE)
#: What a header's name is made of (RFC 9110); anything else could be taken for another header.
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BREAKS = re.compile(r"[\r\n\0]+")
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


class SnapshotError(StoreError):
    """Snapshots cannot be kept or read as configured; the text is for a person."""


class DamagedSnapshot(SnapshotError):
    """What stands there is not the page that was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """An answer as its parser saw it: decompressed, after redirects; nothing of the request but its address."""

    portal: str
    url: str
    status: int
    headers: tuple[tuple[str, str], ...] = ()
    """In the site's order and spelling, bytes as latin-1."""

    body: bytes
    fetched_at: datetime
    kind: Kind
    stage: str
    """`discover` or `extract`: which of the portal's parsers reads it."""

    ref: str | None = None
    """The portal's id of the listing, where the address tells one."""

    job: str | None = None
    hints: Mapping[str, Any] = field(default_factory=dict)
    """What the parser knew from the search page beside the page; plain JSON values."""

    def fit_to_keep(self) -> Self:
        """Without secrets, and without anything that could pass for more lines than it is."""
        return replace(self, url=_plain(self.url), headers=tuple(_kept(self.headers)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRef:
    """The index row of one page: where its record stands. Holds addresses and ids, nothing a page says."""

    portal: str
    url: str
    ref: str | None
    stage: str
    job: str | None
    kind: Kind
    status: int
    fetched_at: datetime
    file: str
    """Below the folder or bucket, so that those may move."""

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
    """As WARC writes it."""
    return "sha1:" + base64.b32encode(sha1(body, usedforsecurity=False).digest()).decode()


def _plain(url: str) -> str:
    """In printable ASCII, without a login."""
    ascii_only = quote(url.encode("utf-8", "replace"), safe=_PRINTABLE)
    parts = urlsplit(ascii_only)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if "@" in parts.netloc else ascii_only


def _kept(headers: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    return [
        (name, _BREAKS.sub(" ", value).strip())
        for name, value in headers
        if _NAME.fullmatch(name) and not _SECRET.search(name)
    ]

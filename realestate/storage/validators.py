"""By what a site can be asked whether a listing's page is still as we read it: its ETag, its Last-Modified.

They are no part of the listing. They hold only while the store has what was read from that very page, which its content
hash tells: whatever else changes the listing (a search page's price, a correction) makes them void without a word.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import NamedTuple

from realestate.items import Listing

#: However often a site says that nothing changed, its page is read as a whole after so long: a site may be wrong.
TRUSTED = timedelta(days=30)
#: No honest one is longer.
LONGEST, LONGEST_URL = 256, 2048
_ETAG = re.compile(r'(W/)?"[\x21\x23-\x7e]+"')


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRead:
    """A listing's page as it was read: what the site calls this version, and what we made of it."""

    portal: str
    ref: str
    url: str
    """Where it was, after all redirects: what is said of one address holds for no other."""
    etag: str | None
    last_modified: str | None
    content_hash: str
    parser_version: int


class Validators(NamedTuple):
    """What to ask with, and what some portals tell on search pages alone: if they tell another now, the page has to be
    read."""

    url: str
    etag: str | None
    last_modified: str | None
    rent_period: str | None


def page_read(listing: Listing, url: str, *, etag: str, last_modified: str, date: str) -> PageRead | None:
    """What is kept of the page the listing was read from, by its headers; None if there is nothing to ask with."""
    if listing.content_hash is None or not _fits(listing.ref, LONGEST) or not _fits(url, LONGEST_URL):
        return None
    version = etag if _fits(etag, LONGEST) and _ETAG.fullmatch(etag) else None
    changed = last_modified if _fits(last_modified, LONGEST) and _is_past(last_modified, date) else None
    if version is None and changed is None:
        return None
    return PageRead(
        portal=listing.portal,
        ref=listing.ref,
        url=url,
        etag=version,
        last_modified=changed,
        content_hash=listing.content_hash,
        parser_version=listing.parser_version,
    )


def _fits(text: str, longest: int) -> bool:
    return 0 < len(text) <= longest and text.isprintable() and text.isascii()


def _is_past(last_modified: str, date: str) -> bool:
    """A moment, and by the site's own clock none that is still to come: asked with that, it would never say more."""
    changed, now = _moment(last_modified), _moment(date)
    return changed is not None and (now is None or changed <= now)


@lru_cache(maxsize=64)  # a site's clock says the same for many pages
def _moment(text: str) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return parsed if parsed.tzinfo else None

"""Validators of listings' pages: the ETag and Last-Modified headers that a conditional request sends.

They are not part of the listing. They are valid only while the stored content hash is that of the page they came with.
Any other change of the listing (a price from a search page, a correction) makes them invalid.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import NamedTuple

from realestate.items import Listing

#: After this long the page is fetched in full, even if the site says that it is unchanged: the site may be wrong.
TRUSTED = timedelta(days=30)
#: Longer values are ignored: real validators and URLs are shorter.
LONGEST = 256
LONGEST_URL = 2048
_ETAG = re.compile(r'(W/)?"[\x21\x23-\x7e]+"')


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRead:
    """The validators of a listing's page, and the content hash of what was parsed from it."""

    portal: str
    ref: str
    url: str
    """The URL after all redirects. Validators are valid for this URL only."""
    etag: str | None
    last_modified: str | None
    content_hash: str
    parser_version: int


class Validators(NamedTuple):
    """The values for a conditional request, and the stored rent period. Some portals show the rent period on search
    pages only: if it differs now, the page has to be fetched in full."""

    url: str
    etag: str | None
    last_modified: str | None
    rent_period: str | None


def page_read(listing: Listing, url: str, *, etag: str, last_modified: str, date: str) -> PageRead | None:
    """Return the validators of the page that the listing was read from, or None if its headers have no usable one."""
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
    """Whether Last-Modified is a valid time that is not in the future by the site's clock. With a time in the future,
    the site would answer 304 for ever."""
    changed = _parsed_time(last_modified)
    now = _parsed_time(date)
    return changed is not None and (now is None or changed <= now)


@lru_cache(maxsize=64)  # many pages of a site have the same Date
def _parsed_time(text: str) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return parsed if parsed.tzinfo else None

"""The Atom feed of a saved search (RFC 4287): the listings that match, the last changed ones first."""

import re
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree

from realestate.searches.messages import map_of, price_of
from realestate.storage.query import ListingQuery, QueryStore, parse_filter
from realestate.storage.searches import Search

ENTRIES = 50
MEDIA_TYPE = "application/atom+xml; charset=utf-8"
_ATOM = "http://www.w3.org/2005/Atom"
#: Everything but `Char` of XML 1.0.
_FORBIDDEN = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FIELDS = (
    "portal",
    "ref",
    "url",
    "title",
    "property_type",
    "price",
    "currency",
    "price_basis",
    "rent_period",
    "latitude",
    "longitude",
    "photo",
    "status",
    "city",
    "first_seen_at",
    "changed_at",
)


def feed_of(store: QueryStore, search: Search, address: str) -> bytes:
    """The feed as XML. `address` is where it is served. A listing that changes is a new entry."""
    query = ListingQuery(filter=parse_filter(search.filter), sort="-changed_at", fields=_FIELDS, page_size=ENTRIES)
    rows = store.search(query).rows
    ElementTree.register_namespace("", _ATOM)
    feed = ElementTree.Element(f"{{{_ATOM}}}feed")
    _add(feed, "id", f"urn:uuid:{search.id}")
    _add(feed, "title", search.name)
    _add(feed, "updated", _time(rows[0]["changed_at"] if rows else search.created_at))
    _add(feed, "link", rel="self", href=address)
    _add(_add(feed, "author"), "name", "realestate")
    for row in rows:
        _entry(feed, row)
    text: bytes = ElementTree.tostring(feed, "utf-8", xml_declaration=True)
    return text


def _entry(feed: ElementTree.Element, row: dict[str, Any]) -> None:
    entry = _add(feed, "entry")
    changed_at = _time(row["changed_at"])
    _add(entry, "id", f"{row['url']}#{changed_at}")
    price = price_of(row)
    title = " · ".join(filter(None, (row["title"] or row["property_type"] or "A home", row["city"], price)))
    _add(entry, "title", title)
    _add(entry, "updated", changed_at)
    _add(entry, "published", _time(row["first_seen_at"]))
    _add(entry, "link", rel="alternate", href=row["url"])
    if map_link := map_of(row):
        _add(entry, "link", rel="related", href=map_link, title="Map")
    if row["photo"]:
        _add(entry, "link", rel="enclosure", href=row["photo"], type="image/jpeg")
    _add(entry, "category", term=row["status"])
    _add(entry, "summary", title)


def _add(parent: ElementTree.Element, name: str, text: str | None = None, **attributes: str) -> ElementTree.Element:
    kept = {key: _storable(value) for key, value in attributes.items()}
    element = ElementTree.SubElement(parent, f"{{{_ATOM}}}{name}", kept)
    element.text = text and _storable(text)
    return element


def _storable(text: str) -> str:
    """Without the characters that XML forbids."""
    return _FORBIDDEN.sub("", text)


def _time(value: datetime) -> str:
    return value.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

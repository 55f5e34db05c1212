"""Converts listings, events and prices to documents and back.

A value that is None has no field. Money is a plain number, exact to the cent. Times are cut to milliseconds, as MongoDB
keeps no more. What some servers compatible with MongoDB refuse (keys with a dot, lists in lists) is kept as JSON text.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import bson
import msgspec
from bson.raw_bson import RawBSONDocument

from realestate.items import FIELDS, Listing
from realestate.storage.field_types import FIELD_TYPES, FieldType
from realestate.storage.history import Event, PriceSeen, State, Suspect
from realestate.storage.maintenance import InQuarantine
from realestate.storage.mongo.connection import Document, Refused
from realestate.storage.prices import cents
from realestate.storage.sanitize import storable
from realestate.storage.snapshots import SnapshotRef

#: The limit of MongoDB.
_LARGEST_BYTES = 16 * 1024 * 1024
#: As in PostgreSQL. A float is exact to the cent up to here.
_DEAREST = Decimal(10) ** 12
_OF_THE_LISTING = {"portal", "ref"}

_JSON = msgspec.json.Encoder(enc_hook=repr)


def id_of(portal: str, ref: str) -> str:
    """Return the `_id` of a listing. A portal's name has no colon, so the first colon ends it."""
    return f"{portal}:{ref}"


def ids_of_portal(portal: str) -> Document:
    """Return a filter for all `_id`s that begin with the portal's name and a colon. The character after the colon
    is the semicolon."""
    return {"$gt": f"{portal}:", "$lt": f"{portal};"}


# ----- values


def amount(value: Decimal) -> int | float:
    exact = cents(value)
    if not abs(exact) < _DEAREST:
        raise Refused(f"{value} is not an amount of money")
    return int(exact) if exact == exact.to_integral_value() else float(exact)


def money(value: float) -> Decimal:
    return cents(Decimal(str(value)))


def stored_time(value: datetime) -> datetime:
    if not isinstance(value, datetime):
        raise Refused(f"{value!r} is not a time with a time zone")
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return aware.replace(microsecond=aware.microsecond // 1000 * 1000)


def packed(value: Mapping[str, Any]) -> Any:
    return value if _is_plain(value) else bytes(_JSON.encode(value)).decode()


def unpacked(value: Any) -> Any:
    return msgspec.json.decode(value) if isinstance(value, str) else value


def _is_plain(value: Any, *, within_list: bool = False) -> bool:
    match value:
        case None | bool() | str():
            return True
        case int():
            return abs(value) < 2**63
        case float():
            return math.isfinite(value)
        case list():
            return not within_list and all(_is_plain(each, within_list=True) for each in value)
        case dict():
            return all(map(_is_name, value)) and all(map(_is_plain, value.values()))
        case _:
            return False


def _is_name(key: Any) -> bool:
    return isinstance(key, str) and key != "" and not key.startswith("$") and "." not in key and "\0" not in key


# ----- listings

#: type of a field -> function that writes its values. Other types are written as they are.
_WRITE_TYPES: dict[FieldType, Callable[[Any], Any]] = {
    float: float,
    Decimal: amount,
    datetime: stored_time,
    tuple: lambda interval: [stored_time(each) for each in interval],
    frozenset: sorted,
    dict: packed,
}
#: type of a field -> function that reads its values.
_READ_TYPES: dict[FieldType, Callable[[Any], Any]] = {
    Decimal: money,
    tuple: tuple,
    frozenset: frozenset,
    dict: unpacked,
}
_WRITE = {name: _WRITE_TYPES[type] for name, type in FIELD_TYPES.items() if type in _WRITE_TYPES}
_READ = {name: _READ_TYPES[type] for name, type in FIELD_TYPES.items() if type in _READ_TYPES}


def as_kept(listing: Listing) -> Listing:
    """Return the listing with the portal's times cut as MongoDB stores them. Otherwise the next comparison would find
    them changed."""
    posted_at, updated_at = (value and stored_time(value) for value in (listing.posted_at, listing.updated_at))
    if (posted_at, updated_at) == (listing.posted_at, listing.updated_at):
        return listing
    return replace(listing, posted_at=posted_at, updated_at=updated_at)


def listing_document(listing: Listing) -> Document:
    document = {name: getattr(listing, name) for name in FIELDS}
    for name, convert in _WRITE.items():
        if document[name] is not None:
            document[name] = convert(document[name])
    return document


def state_document(state: State) -> Document:
    """Return the document of a listing without its events and prices."""
    suspect = state.suspect and {"price": amount(state.suspect.price), "job": state.suspect.job}
    return {**listing_document(state.listing), "revision": state.revision, "suspect": suspect}


def listing_of(document: Document) -> Listing:
    """A field that the document does not have keeps its default: the document may be older than the field."""
    values = {name: document[name] for name in FIELDS if name in document}
    for name, convert in _READ.items():
        if values.get(name) is not None:
            values[name] = convert(values[name])
    return Listing(**values)


def state_of(document: Document) -> State:
    suspect = document.get("suspect")
    doubt = Suspect(money(suspect["price"]), suspect["job"]) if suspect else None
    return State(listing_of(document), document["revision"], doubt, document.get("price_sighted_at"))


def screened(document: Document) -> RawBSONDocument:
    """Return the document encoded. Raises Refused for what a server would refuse, perhaps by closing the connection."""
    _screen(document)
    encoded = bson.encode(document)
    if len(encoded) > _LARGEST_BYTES:
        raise Refused(f"the document has {len(encoded)} bytes, which is too long")
    return RawBSONDocument(encoded)


def _screen(value: Any) -> None:
    if isinstance(value, dict):
        for each in value.values():
            _screen(each)
    elif isinstance(value, list):
        for each in value:
            _screen(each)
            if isinstance(each, list):
                raise Refused("a list within a list")
    elif isinstance(value, float) and not math.isfinite(value):
        raise Refused(f"{value} is not a number")


# ----- events and prices

_PRICE = tuple(each.name for each in fields(PriceSeen) if each.name not in _OF_THE_LISTING)


def event_document(event: Event) -> Document:
    values = {"revision": event.revision, "type": event.type, "at": stored_time(event.at), "job": event.job}
    return {**values, "data": packed(event.data)}


def event_of(portal: str, ref: str, document: Document) -> Event:
    values = {name: document[name] for name in ("revision", "type", "at", "job")}
    return Event(portal, ref, **values, data=unpacked(document["data"]))


def price_document(seen: PriceSeen) -> Document:
    document = {name: getattr(seen, name) for name in _PRICE}
    return {**document, "at": stored_time(seen.at), "price": None if seen.price is None else amount(seen.price)}


def price_of(portal: str, ref: str, document: Document) -> PriceSeen:
    values = {name: document[name] for name in _PRICE}
    price = values.pop("price")
    return PriceSeen(portal, ref, **values, price=None if price is None else money(price))


# ----- quarantine and the index of raw pages

_PAGE_FIELDS = tuple(each.name for each in fields(SnapshotRef))


def page_document(place: SnapshotRef) -> Document:
    values: Document = storable(asdict(place))
    job = values.pop("job")
    name = f"{place.file}:{place.offset}"
    return {"_id": storable(name), **values, "job": job, "fetched_at": stored_time(place.fetched_at)}


def page_of(document: Document) -> SnapshotRef:
    values = {**document, "job": document["job"]}
    return SnapshotRef(**{name: values[name] for name in _PAGE_FIELDS})


def entry_name(portal: str, id: str) -> str:
    return f"{portal}:{id}"


def entry_of(document: Document) -> InQuarantine:
    values = {name: document[name] for name in ("portal", "ref", "url")}
    id = document["_id"].removeprefix(entry_name(values["portal"], ""))
    errors = tuple(document["errors"])
    return InQuarantine(
        id=id, **values, errors=errors, record=unpacked(document["record"]), at=document["quarantined_at"]
    )


def entry_document(entry: InQuarantine) -> Document:
    values = {"portal": entry.portal, "ref": entry.ref, "url": entry.url, "errors": list(entry.errors)}
    name = entry_name(entry.portal, entry.id)
    return {"_id": name, **values, "record": packed(entry.record), "quarantined_at": stored_time(entry.at)}

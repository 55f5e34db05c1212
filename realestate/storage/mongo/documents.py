"""Listings and what happened to them, as documents.

What is None has no field. Money is a plain number, exact to the cent; moments are cut to the millisecond MongoDB keeps.
Whatever some server of MongoDB's kind does not take as it is (keys with a dot, lists in lists) is kept as JSON text.
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
from realestate.storage.history import Event, PriceSeen, State, Suspect
from realestate.storage.maintenance import InQuarantine
from realestate.storage.mongo.connection import Document, Refused
from realestate.storage.prices import cents
from realestate.storage.sanitize import storable
from realestate.storage.snapshots import SnapshotRef

#: MongoDB's own limit.
_LARGEST_BYTES = 16 * 1024 * 1024
#: As in the other store, and what a number keeps to the cent.
_DEAREST = Decimal(10) ** 12
_AMOUNTS = ("price", "charges", "price_per_m2")
_MEASURES = ("area_m2", "plot_m2", "energy_kwh_m2", "latitude", "longitude")
_MOMENTS = ("posted_at", "updated_at", "first_seen_at", "last_seen_at", "last_fetched_at")
_OF_THE_LISTING = {"portal", "ref"}

_JSON = msgspec.json.Encoder(enc_hook=repr)


def id_of(portal: str, ref: str) -> str:
    """A portal's name is that of a Python module: the first colon ends it."""
    return f"{portal}:{ref}"


def ids_of_portal(portal: str) -> Document:
    """All that begin with the portal's name and a colon; the next character after it is a semicolon."""
    return {"$gt": f"{portal}:", "$lt": f"{portal};"}


# ----- values


def amount(value: Decimal) -> int | float:
    exact = cents(value)
    if not abs(exact) < _DEAREST:
        raise Refused(f"{value} is no amount of money")
    return int(exact) if exact == exact.to_integral_value() else float(exact)


def money(value: float) -> Decimal:
    return cents(Decimal(str(value)))


def moment(value: datetime) -> datetime:
    if not isinstance(value, datetime):
        raise Refused(f"{value!r} is no moment")
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

_WRITE: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_AMOUNTS, amount),
    **dict.fromkeys(_MEASURES, float),
    **dict.fromkeys(_MOMENTS, moment),
    "features": sorted,
    "quality_flags": sorted,
    "delisted_at": lambda interval: [moment(each) for each in interval],
    "extra": packed,
}
_READ: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_AMOUNTS, money),
    "features": frozenset,
    "quality_flags": frozenset,
    "delisted_at": tuple,
    "extra": unpacked,
}


def as_kept(listing: Listing) -> Listing:
    """With the portal's clock as it will be read again: else every look would find it changed."""
    posted_at, updated_at = (value and moment(value) for value in (listing.posted_at, listing.updated_at))
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
    """All of a listing but what happened to it."""
    suspect = state.suspect and {"price": amount(state.suspect.price), "job": state.suspect.job}
    return {**listing_document(state.listing), "revision": state.revision, "suspect": suspect}


def listing_of(document: Document) -> Listing:
    values = {name: document.get(name) for name in FIELDS}
    for name, convert in _READ.items():
        if values[name] is not None:
            values[name] = convert(values[name])
    return Listing(**values)  # type: ignore[arg-type]


def state_of(document: Document) -> State:
    suspect = document.get("suspect")
    doubt = Suspect(money(suspect["price"]), suspect["job"]) if suspect else None
    return State(listing_of(document), document["revision"], doubt)


def screened(document: Document) -> RawBSONDocument:
    """Encoded. What a server would refuse, perhaps by hanging up, is refused here, by itself."""
    _screen(document)
    encoded = bson.encode(document)
    if len(encoded) > _LARGEST_BYTES:
        raise Refused(f"{len(encoded)} bytes are more than a document may have")
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
        raise Refused(f"{value} is no number")


# ----- what happened to a listing

_PRICE = tuple(each.name for each in fields(PriceSeen) if each.name not in _OF_THE_LISTING)


def event_document(event: Event) -> Document:
    told = {"revision": event.revision, "type": event.type, "at": moment(event.at), "job": event.job}
    return {**told, "data": packed(event.data)}


def event_of(portal: str, ref: str, document: Document) -> Event:
    told = {name: document[name] for name in ("revision", "type", "at", "job")}
    return Event(portal, ref, **told, data=unpacked(document["data"]))


def price_document(seen: PriceSeen) -> Document:
    document = {name: getattr(seen, name) for name in _PRICE}
    return {**document, "at": moment(seen.at), "price": None if seen.price is None else amount(seen.price)}


def price_of(portal: str, ref: str, document: Document) -> PriceSeen:
    told = {name: document[name] for name in _PRICE}
    price = told.pop("price")
    return PriceSeen(portal, ref, **told, price=None if price is None else money(price))


# ----- quarantine and the index of raw pages

_PAGE_FIELDS = tuple(each.name for each in fields(SnapshotRef))


def page_document(place: SnapshotRef) -> Document:
    told: Document = storable(asdict(place))
    job, name = told.pop("job"), f"{place.file}:{place.offset}"
    return {"_id": storable(name), **told, "job": job, "fetched_at": moment(place.fetched_at)}


def page_of(document: Document) -> SnapshotRef:
    told = {**document, "job": document["job"]}
    return SnapshotRef(**{name: told[name] for name in _PAGE_FIELDS})


def entry_name(portal: str, id: str) -> str:
    return f"{portal}:{id}"


def entry_of(document: Document) -> InQuarantine:
    told = {name: document[name] for name in ("portal", "ref", "url")}
    id, errors = document["_id"].removeprefix(entry_name(told["portal"], "")), tuple(document["errors"])
    return InQuarantine(
        id=id, **told, errors=errors, record=unpacked(document["record"]), at=document["quarantined_at"]
    )


def entry_document(entry: InQuarantine) -> Document:
    told = {"portal": entry.portal, "ref": entry.ref, "url": entry.url, "errors": list(entry.errors)}
    name = entry_name(entry.portal, entry.id)
    return {"_id": name, **told, "record": packed(entry.record), "quarantined_at": moment(entry.at)}

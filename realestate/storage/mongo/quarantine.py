"""What failed validation, or MongoDB itself: kept whatever it is made of."""

from collections.abc import Iterable
from datetime import datetime

from bson.raw_bson import RawBSONDocument
from pymongo import InsertOne
from pymongo.database import Database

from realestate.storage.errors import StoreError
from realestate.storage.keeping import InQuarantine
from realestate.storage.mongo.connection import Document, Refused, bulk
from realestate.storage.mongo.documents import moment, packed, screened, unpacked
from realestate.storage.storable import fingerprint, storable
from realestate.storage.store import Quarantined

#: Characters of a field of something too long.
_SHORT = 10_000


def quarantine(database: Database[Document], items: Iterable[Quarantined], now: datetime) -> None:
    """The same fault is kept once."""
    inserts = [InsertOne(_taken({**_document(item), "quarantined_at": now})) for item in items]
    if refused := bulk(database["quarantine"], inserts).refused:
        raise StoreError(f"MongoDB refuses even to quarantine: {next(iter(refused.values()))}")


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


def _taken(document: Document) -> RawBSONDocument:
    """What is too long for a document is kept as far as it goes."""
    try:
        return screened(document)
    except Refused:
        short = {name: str(value)[:_SHORT] for name, value in unpacked(document["record"]).items()}
        errors = [error[:_SHORT] for error in document["errors"]]
        return screened({**document, "errors": errors, "record": short})


def _document(item: Quarantined) -> Document:
    told: Document = storable({"portal": item.portal, "ref": item.ref, "url": item.url, "errors": list(item.errors)})
    record = storable(dict(item.record))
    name = entry_name(told["portal"], fingerprint([told["errors"], record]))
    return {"_id": name, **told, "record": packed(record)}

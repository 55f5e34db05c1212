"""What failed validation, or MongoDB itself: kept whatever it is made of."""

from collections.abc import Iterable
from datetime import datetime

from pymongo import InsertOne
from pymongo.database import Database

from realestate.storage.errors import StoreError
from realestate.storage.mongo.connection import Document, bulk
from realestate.storage.mongo.documents import packed, screened
from realestate.storage.storable import fingerprint, storable
from realestate.storage.store import Quarantined


def quarantine(database: Database[Document], items: Iterable[Quarantined], now: datetime) -> None:
    """The same fault is kept once."""
    inserts = [InsertOne(screened({**_document(item), "quarantined_at": now})) for item in items]
    if refused := bulk(database["quarantine"], inserts).refused:
        raise StoreError(f"MongoDB refuses even to quarantine: {next(iter(refused.values()))}")


def _document(item: Quarantined) -> Document:
    told: Document = storable({"portal": item.portal, "ref": item.ref, "url": item.url, "errors": list(item.errors)})
    record = storable(dict(item.record))
    name = f"{told['portal']}:{fingerprint([told['errors'], record])}"
    return {"_id": name, **told, "record": packed(record)}

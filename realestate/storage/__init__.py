"""All database access. No other package connects to a database."""

import re

from realestate.storage.errors import StoreAway, StoreError
from realestate.storage.maintenance import FullStore
from realestate.storage.store import WHOLE, Batch, Quarantined, Store, Written

__all__ = ["WHOLE", "Batch", "FullStore", "Quarantined", "Store", "StoreAway", "StoreError", "Written", "open_store"]


def open_store(url: str | None) -> FullStore:
    """Return the store of STORE_URL. It connects when it is first used."""
    if not url:
        raise StoreError("STORE_URL is not set: set it to a postgresql:// or mongodb:// URL")
    if url.startswith(("postgresql://", "postgres://")):
        from realestate.storage.postgres import PostgresStore

        return PostgresStore(url)
    if url.startswith(("mongodb://", "mongodb+srv://")):
        from realestate.storage.mongo import MongoStore

        return MongoStore(url)
    scheme, is_url, _ = url.partition("://")
    begins = (
        f"begins with {scheme!r}" if is_url and re.fullmatch("[A-Za-z][A-Za-z0-9+.-]{0,30}", scheme) else "is not a URL"
    )
    raise StoreError(f"STORE_URL {begins}: a postgresql:// or mongodb:// URL is needed")

"""All database access. No other package connects to a database."""

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
    scheme, separator, _ = url.partition("://")
    begin = f"begins with {scheme[:20]!r}" if separator else "has no scheme"  # the rest may contain a password
    raise StoreError(f"STORE_URL {begin}: a postgresql:// or mongodb:// URL is needed")

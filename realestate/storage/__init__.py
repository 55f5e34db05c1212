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
    raise StoreError(f"STORE_URL begins with {url.split(':')[0]!r}: a postgresql:// or mongodb:// URL is needed")

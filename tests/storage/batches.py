"""Batches that tests write into a store."""

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from realestate.items import Evidence, Gone, Listing, Sighting, as_record
from realestate.pipelines.clean import clean
from realestate.storage import Batch, Quarantined, Store
from realestate.storage.history import Observed
from realestate.storage.orders import StoredOrder
from tests.examples import a_listing

PORTAL = "immoweb"


def page(ref: str = "1", **changes: Any) -> Listing:
    """A listing as it comes out of the pipelines."""
    return clean(a_listing(ref=ref, url=f"https://www.immoweb.be/en/classified/{ref}", **changes))


def card(ref: str = "1", price: Any = None, **fields: Any) -> Sighting:
    amount = None if price is None else Decimal(price)
    return Sighting(portal=PORTAL, ref=ref, url="https://x.example/", price=amount, **fields)


def gone(ref: str = "1", evidence: Evidence = "404") -> Gone:
    return Gone(portal=PORTAL, ref=ref, url="https://x.example/", evidence=evidence, detail="status 404")


def quarantined(ref: str = "9") -> Quarantined:
    record = as_record(a_listing(ref=ref))
    return Quarantined(portal=PORTAL, ref=ref, url="https://x.example/", errors=("price: bad",), record=record)


def batch(*observed: Observed, job: str = "job") -> Batch:
    return Batch([(item, job) for item in observed])


def pages(count: int, **changes: Any) -> list[Listing]:
    return [page(str(number), **changes) for number in range(count)]


def refs(listings: Iterable[Listing]) -> list[str]:
    return [listing.ref for listing in listings]


def types(store: Store, ref: str = "1") -> list[str]:
    return [event.type for event in store.history(PORTAL, ref)]


def record(store: Store, ref: str = "1") -> dict[str, Any]:
    (found,) = (each for each in store.records(PORTAL) if each["ref"] == ref)
    return found


def later() -> None:
    """Wait until the clock of every database has moved on."""
    time.sleep(0.002)


def all_events(store: Store, page_size: int = 1000) -> list[Any]:
    found: list[Any] = []
    while some := store.events(found[-1].seq if found else 0, page_size):
        found += some
    return found


def an_order(job: str, *, portal: str = PORTAL, key: str | None = None, content: Any = None) -> StoredOrder:
    """A submitted job."""
    return StoredOrder(
        job=job,
        portal=portal,
        key=key,
        content=content or {"portal": portal},
        seeds=["{}"],
        events_after=0,
        submitted_at=datetime(1970, 1, 1, tzinfo=UTC),
    )

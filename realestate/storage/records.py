"""The records of a backup. They do not depend on the kind of database."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict, get_type_hints

import msgspec

from realestate.items import Listing
from realestate.storage.contacts import Source
from realestate.storage.history import PriceSeen, Suspect
from realestate.storage.maintenance import InQuarantine
from realestate.storage.orders import StoredOrder
from realestate.storage.other_kinds import StoredOther
from realestate.storage.snapshots import SnapshotRef
from realestate.storage.store import Job, Numbered


@dataclass(frozen=True, slots=True)
class StoredListing:
    listing: dict[str, Any]
    """As `items.as_record` returns it."""
    revision: int
    last_job: str
    suspect: Suspect | None
    price_sighted_at: datetime | None = None
    """When a search page last showed the price. Files before version 4 do not have it."""


@dataclass(frozen=True, slots=True)
class Numbering:
    """The highest number that an event ever had; that event may have been erased."""

    last_seq: int


@dataclass(frozen=True, slots=True)
class StoredJob:
    job: Job
    offered: int
    """Number of offered listings at the time of its verdict."""


@dataclass(frozen=True, slots=True)
class Departure:
    """Evidence that a listing is gone."""

    job: str
    portal: str
    ref: str
    evidence: str
    detail: str
    url: str
    at: datetime
    weighed: bool


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """A search of a job, or a part of a search: see `items.Part`."""

    job: str
    portal: str
    search: str
    parent: str | None
    total: int | None
    is_split: bool
    newest: int | None


@dataclass(frozen=True, slots=True)
class Watermark:
    portal: str
    scope: str
    value: str
    job: str
    set_at: datetime


@dataclass(frozen=True, slots=True)
class SealedContacts:
    """Encrypted contacts of a listing."""

    portal: str
    ref: str
    sealed: bytes
    lookups: list[str]
    expires_at: datetime
    source: Source = "page"
    """Older files have no source. Their contacts are from the page."""


@dataclass(frozen=True, slots=True)
class ErasedMark:
    kind: str
    """`listing` or `contact`."""
    what: str
    """`portal/ref`, or the mark of a contact."""
    at: datetime


#: name -> type of its records, in the order in which a backup has them.
PARTS: Mapping[str, type] = {
    "numbering": Numbering,
    "listings": StoredListing,
    "others": StoredOther,
    "events": Numbered,
    "prices": PriceSeen,
    "jobs": StoredJob,
    "job_orders": StoredOrder,
    "departures": Departure,
    "parts": PlannedPart,
    "watermarks": Watermark,
    "quarantine": InQuarantine,
    "snapshots": SnapshotRef,
    "contacts": SealedContacts,
    "erased": ErasedMark,
}


def erased_name(portal: str, ref: str) -> str:
    """The name of an erased listing. A portal's name has no slash, so the first slash ends it."""
    return f"{portal}/{ref}"


#: The fields of a listing with their types, without limits of values.
_FIELDS: Any = TypedDict("_FIELDS", get_type_hints(Listing), total=False)  # type: ignore[misc]


def listing_of(record: Mapping[str, Any]) -> Listing:
    """The inverse of `as_record`. Raises msgspec.ValidationError if a value is not of its type, TypeError if one that
    every listing has is missing."""
    values: dict[str, Any] = msgspec.convert(dict(record), _FIELDS)
    return Listing(**values)

"""Lets pass what failed validation, on a person's word: they have looked, and it is right."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

import msgspec

from realestate.items import Listing
from realestate.jobs.reparse import judge
from realestate.storage.maintenance import RELEASED, SLACK, InQuarantine, MaintenanceStore
from realestate.storage.prices import believable, rehashed
from realestate.storage.records import listing_of
from realestate.storage.snapshots import SnapshotRef


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an entry."""

    id: str
    portal: str
    ref: str
    stored: bool
    why: str = ""
    """It is not."""


def let_pass(store: MaintenanceStore, entries: Sequence[InQuarantine], *, dry_run: bool = False) -> list[Outcome]:
    job = f"release-{uuid4().hex[:12]}"
    return [_let_pass(store, entry, job, dry_run) for entry in entries]


def page_of(entry: InQuarantine, kept: Sequence[SnapshotRef]) -> SnapshotRef | None:
    """The raw page nearest before it; a worker's clock may be somewhat ahead of the database's."""
    before = [row for row in kept if row.fetched_at <= entry.at + SLACK]
    return max(before, key=lambda row: row.fetched_at, default=None)


def _let_pass(store: MaintenanceStore, entry: InQuarantine, job: str, dry_run: bool) -> Outcome:
    outcome = Outcome(entry.id, entry.portal, entry.ref, stored=False)
    try:
        listing = _as_it_is(entry)
    except (msgspec.ValidationError, TypeError, ValueError, ArithmeticError) as error:
        return replace(outcome, why=f"it is no listing: {error}; repair the parser and `realestate reparse`")
    known = store.current(entry.portal, [entry.ref]).get(entry.ref)
    if judge("failed", entry.at, known.state.listing if known else None) == "stale":
        return replace(outcome, why="a newer page of it is stored: drop this")
    if entry.ref in store.erased(entry.portal):
        return replace(outcome, why="it was erased: drop this")
    counts = {"released": 1} if dry_run else store.release([listing], job)
    return replace(outcome, stored=True) if counts.get("released") else replace(outcome, why="the database refuses it")


def _as_it_is(entry: InQuarantine) -> Listing:
    """With a word that a person let it pass."""
    listing = listing_of(entry.record)
    if (listing.portal, listing.ref) != (entry.portal, entry.ref):
        raise ValueError("it is of another listing")
    if listing.price is not None and not believable(listing.price):
        raise ValueError(f"{listing.price} is no price")
    return rehashed(replace(listing, quality_flags=listing.quality_flags | {RELEASED}, last_fetched_at=entry.at))

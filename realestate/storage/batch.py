"""The observations of a batch by listing, and the counts of its result; the same for every store."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import NamedTuple

from realestate.items import Listing, Sighting
from realestate.storage.clock import Dated, Seen
from realestate.storage.other_kinds import SeenOther
from realestate.storage.snapshots import SnapshotRef
from realestate.storage.store import Batch, Quarantined, Written

Key = tuple[str, str]
#: All observations of one listing.
Observations = Sequence[Seen]


def by_listing(batch: Batch) -> dict[Key, Observations]:
    found: dict[Key, list[Seen]] = {}
    for each in batch.observed:
        seen = each if isinstance(each, Seen) else Seen(*each)
        found.setdefault((seen.item.portal, seen.item.ref), []).append(seen)
    return dict(found)


def _has(observed: Observations, kind: type | tuple[type, ...]) -> bool:
    """A loop, because `any` with a generator is slower and this is called for every listing."""
    for item, _, _ in observed:  # noqa: SIM110
        if isinstance(item, kind):
            return True
    return False


class Times(NamedTuple):
    """The newest fetch that showed the listing, of its detail page, and of a search page with its price."""

    seen: datetime | None
    read: datetime | None
    price_sighted: datetime | None
    job: str
    """The job that saw it last."""


NOT_SEEN = Times(None, None, None, "")


def _shows_price(sighting: Sighting) -> bool:
    """Whether the search page shows the price: an amount, that it is on request, or that there is none any more."""
    is_final = sighting.price_basis == "on_request" or sighting.status in ("sold", "rented")
    return sighting.price is not None or is_final


def times_of(observed: Sequence[Dated]) -> Times:
    """`observed` is in the order of the fetches."""
    seen = read = sighted = None
    job = observed[-1].job
    for item, by, at in observed:
        if isinstance(item, Listing):
            seen = at
            read = at
            job = by
        elif isinstance(item, Sighting):
            seen = at
            job = by
            read = at if item.is_read else read
            sighted = at if _shows_price(item) else sighted
    return Times(seen, read, sighted, job)


@dataclass(slots=True)
class Tally:
    """The counts of a batch so far, and its quarantine entries and snapshots, which are written after the listings."""

    quarantined: list[Quarantined]
    snapshots: Sequence[SnapshotRef] = ()
    new: int = 0
    known: int = 0
    seen: int = 0
    kept: int = 0
    events: Counter[str] = field(default_factory=Counter)
    others: int = 0
    late: int = 0

    def count(self, observed: Observations, *, is_known: bool) -> None:
        if _has(observed, Listing):
            self.known += is_known
            self.new += not is_known
        self.seen += _has(observed, Sighting)

    def refuse(self, observed: Observations, error: object) -> None:
        self.quarantined += _refused(observed, f"refused by the database: {error}")

    def refuse_other(self, other: SeenOther, error: object) -> None:
        self.quarantined.append(Quarantined.of(other.item, f"refused by the database: {error}"))

    def written(self) -> Written:
        return Written(self.new, self.known, self.seen, self.kept, dict(self.events), self.others, self.late)


def _refused(observed: Observations, reason: str) -> Iterator[Quarantined]:
    """Yield an entry for each listing, or, if there is none, for each other observation."""
    listings = [item for item, _, _ in observed if isinstance(item, Listing)]
    if listings:
        yield from (Quarantined.of(listing, reason) for listing in listings)
        return
    for item, _, _ in observed:
        yield Quarantined(
            portal=item.portal, ref=str(item.ref), url=str(item.url), errors=(reason,), record=asdict(item)
        )

"""The observations of a batch by listing, and the counts of its result; the same for every store."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field

from realestate.items import Listing, Sighting
from realestate.items.others import Other
from realestate.storage.history import Observed
from realestate.storage.snapshots import SnapshotRef
from realestate.storage.store import Batch, Quarantined, Written

Key = tuple[str, str]
#: All observations of one listing, each with its job.
Observations = Sequence[tuple[Observed, str]]


_SIGHTS = (Listing, Sighting)


def by_listing(batch: Batch) -> dict[Key, Observations]:
    found: dict[Key, list[tuple[Observed, str]]] = {}
    for item, job in batch.observed:
        found.setdefault((item.portal, item.ref), []).append((item, job))
    return dict(found)


def _has(observed: Observations, kind: type | tuple[type, ...]) -> bool:
    """A loop, because `any` with a generator is slower and this is called for every listing."""
    for item, _ in observed:  # noqa: SIM110
        if isinstance(item, kind):
            return True
    return False


def is_seen(observed: Observations) -> bool:
    return _has(observed, _SIGHTS)


def is_read(observed: Observations) -> bool:
    """Whether the detail page was read, or the site said that it is unchanged."""
    for item, _ in observed:  # noqa: SIM110
        if isinstance(item, Listing) or (isinstance(item, Sighting) and item.is_read):
            return True
    return False


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

    def count(self, observed: Observations, *, is_known: bool) -> None:
        if _has(observed, Listing):
            self.known += is_known
            self.new += not is_known
        self.seen += _has(observed, Sighting)

    def refuse(self, observed: Observations, error: object) -> None:
        self.quarantined += _refused(observed, f"refused by the database: {error}")

    def refuse_other(self, other: tuple[Other, str], error: object) -> None:
        self.quarantined.append(Quarantined.of(other[0], f"refused by the database: {error}"))

    def written(self) -> Written:
        return Written(self.new, self.known, self.seen, self.kept, dict(self.events), self.others)


def _refused(observed: Observations, reason: str) -> Iterator[Quarantined]:
    """Yield an entry for each listing, or, if there is none, for each other observation."""
    listings = [item for item, _ in observed if isinstance(item, Listing)]
    if listings:
        yield from (Quarantined.of(listing, reason) for listing in listings)
        return
    for item, _ in observed:
        yield Quarantined(
            portal=item.portal, ref=str(item.ref), url=str(item.url), errors=(reason,), record=asdict(item)
        )

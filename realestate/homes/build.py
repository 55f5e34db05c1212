"""Builds the homes of a store: reads its listings, links them, and stores the homes as one."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any, TypeVar

import msgspec

from realestate.homes.clusters import Name, Pins, pinned
from realestate.homes.facts import Facts, facts_of_all
from realestate.homes.linkage import Clustering, cluster
from realestate.homes.scorer import Columns, Parameters, features, shipped
from realestate.items import Listing
from realestate.storage import FullStore
from realestate.storage.homes import Clustered, Home, HomeLink, HomesRun, Member, Reason

T = TypeVar("T")
Progress = Callable[[str, int], object]
"""Called with what is being done, and how many listings are done."""

#: Reasons that are kept of each link.
_REASONS = 8
#: Contributions to the log odds that are smaller are not kept.
_LEAST = 0.05
_SOME = 5_000
_ON_THE_MARKET = ("active", "reserved")


def build(store: FullStore, progress: Progress = lambda what, count: None) -> HomesRun:
    """Link all listings of the store, store the homes, and return what was done.

    Safe to repeat. Readers see the homes of the last complete run until this one is complete."""
    last_event = store.last_event()
    listings = list(_read(store, progress))
    progress("compared", 0)
    facts = facts_of_all(listings)
    clustering = cluster(facts, before=store.home_ids(), pins=pins_of(store))
    progress("stored", 0)
    clustered = clustered_of(listings, facts, clustering, last_event, store)
    store.save_homes(clustered)
    return clustered.run


def pins_of(store: FullStore) -> Pins:
    """The decisions of people about pairs of listings."""
    found = store.pins()
    return Pins(
        pinned((pin.a, pin.b) for pin in found if pin.kind == "join"),
        pinned((pin.a, pin.b) for pin in found if pin.kind == "split"),
    )


def clustered_of(
    listings: Sequence[Listing],
    facts: Sequence[Facts],
    clustering: Clustering,
    last_event: int,
    store: FullStore,
) -> Clustered:
    """Return the homes as they are stored."""
    by_name = {f"{each.portal}/{each.ref}": each for each in listings}
    homes = [home_of(id, [by_name[name] for name in names]) for id, names in sorted(clustering.members().items())]
    members = [Member(each.portal, each.ref, clustering.home_of[each.name]) for each in facts]
    report = clustering.report
    run = HomesRun(
        built_at=store.server_state().now,
        last_event=last_event,
        listings=len(listings),
        homes=len(homes),
        candidates=report.candidates,
        skipped_keys=report.skipped_keys,
        skipped_listings=report.skipped_listings,
        in_blocks=report.in_blocks,
        coverage=coverage(facts),
    )
    return Clustered(run, homes, members, list(_links(clustering, facts, shipped(), pins_of(store))))


def coverage(facts: Iterable[Facts]) -> dict[str, float]:
    """Return the share of each portal's listings that have an agency's reference: the strongest key there is."""
    counts: Counter[str] = Counter()
    referenced: Counter[str] = Counter()
    for each in facts:
        counts[each.portal] += 1
        referenced[each.portal] += each.code is not None
    return {portal: round(referenced[portal] / count, 4) for portal, count in sorted(counts.items())}


def home_of(id: str, adverts: Sequence[Listing]) -> Home:
    """Return a home as one row."""
    active = [each for each in adverts if each.status in _ON_THE_MARKET]
    priced = [each for each in active or adverts if each.price is not None and each.price_basis == "total"]
    cheapest = min(priced, key=lambda each: (each.price, each.portal, each.ref), default=None)
    areas = [each.area_m2 for each in adverts if each.area_m2 is not None]
    gone = [each.delisted_at[1] for each in adverts if each.delisted_at is not None]
    return Home(
        home=id,
        country=adverts[0].country,
        operation=_usual(each.operation for each in adverts),
        property_type=_usual(each.property_type for each in adverts),
        city=_usual(each.city for each in adverts),
        district=_usual(each.district for each in adverts),
        rooms=_usual(each.rooms for each in adverts),
        area_m2=median(areas) if areas else None,
        price=cheapest.price if cheapest else None,
        currency=cheapest.currency if cheapest else None,
        rent_period=cheapest.rent_period if cheapest else None,
        is_active=bool(active),
        listings=len(adverts),
        portals=len({each.portal for each in adverts}),
        first_seen_at=min(each.first_seen_at for each in adverts if each.first_seen_at is not None),
        last_seen_at=max(each.last_seen_at for each in adverts if each.last_seen_at is not None),
        gone_at=max(gone) if gone and not active else None,
    )


def _usual(values: Iterable[T | None]) -> T | None:
    """Return the most common value; of equally common ones, the first."""
    counts = Counter(value for value in values if value is not None)
    return counts.most_common(1)[0][0] if counts else None


def _links(clustering: Clustering, facts: Sequence[Facts], parameters: Parameters, pins: Pins) -> Iterator[HomeLink]:
    """Yield the links within homes, each with its reasons."""
    import numpy as np

    position = {each.name: at for at, each in enumerate(facts)}
    links = list(clustering.links)
    a = np.array([position[link.a] for link in links], dtype="int64")
    b = np.array([position[link.b] for link in links], dtype="int64")
    if links:
        found = features(Columns.of(facts), a, b, np.zeros(len(links), dtype=bool))
        names = [name for name in found if abs(parameters.weights.get(name, 0.0)) >= _LEAST]
        counted = np.column_stack([found[name] * parameters.weights[name] for name in names])
        for at, link in enumerate(links):
            yield HomeLink(clustering.home_of[link.a], link.a, link.b, link.score, _reasons(names, counted[at]))
    linked = {(link.a, link.b) for link in links}
    for one, other in sorted(pins.joined - linked):
        if clustering.home_of.get(one) is not None and clustering.home_of.get(one) == clustering.home_of.get(other):
            yield HomeLink(clustering.home_of[one], one, other, 1.0, [("joined by a person", 0.0)])


def _reasons(names: Sequence[str], counted: Any) -> list[Reason]:
    heaviest = sorted(zip(names, counted.tolist(), strict=True), key=lambda each: -abs(each[1]))[:_REASONS]
    return [(name, round(value, 2)) for name, value in heaviest if abs(value) >= _LEAST]


def _read(store: FullStore, progress: Progress) -> Iterator[Listing]:
    count = 0
    for portal in store.counts():
        for record in store.records(portal):
            yield as_listing(record)
            count += 1
            if not count % _SOME:
                progress("read", count)


def as_listing(record: Mapping[str, Any]) -> Listing:
    """Return the listing of a record."""
    return msgspec.convert(record, Listing)


def facts_by_name(store: FullStore, names: Sequence[Name]) -> dict[Name, Facts]:
    """Return the facts of some listings of the store; those that it does not have are left out."""
    portals: dict[str, list[str]] = {}
    for name in names:
        portal, _, ref = name.partition("/")
        portals.setdefault(portal, []).append(ref)
    listings = [
        current.state.listing for portal, refs in portals.items() for current in store.current(portal, refs).values()
    ]
    return {each.name: each for each in facts_of_all(listings)}

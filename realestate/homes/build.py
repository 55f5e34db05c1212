"""Builds the homes of a store: reads its listings, links them, and stores the homes as one."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from statistics import median
from typing import Any, TypeVar

import msgspec

from realestate.homes.clusters import Name, Pins, pinned
from realestate.homes.facts import Facts, Hashes, facts_of_all, hashed
from realestate.homes.linkage import Clustering, cluster
from realestate.homes.scorer import Columns, Parameters, features, shipped
from realestate.homes.update import Update, near_of, state_of
from realestate.items import Listing
from realestate.storage import FullStore
from realestate.storage.homes import Clustered, Home, HomeChanges, HomeLink, HomesRun, Member, Reason

T = TypeVar("T")
Progress = Callable[[str, int], object]
"""Called with what is being done, and how many listings are done."""

#: Reasons that are kept of each link.
_REASONS = 8
#: Contributions to the log odds that are smaller are not kept.
_LEAST = 0.05
_SOME = 5_000
#: Up to this many changed listings are always linked without linking everything again. Beyond it, everything is linked
#: again if more than a fifth has changed.
_FEW = 1_000
#: Changes with the rules of this room that are not in the parameters.
_RULES = 2
#: What was stored in a transaction that began so long before a run may not have been visible to it.
_OVERLAP = timedelta(minutes=10)
_ON_THE_MARKET = ("active", "reserved")


def build(store: FullStore, progress: Progress = lambda what, count: None, *, again: bool = False) -> HomesRun:
    """Link the listings of the store, store the homes, and return what was done.

    Only what is new or changed since the last run is looked at, in whose result everything else stays as it is; `again`
    looks at all listings. Safe to repeat. Readers see the homes of the last complete run until this one is complete."""
    before = None if again else store.homes_run()
    while before is not None and before.version == rules():
        names = _changed(store, before)
        if names is None:
            break
        if (run := _update(store, before, *names, progress)) is not None:
            return run
        before = store.homes_run()  # another process was faster
    return _build(store, progress)


def _build(store: FullStore, progress: Progress) -> HomesRun:
    last_event = store.last_event()
    begun_at = store.server_state().now
    listings = list(_read(store, progress))
    progress("compared", 0)
    facts = facts_of_all(listings, hashes_of(store))
    clustering = cluster(facts, before=store.home_ids(), pins=pins_of(store))
    progress("stored", 0)
    clustered = clustered_of(listings, facts, clustering, last_event, store)
    clustered = replace(clustered, run=replace(clustered.run, begun_at=begun_at))
    store.save_homes(clustered)
    return clustered.run


def rules() -> str:
    """Return a name of everything that decides about homes. If the last run had another one, all are made again.

    Keys are hashes that may differ between versions of Python."""
    deciding = (_RULES, hash((1, 2.5, -2)), msgspec.json.encode(shipped()))
    return f"{hashed(repr(deciding)) & 0xFFFFFFFFFFFFFFF:015x}"


def _changed(store: FullStore, before: HomesRun) -> tuple[set[Name], int] | None:
    """The listings with an event or a hashed photo since the last run, and the number of the last event. None if they
    are too many for it to pay."""
    after = before.last_event
    names: set[Name] = set()
    if before.begun_at is not None:
        names |= set(store.hashed_since(before.begun_at - _OVERLAP))
    most = max(_FEW, sum(stored for stored, _ in store.counts().values()) // 5)
    while found := store.events(after, _SOME):
        names |= {f"{each.event.portal}/{each.event.ref}" for each in found}
        after = found[-1].seq
        if len(names) > most:
            return None
    return names, after


def _update(
    store: FullStore, before: HomesRun, names: set[Name], last_event: int, progress: Progress
) -> HomesRun | None:
    """Change the homes of the run before. None if another process changed them meanwhile."""
    pins = pins_of(store)
    begun_at = store.server_state().now
    listings = _listings(store, names)
    progress("compared", len(names))
    fresh = {each.name: each for each in facts_of_all(list(listings.values()), hashes_of(store, names))}
    update = Update(store, names, fresh, pins, shipped())
    found = update.run()
    progress("stored", 0)
    members: dict[str, set[Name]] = {}
    for name, home in found.home_of.items():
        members.setdefault(home, set()).add(name)
    members_before: dict[str, set[Name]] = {}
    for name, home in found.before.items():
        members_before.setdefault(home, set()).add(name)
    changed = {home for home, some in members.items() if some != members_before.get(home) or some & names}
    listings |= _listings(store, {name for home in changed for name in members[home]} - listings.keys())
    homes = [
        home_of(home, adverts)
        for home in sorted(changed)
        if (adverts := [listings[name] for name in sorted(members[home]) if name in listings])
    ]
    moved = [name for name, home in found.home_of.items() if found.before.get(name) != home]
    gone = names - fresh.keys()
    gone_homes = members_before.keys() - members.keys()
    new = sum(name not in found.before for name in found.home_of)
    run = replace(
        before,
        built_at=store.server_state().now,
        last_event=last_event,
        listings=before.listings + new - len(gone & found.before.keys()),
        homes=before.homes + len(members.keys() - members_before.keys()) - len(gone_homes),
        candidates=update.compared,
        begun_at=begun_at,
    )
    clustering = Clustering(found.home_of, found.links)
    changes = HomeChanges(
        before=before,
        run=run,
        homes=homes,
        members=[_member(name, found.home_of[name]) for name in sorted(moved)],
        links=list(_links(clustering, list(found.facts.values()), shipped(), pins)),
        states=found.states,
        gone_homes=gone_homes,
        relinked=members.keys() | members_before.keys(),
        gone=gone,
    )
    return run if store.change_homes(changes) else None


def _member(name: Name, home: str) -> Member:
    portal, _, ref = name.partition("/")
    return Member(portal, ref, home)


def _listings(store: FullStore, names: Iterable[Name]) -> dict[Name, Listing]:
    """The listings of these names that the store has."""
    return {
        f"{portal}/{ref}": current.state.listing
        for portal, refs in _by_portal(names).items()
        for ref, current in store.current(portal, refs).items()
    }


def _by_portal(names: Iterable[Name]) -> dict[str, list[str]]:
    portals: dict[str, list[str]] = {}
    for name in sorted(names):
        portal, _, ref = name.partition("/")
        portals.setdefault(portal, []).append(ref)
    return portals


def hashes_of(store: FullStore, names: Iterable[Name] | None = None) -> Hashes:
    """The hashes of the photos of these listings, or of all."""
    portals: Mapping[str, list[str] | None] = _by_portal(names) if names is not None else dict.fromkeys(store.counts())
    return {
        f"{portal}/{ref}": hashes
        for portal, refs in portals.items()
        for ref, hashes in store.photo_hashes(portal, refs).items()
    }


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
        version=rules(),
    )
    links = list(_links(clustering, facts, shipped(), pins_of(store)))
    near = near_of(clustering.near)
    states = [
        state_of(each, near.get(each.name, {}).items(), in_block=in_block)
        for each, in_block in zip(facts, clustering.in_block, strict=True)
    ]
    return Clustered(run, homes, members, links, states)


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
    return {each.name: each for each in facts_of_all(list(_listings(store, names).values()), hashes_of(store, names))}

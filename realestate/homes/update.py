"""Links only what is new: the homes of the last run, changed where listings came, changed or left.

The result is the same as that of a run over all listings, because everything that decides about a listing can be found
by its keys: the candidates share a key with it, its block shares a group, and a home lies within one connected
component of likenesses. So three rounds of reading suffice: who shares a key or group with a new listing; who is
touched because a block was proven or a key became too common; and the components of all these.
"""

from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from realestate.homes.clusters import Link, Name, Pins, homes_of
from realestate.homes.facts import Facts
from realestate.homes.linkage import identified, new_ids, scored
from realestate.homes.pairs import KEY_LIMIT, is_block
from realestate.homes.scorer import Parameters
from realestate.homes.vetoes import vetoes
from realestate.storage.homes import HomesStore, HomeState

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Facts)


def state_of(facts: Facts, near: Iterable[tuple[Name, float]], *, in_block: bool) -> HomeState:
    """Return what is kept of a listing."""
    packed = b64encode(_ENCODER.encode(facts)).decode()
    keys = sorted({*facts.keys, *facts.groups})
    return HomeState(facts.portal, facts.ref, packed, keys, sorted(near), in_block)


def facts_in(state: HomeState) -> Facts:
    """Return the facts that are kept in a state."""
    return _DECODER.decode(b64decode(state.facts))


def near_of(links: Iterable[Link]) -> dict[Name, dict[Name, float]]:
    """Return the likenesses of each listing."""
    found: dict[Name, dict[Name, float]] = defaultdict(dict)
    for link in links:
        found[link.a][link.b] = link.score
        found[link.b][link.a] = link.score
    return found


@dataclass(frozen=True, slots=True)
class Updated:
    """The part of a clustering that a run looked at again: whole homes only."""

    facts: Mapping[Name, Facts]
    home_of: Mapping[Name, str]
    before: Mapping[Name, str]
    """The homes that these listings, and those that are gone, had before."""
    links: Sequence[Link]
    states: Sequence[HomeState]
    """States that are new or changed."""


@dataclass(slots=True)
class Update:
    """One run over some listings: `names`. `fresh` are the facts of those that are stored; the others are gone."""

    store: HomesStore
    names: Collection[Name]
    fresh: Mapping[Name, Facts]
    pins: Pins
    parameters: Parameters
    known: dict[Name, HomeState] = field(default_factory=dict)
    """States of the last run that were read."""
    facts: dict[Name, Facts] = field(default_factory=dict)
    """The facts of listings as they are now."""
    near: dict[Name, dict[Name, float]] = field(default_factory=dict)
    in_block: dict[Name, bool] = field(default_factory=dict)
    sharers: dict[int, set[Name]] = field(default_factory=dict)
    """key or group -> the listings that have it now. Complete for each key that is in it."""
    sharers_before: dict[int, set[Name]] = field(default_factory=dict)
    compared: int = 0
    """Pairs that were compared."""
    lost: set[Name] = field(default_factory=set)
    """Listings that were like a touched one before."""

    def run(self) -> Updated:
        """Return what changed."""
        self.facts = dict(self.fresh)
        self._read(self.names)
        dirty_keys = {key for name in self.names for key in self._keys_of(name)}
        self._share(dirty_keys)
        touched = self._touched()
        self._share({key for name in touched for key in self._keys_now(name)})
        self._compare(touched)
        members = self._components(touched)
        return self._clustered(members)

    # ----- reading

    def _read(self, names: Iterable[Name]) -> None:
        """Read the states of these listings, if they have one."""
        wanted = [name for name in set(names) if name not in self.known]
        for name, state in self.store.home_states(wanted).items() if wanted else ():
            self.known[name] = state
            self.in_block.setdefault(name, state.in_block)
            self.near.setdefault(name, dict(state.near))
            if name not in self.names:
                self.facts[name] = facts_in(state)

    def _keys_now(self, name: Name) -> set[int]:
        facts = self.facts.get(name)
        return {*facts.keys, *facts.groups} if facts else set()

    def _keys_of(self, name: Name) -> set[int]:
        """The keys that the listing has, or had before."""
        state = self.known.get(name)
        return self._keys_now(name) | set(state.keys if state else ())

    def _share(self, keys: set[int]) -> None:
        """Find out who shares these keys."""
        wanted = keys - self.sharers.keys()
        for key in wanted:
            self.sharers[key] = set()
            self.sharers_before[key] = set()
        for name, of_it in self.store.keys_of_sharers(wanted).items():
            for key in wanted.intersection(of_it):
                self.sharers_before[key].add(name)
                if name not in self.names:
                    self.sharers[key].add(name)
        for name in self.fresh:
            for key in wanted & self._keys_now(name):
                self.sharers[key].add(name)

    # ----- what is touched

    def _touched(self) -> set[Name]:
        """The listings whose likenesses have to be found again: new ones, those whose block was proven or refuted, and
        those with a key that is too common now, or no more."""
        touched = set(self.fresh)
        keys = {key for name in self.names for key in self._compared(name)}
        for key in keys:
            if (len(self.sharers[key]) > KEY_LIMIT) != (len(self.sharers_before[key]) > KEY_LIMIT):
                touched |= self.sharers[key] - touched
        groups = {key for name in self.names for key in self._grouped(name)}
        self._read(name for group in groups for name in self.sharers[group])
        doubtful = set(self.fresh)
        for group in groups:
            before = is_block([facts_in(self.known[each]) for each in self.sharers_before[group] if each in self.known])
            now = is_block([self.facts[each] for each in self.sharers[group]])
            if before != now:
                doubtful |= self.sharers[group]
        self._read(touched)
        self._share({group for name in doubtful for group in self.facts[name].groups})
        self._read(other for name in doubtful for group in self.facts[name].groups for other in self.sharers[group])
        blocks: dict[int, bool] = {}
        for name in doubtful:
            is_in_one = False
            for group in self.facts[name].groups:
                if group not in blocks:
                    blocks[group] = is_block([self.facts[each] for each in self.sharers[group]])
                is_in_one = is_in_one or blocks[group]
            if is_in_one != self.in_block.get(name):
                touched.add(name)
            self.in_block[name] = is_in_one
        return touched

    def _compared(self, name: Name) -> set[int]:
        """The keys that are no groups, of now and before."""
        state = self.known.get(name)
        found = set(self.facts[name].keys) if name in self.facts else set()
        return found | set(facts_in(state).keys if state else ())

    def _grouped(self, name: Name) -> set[int]:
        state = self.known.get(name)
        found = set(self.facts[name].groups) if name in self.facts else set()
        return found | set(facts_in(state).groups if state else ())

    # ----- likenesses

    def _compare(self, touched: set[Name]) -> None:
        """Find the likenesses of the touched listings again."""
        pairs: set[tuple[Name, Name]] = set()
        for name in touched:
            for key in self.facts[name].keys:
                sharers = self.sharers[key]
                if len(sharers) <= KEY_LIMIT:
                    pairs.update((min(name, other), max(name, other)) for other in sharers if other != name)
        self._read(name for pair in pairs for name in pair)
        wanted = sorted(pair for pair in pairs if not vetoes(self.facts[pair[0]], self.facts[pair[1]]))
        self.compared = len(wanted)
        names = sorted({name for pair in wanted for name in pair})
        place = {name: at for at, name in enumerate(names)}
        links = scored(
            [self.facts[name] for name in names],
            [place[a] for a, _ in wanted],
            [place[b] for _, b in wanted],
            [self.in_block[name] for name in names],
            self.parameters,
        )
        again = touched | set(self.names)
        self._read(other for name in again for other in self.near.get(name, ()))
        self.lost = {other for name in again for other in self.near.get(name, ())} - again
        for name in again:
            for other in self.near.pop(name, {}):
                self.near.get(other, {}).pop(name, None)
        for name, likenesses in near_of(links).items():
            self.near.setdefault(name, {}).update(likenesses)

    def _components(self, touched: set[Name]) -> list[Name]:
        """The listings that likenesses connect to touched ones, now or before, and those that people decided about."""
        joined: dict[Name, set[Name]] = defaultdict(set)
        for a, b in self.pins.joined:
            joined[a].add(b)
            joined[b].add(a)
        pinned = {name for pair in self.pins.joined | self.pins.split for name in pair}
        waiting = touched | self.lost | pinned
        self._read(waiting)
        seen: set[Name] = set()
        while waiting:
            self._read(waiting)
            waiting = {name for name in waiting if name in self.facts} - seen
            seen |= waiting
            waiting = {other for name in waiting for other in (*self.near.get(name, ()), *joined[name])} - seen
        return sorted(seen)

    # ----- homes

    def _clustered(self, members: Sequence[Name]) -> Updated:
        facts = {name: self.facts[name] for name in members}
        links = sorted(
            Link(name, other, score)
            for name in members
            for other, score in self.near.get(name, {}).items()
            if name < other and other in facts
        )
        pins = self.pins.of(facts)
        groups, used = homes_of(links, self.parameters.threshold, facts, pins)
        before = self.store.homes_of_listings([*members, *(name for name in self.names if name not in facts)])
        own = set(before.values())
        elsewhere = set(self.store.existing_homes(new_ids(members))) - own
        home_of = identified(groups, facts, {name: before[name] for name in members if name in before}, elsewhere)
        return Updated(facts, home_of, before, used, list(self._states()))

    def _states(self) -> Iterable[HomeState]:
        for name, facts in self.facts.items():
            old = self.known.get(name)
            near = self.near.get(name, {})
            if old is None or name in self.fresh or (dict(old.near), old.in_block) != (near, self.in_block[name]):
                yield state_of(facts, near.items(), in_block=self.in_block[name])

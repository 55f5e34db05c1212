"""Fields that vanish: a Bernoulli CUSUM for each portal and field, against the field's own history.

Each listing either has a value of a field or has none. `FieldDrift` remembers how often listings of the same operation
and type have one. For each listing it adds the log-likelihood ratio of two hypotheses to a sum: the odds of a value
fell to an eighth, against: they are as usual. The sum never falls below 0; above THRESHOLD the field has vanished. When
the sum left 0 last, the change began.

Listings of another type lack other fields, and portals show all land in a row; so the usual odds are those of the same
operation and type. The same listing read by another worker counts as well: the state is kept in the store, as JSON.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import log, sqrt
from typing import Any, Protocol

from realestate.items import CONTENT, is_missing
from realestate.storage.states import State, StateStore

#: The name of a portal's state in the store.
DRIFT = "drift:"
#: The odds of a value are divided by this under the hypothesis that the field vanishes.
ODDS = 8.0
THRESHOLD = 20.0
#: A vanished field is back when the evidence for that is so strong.
BACK_THRESHOLD = 10.0
#: A field is judged when this many listings of the same kind were read.
LEAST_HISTORY = 200
#: Older listings count less and less: when a kind has this many, its numbers are halved.
LONGEST_HISTORY = 4000
#: A field that fewer listings have is not watched.
LEAST_SHARE = 0.05
#: The kind of a listing whose operation or type is not known: it is judged by all listings.
ANY = ""
_KIND = ("operation", "property_type")
#: Fields that say what a price means, or are no values of the advert, vanish with others.
_UNWATCHED = frozenset({"country", "status", "currency", "price_basis", "rent_period", "geo_precision"})
WATCHED = tuple(name for name in CONTENT if name not in _UNWATCHED)


class Read(Protocol):
    """What is needed of a listing."""

    operation: Any
    property_type: Any
    price_basis: Any


@dataclass(slots=True)
class Vanished:
    """A field that far fewer listings have than before."""

    since: str
    """When the first page without it was read."""
    after: int
    """Number of the last event before that."""
    pages: int
    """Listings that were read from then until it was named."""
    share: float
    """The share of these that had a value."""
    back: float = 0.0
    """The evidence that it is back."""
    flagged: int = 0
    """How often the listings that were stored since were looked through: see `pipelines.drift`."""


@dataclass(slots=True)
class _Sum:
    """The CUSUM of a field while it is above 0."""

    value: float
    since: str
    after: int
    pages: int = 0
    missing: int = 0


@dataclass(slots=True)
class FieldDrift:
    """The fields of one portal."""

    listings: dict[str, float] = field(default_factory=dict)
    """kind -> listings that were read"""
    missing: dict[str, dict[str, float]] = field(default_factory=dict)
    """kind -> field -> listings without a value"""
    vanished: dict[str, Vanished] = field(default_factory=dict)
    _sums: dict[str, _Sum] = field(default_factory=dict)

    @classmethod
    def from_state(cls, state: State | None) -> "FieldDrift":
        if state is None:
            return cls()
        return cls(
            dict(state["listings"]),
            {kind: dict(counts) for kind, counts in state["missing"].items()},
            {name: Vanished(**values) for name, values in state["vanished"].items()},
            {name: _Sum(*values) for name, values in state["sums"].items()},
        )

    def to_state(self) -> State:
        return {
            "listings": self.listings,
            "missing": self.missing,
            "vanished": {name: _values(each) for name, each in self.vanished.items()},
            "sums": {name: list(_values(each).values()) for name, each in self._sums.items()},
        }

    def observe(self, listing: Read, at: str, after: int) -> None:
        """Take account of a listing that was read at that time, when this many events were stored."""
        missing = missing_fields(listing)
        kind = ANY if None in (listing.operation, listing.property_type) else kind_of(listing)
        # A field that has a value and no sum above 0 is as usual.
        for name in missing | self._sums.keys() | self.vanished.keys():
            usual = self._usual(name, ANY if name in _KIND else kind)
            if usual is not None:
                self._judge(name, name in missing, usual, at, after)
        for each in {kind, ANY}:
            self._learn(each, missing)

    def coverage(self) -> Mapping[str, float]:
        """Field -> the usual share of listings with a value, of the fields that are watched."""
        read = self.listings.get(ANY, 0)
        if not read:
            return {}
        missing = self.missing.get(ANY, {})
        shares = {name: 1 - missing.get(name, 0) / read for name in WATCHED}
        return {name: share for name, share in shares.items() if share >= LEAST_SHARE or name in self.vanished}

    def accept(self, name: str) -> bool:
        """The portal does not have the field any more: learn its coverage again. Return whether it had vanished."""
        for kind, read in self.listings.items():
            self.missing.setdefault(kind, {})[name] = read
        self._sums.pop(name, None)
        return self.vanished.pop(name, None) is not None

    # ----- the rule

    def _usual(self, name: str, kind: str) -> float | None:
        """A cautious estimate of the share of listings with a value: two standard errors below that of the history.
        None if too few were read, or too few have one."""
        read = self.listings.get(kind, 0)
        if read < LEAST_HISTORY:
            return None
        share = _lowest(read - self.missing.get(kind, {}).get(name, 0), read)
        return share if share >= LEAST_SHARE else None

    def _judge(self, name: str, is_missing: bool, usual: float, at: str, after: int) -> None:
        if (vanished := self.vanished.get(name)) is not None:
            low = min(vanished.share, fallen(usual))
            vanished.back = max(0.0, vanished.back - evidence(is_missing, usual, low))
            if vanished.back >= BACK_THRESHOLD:
                del self.vanished[name]
            return
        sum_ = self._sums.get(name)
        if sum_ is None:
            if not is_missing:
                return
            sum_ = self._sums[name] = _Sum(0.0, at, after)
        sum_.value += evidence(is_missing, usual, fallen(usual))
        sum_.pages += 1
        sum_.missing += is_missing
        if sum_.value <= 0:
            del self._sums[name]
        elif sum_.value > THRESHOLD:
            del self._sums[name]
            share = (sum_.pages - sum_.missing + 0.5) / (sum_.pages + 1)
            self.vanished[name] = Vanished(sum_.since, sum_.after, sum_.pages, share)

    def _learn(self, kind: str, missing: frozenset[str]) -> None:
        """Count the listing. The share of a vanished field stays as it was before."""
        counts = self.missing.setdefault(kind, {})
        read = self.listings.get(kind, 0)
        for name in self.vanished:
            if read:
                counts[name] = counts.get(name, 0) * (read + 1) / read
        for name in missing:
            if name not in self.vanished:
                counts[name] = counts.get(name, 0) + 1
        self.listings[kind] = read + 1
        if self.listings[kind] >= LONGEST_HISTORY:
            self.listings[kind] /= 2
            self.missing[kind] = {name: count / 2 for name, count in counts.items()}


def accept_field(store: StateStore, portal: str, name: str) -> bool:
    """The portal does not have the field any more. Return whether it had vanished."""
    had_vanished = False

    def change(state: State | None) -> State | None:
        nonlocal had_vanished
        drift = FieldDrift.from_state(state)
        had_vanished = drift.accept(name)
        return drift.to_state() if had_vanished else state

    store.change_state(DRIFT + portal, change)
    return had_vanished


def missing_fields(listing: Any) -> frozenset[str]:
    """The watched fields of which the listing has no value. That a price is on request is a value."""
    names = {name for name in WATCHED if is_missing(getattr(listing, name))}
    if listing.price_basis == "on_request":
        names.discard("price")
    return frozenset(names)


def kind_of(listing: Read) -> str:
    return f"{listing.operation}/{listing.property_type}"


def fallen(share: float) -> float:
    """The share when the odds are divided by ODDS."""
    odds = share / (1 - share) / ODDS
    return odds / (1 + odds)


def evidence(is_missing: bool, usual: float, low: float) -> float:
    """The log-likelihood ratio of the low share against the usual one."""
    return log((1 - low) / (1 - usual)) if is_missing else log(low / usual)


def _lowest(present: float, read: float) -> float:
    """The lower end of Wilson's interval of two standard errors."""
    share = max(0.0, present) / read
    middle = share + 2 / read
    width = 2 * sqrt(max(0.0, share * (1 - share)) / read + 1 / read**2)
    return (middle - width) / (1 + 4 / read)


def _values(each: Any) -> dict[str, Any]:
    return {name: getattr(each, name) for name in each.__slots__}


def observed(state: State | None, listings: Iterable[Read], at: str, after: int) -> State:
    """The state after these listings."""
    drift = FieldDrift.from_state(state)
    for listing in listings:
        drift.observe(listing, at, after)
    return drift.to_state()

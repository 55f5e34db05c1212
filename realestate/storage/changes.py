"""What happened to a listing: pure rules, the same for every store.

A store reads what it knows of a batch's listings, asks `decide` for each, and writes the outcome where nobody else has
written meanwhile (`State.revision`); where somebody has, it reads and asks again.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

from realestate.items import CONTENT, Gone, Listing, Sighting, Status, as_record, content_hash

EventType = Literal[
    "listed",
    "price_changed",
    "price_meaning_changed",
    "updated",
    "reserved",
    "sold",
    "rented",
    "delisted",
    "relisted",
    "corrected",
]

#: A larger move, in percent, is more often a typing error than a price: it counts when two different runs saw it.
SUSPECT_PERCENT = 60
#: What a price is a price of. The same number in another currency is another price.
MEANING = ("currency", "price_basis", "rent_period")
MONEY = ("price", *MEANING)
#: An advert in one of these is offered to nobody.
OFF_THE_MARKET: tuple[Status, ...] = ("delisted", "sold", "rented")
_CENT = Decimal("0.01")
#: Their changes have events of their own.
_TOLD_OTHERWISE = frozenset({*MONEY, "status"})


@dataclass(frozen=True, slots=True)
class Suspect:
    """A price too far from the last to be believed at once, and the run that saw it."""

    price: Decimal
    run: str


@dataclass(frozen=True, slots=True)
class State:
    """What a store knows of one listing. `revision` grows with every change, not with every sighting."""

    listing: Listing
    revision: int = 0
    suspect: Suspect | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to a listing. `revision` and `type` name it within its listing: told twice, it is one."""

    portal: str
    ref: str
    revision: int
    type: EventType
    at: datetime
    run: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PriceSeen:
    """A price that was not there before."""

    portal: str
    ref: str
    revision: int
    at: datetime
    run: str
    source: Literal["listing", "search"]
    price: Decimal | None
    currency: str | None
    price_basis: str | None
    rent_period: str | None
    suspect: bool


@dataclass(slots=True)
class Outcome:
    """What is to be written. `state` is None for what nobody has ever read: a sighting alone is no listing."""

    state: State | None
    events: list[Event] = field(default_factory=list)
    prices: list[PriceSeen] = field(default_factory=list)

    def changed(self, before: State | None) -> bool:
        """Whether more is to be written than that it was seen."""
        return self.state is not None and (before is None or self.state.revision != before.revision)


Observed = Listing | Sighting | Gone


def decide(before: State | None, observed: Sequence[tuple[Observed, str]], now: datetime) -> Outcome:
    """All that a batch says of one listing, in its order, each with its run."""
    outcome = Outcome(before)
    for item, run in observed:
        if isinstance(item, Gone):
            continue  # evidence, weighed when its run is over: see `depart`
        turn = _Turn(outcome, run, now)
        if isinstance(item, Sighting):
            turn.sighted(item)
        else:
            turn.read(item)
    return outcome


def depart(before: State, evidence: dict[str, Any], at: datetime, run: str, now: datetime) -> Outcome:
    """The listing is gone: some time between when it was last seen and when it was known to be."""
    outcome = Outcome(before)
    if before.listing.status in OFF_THE_MARKET:
        return outcome
    listing = before.listing
    last = listing.last_seen_at or at
    turn = _Turn(outcome, run, now)
    turn.change(replace(listing, status="delisted", delisted_at=(last, max(last, at))))
    interval = {"after": last.isoformat(), "before": max(last, at).isoformat()}
    turn.tell("delisted", {"evidence": evidence, **interval})
    return outcome


def correct(before: State, listing: Listing, run: str, now: datetime) -> Outcome:
    """A better parser read the same page again: nothing happened on the market."""
    outcome = Outcome(before)
    known = before.listing
    fields = changed_fields(known, listing, skip={"status"})
    if fields:
        turn = _Turn(outcome, run, now)
        turn.change(_kept(listing, known, status=known.status))
        old, new = as_record(known), as_record(listing)
        turn.tell("corrected", {"fields": {name: [old[name], new[name]] for name in fields}})
    return outcome


def changed_fields(old: Listing, new: Listing, skip: Set[str] = _TOLD_OTHERWISE) -> list[str]:
    """The names of content that differs, sorted."""
    if old.content_hash is not None and old.content_hash == new.content_hash:
        return []
    before, after = as_record(old), as_record(new)
    return sorted(name for name in CONTENT if name not in skip and before[name] != after[name])


class _Turn:
    """One observation's effect on the outcome so far."""

    def __init__(self, outcome: Outcome, run: str, now: datetime) -> None:
        self.outcome = outcome
        self.run = run
        self.now = now
        self._revised = False

    # ----- what was seen

    def read(self, listing: Listing) -> None:
        """The listing's own page."""
        state = self.outcome.state
        if state is None:
            self._first(listing)
            return
        known = state.listing
        listing = _completed(listing, known)
        fields = changed_fields(known, listing) + self._status(known, listing)
        money = self._money(known, listing, "listing")
        if fields:
            self.tell("updated", {"fields": sorted(fields)})
        if fields or self._revised or listing.content_hash != known.content_hash:
            self.change(_kept(replace(listing, **money), known))

    def sighted(self, sighting: Sighting) -> None:
        """A search page tells the price only; what else it means, the listing's own page tells better."""
        state = self.outcome.state
        if state is None or sighting.price is None or state.listing.price is None:
            return
        known = state.listing
        told = {name: getattr(sighting, name) for name in MEANING if getattr(sighting, name) is not None}
        if known.status in OFF_THE_MARKET or any(getattr(known, name) != value for name, value in told.items()):
            return
        money = self._money(known, replace(known, price=sighting.price), "search")
        if self._revised:
            price_per_m2 = _scaled(known, money["price"])
            changed = replace(known, **money, price_per_m2=price_per_m2)
            self.change(replace(changed, content_hash=content_hash(changed)))

    # ----- what follows

    def _first(self, listing: Listing) -> None:
        now = self.now
        self.outcome.state = State(replace(listing, first_seen_at=now, last_seen_at=now, last_fetched_at=now))
        self._revise()
        self._price(listing, "listing", suspect=False)
        self.tell("listed", {name: _plain(getattr(listing, name)) for name in MONEY})
        if listing.status != "active":
            self.tell(listing.status, {})

    def _status(self, known: Listing, listing: Listing) -> list[str]:
        """Most moves have a word of their own; the rest is a field that changed."""
        if known.status == listing.status:
            return []
        if listing.status != "active":
            self.tell(listing.status, {})
        elif known.status in OFF_THE_MARKET:
            self.tell("relisted", {"was": known.status})
        else:
            return ["status"]
        return []

    def _money(self, known: Listing, new: Listing, source: Literal["listing", "search"]) -> dict[str, Any]:
        """The money to keep: the new, or the known while the new is not believed yet."""
        told = {name: getattr(new, name) for name in MONEY}
        if any(getattr(known, name) != told[name] for name in MEANING) or (known.price is None) != (new.price is None):
            return self._new_meaning(known, new, source)
        if known.price is None or new.price is None or _cents(known.price) == _cents(new.price):
            self._doubt(None)
            return told
        percent = (new.price - known.price) / known.price * 100
        if abs(percent) > SUSPECT_PERCENT and not self._confirmed(new.price):
            if self._doubt(new.price):
                self._price(new, source, suspect=True)
            return told | {"price": known.price}
        self._doubt(None)
        self._price(new, source, suspect=False)
        moved = {"old": _plain(known.price), "new": _plain(new.price), "currency": new.currency}
        self.tell("price_changed", {**moved, "percent": round(float(percent), 2)})
        return told

    def _new_meaning(self, known: Listing, new: Listing, source: Literal["listing", "search"]) -> dict[str, Any]:
        self._doubt(None)
        self._price(new, source, suspect=False)
        old, told = ({name: _plain(getattr(each, name)) for name in MONEY} for each in (known, new))
        self.tell("price_meaning_changed", {"old": old, "new": told})
        return {name: getattr(new, name) for name in MONEY}

    def _confirmed(self, price: Decimal) -> bool:
        assert self.outcome.state is not None
        suspect = self.outcome.state.suspect
        return suspect is not None and _cents(suspect.price) == _cents(price) and suspect.run != self.run

    def _doubt(self, price: Decimal | None) -> bool:
        """Whether the doubt is a new one, or an old one is over."""
        assert self.outcome.state is not None
        suspect = self.outcome.state.suspect
        if (suspect.price if suspect else None) == price:
            return False
        self._revise()
        self.outcome.state = replace(self.outcome.state, suspect=None if price is None else Suspect(price, self.run))
        return True

    # ----- into the outcome

    def tell(self, type: EventType, data: dict[str, Any]) -> None:
        self._revise()
        listing, revision = self._now()
        self.outcome.events.append(Event(listing.portal, listing.ref, revision, type, self.now, self.run, data))

    def change(self, listing: Listing) -> None:
        self._revise()
        assert self.outcome.state is not None
        self.outcome.state = replace(self.outcome.state, listing=listing)

    def _price(self, new: Listing, source: Literal["listing", "search"], *, suspect: bool) -> None:
        self._revise()
        listing, revision = self._now()
        told = {name: getattr(new, name) for name in MONEY}
        seen = PriceSeen(listing.portal, listing.ref, revision, self.now, self.run, source, **told, suspect=suspect)
        self.outcome.prices.append(seen)

    def _revise(self) -> None:
        """Once for all that one observation changes."""
        assert self.outcome.state is not None
        if not self._revised:
            self.outcome.state = replace(self.outcome.state, revision=self.outcome.state.revision + 1)
            self._revised = True

    def _now(self) -> tuple[Listing, int]:
        assert self.outcome.state is not None
        return self.outcome.state.listing, self.outcome.state.revision


def _completed(listing: Listing, known: Listing) -> Listing:
    """A page that shows a rent without its period means the period we know: it stands on the search page only."""
    aside = listing.extra.get("price")
    if "rent_period_unknown" not in listing.quality_flags or known.rent_period is None or aside is None:
        return listing
    price = Decimal(str(aside))
    completed = replace(
        listing,
        price=price,
        currency=listing.extra.get("currency"),
        price_basis=known.price_basis or "total",
        rent_period=known.rent_period,
        price_per_m2=_scaled(known, price),
        quality_flags=listing.quality_flags - {"rent_period_unknown"},
        extra={name: value for name, value in listing.extra.items() if name not in ("price", "currency")},
    )
    return replace(completed, content_hash=content_hash(completed))


def _kept(listing: Listing, known: Listing, **changes: Any) -> Listing:
    """What only the store knows stays; a listing that is offered again is not delisted."""
    status = changes.get("status", listing.status)
    ours = {name: getattr(known, name) for name in ("first_seen_at", "last_seen_at", "last_fetched_at")}
    return replace(listing, **ours, **changes, delisted_at=known.delisted_at if status == "delisted" else None)


def _scaled(known: Listing, price: Decimal) -> Decimal | None:
    """The price of a square metre moves with the price."""
    if known.price_per_m2 is None or not known.price:
        return known.price_per_m2
    return (known.price_per_m2 * price / known.price).quantize(_CENT)


def _cents(price: Decimal) -> Decimal:
    return price.quantize(_CENT)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value

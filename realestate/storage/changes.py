"""The rules for what happened to a listing: pure functions, the same for every store.

A store reads the stored state of each listing of a batch, calls `decide`, and writes the outcome if the stored
`State.revision` is still the same. If another worker has written meanwhile, it reads and decides again.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

from realestate.items import CONTENT, STALE, Gone, Listing, Sighting, Status, as_record, is_missing, stale_flags
from realestate.storage.clock import Dated
from realestate.storage.history import Event, EventType, Observed, Outcome, PriceSeen, Source, State, Suspect, altered
from realestate.storage.maintenance import SLACK
from realestate.storage.prices import (
    MEANING,
    MONEY,
    cents,
    completed,
    money,
    money_of,
    plain,
    plain_money,
    priced,
    rehashed,
    shown_money,
    storable_price_per_m2,
)

__all__ = ["OFF_THE_MARKET", "SAME", "Event", "EventType", "Observed", "Outcome", "PriceSeen", "State", "Suspect"]
__all__ += ["add_late_prices", "changed_fields", "correct", "decide", "depart"]

#: A larger price change, in percent, is more often a typing error. It counts when two different jobs saw it.
SUSPECT_PERCENT = 60
#: A listing that is on the market, has no suspect price, and is read again with the same values in all of these is
#: unchanged. The portal's times are not content, but they decide which pages are read again.
SAME = ("content_hash", "url", "posted_at", "updated_at", "parser_version")
#: The portal's times. They are not content, but `correct` corrects them if they were parsed wrongly.
CLOCK = ("posted_at", "updated_at")
Left = Literal["delisted", "sold", "rented"]
#: A listing with one of these statuses is not on the market.
OFF_THE_MARKET: tuple[Left, ...] = ("delisted", "sold", "rented")
#: Changes of these fields have other events than `updated`.
_OTHER_EVENTS = frozenset({*MONEY, "status"})


def decide(before: State | None, observed: Sequence[tuple[Observed, str] | Dated], now: datetime) -> Outcome:
    """Apply all observations of one listing in a batch, in the order of their fetches, and return what is to be
    written.

    Each observation comes with its job, and with the time of its fetch if that was not `now`. One that is older than
    what is stored changes nothing: see `Outcome.late`. If the listing is the same afterwards, there is no event: the
    batch may have been written before.
    """
    outcome = _begun(before, now)
    for item, job, at in _in_order(observed, now):
        if gone := _gone(outcome.state, item):
            outcome.evidence.append((gone, job, at))
            continue
        outcome.evidence.clear()  # the listing was seen after that evidence
        turn = _Turn(outcome, job, at)
        if isinstance(item, Sighting):
            turn.sighted(item)
        elif isinstance(item, Listing):
            turn.read(item)
    if len(observed) > 1 and _alike((start := _begun(before, now)).state, outcome.state):
        start.evidence = outcome.evidence
        start.late = outcome.late
        start.late_prices = outcome.late_prices
        return start
    return outcome


def _in_order(observed: Sequence[tuple[Observed, str] | Dated], now: datetime) -> Sequence[Dated]:
    """The observations in the order of their fetches."""
    found = [each if isinstance(each, Dated) else Dated(*each, now) for each in observed]
    return sorted(found, key=lambda each: each.at) if len(found) > 1 else found


def add_late_prices(outcome: Outcome, history: Sequence[PriceSeen]) -> None:
    """Add the prices of late observations that the price history does not have, at the times of their fetches.

    `history` has the listing's prices. A price is missing if both the price before and the price after it differ from
    it. So a batch that is written twice adds it once."""
    state = outcome.state
    assert state is not None
    known = sorted((*history, *outcome.prices), key=_order)
    for late in sorted(outcome.late_prices, key=_order):
        place = bisect_right(known, late.at, key=lambda seen: seen.at)
        if any(_same_money(late, seen) for seen in known[max(place - 1, 0) : place + 1]):
            continue
        state = replace(state, revision=state.revision + 1)
        believed = [seen for seen in known[:place] if not seen.suspect and seen.price]
        added = replace(late, revision=state.revision, suspect=bool(believed) and _is_far(believed[-1], late))
        known.insert(place, added)
        outcome.prices.append(added)
    outcome.late_prices.clear()
    outcome.state = state


def _order(seen: PriceSeen) -> tuple[datetime, int]:
    return seen.at, seen.revision


def _same_money(one: PriceSeen, other: PriceSeen) -> bool:
    if any(getattr(one, name) != getattr(other, name) for name in MEANING):
        return False
    return (one.price and cents(one.price)) == (other.price and cents(other.price))


def _is_far(old: PriceSeen, new: PriceSeen) -> bool:
    """Whether the price moved by more than SUSPECT_PERCENT."""
    if not old.price or new.price is None or any(getattr(old, name) != getattr(new, name) for name in MEANING):
        return False
    return bool(abs((new.price - old.price) / old.price * 100) > SUSPECT_PERCENT)


def depart(before: State, evidence: dict[str, Any], at: datetime, job: str, now: datetime) -> Outcome:
    """Delist the listing. It left some time between its last sighting and `at`, when the evidence was found."""
    outcome = _begun(before, now)
    if before.listing.status in OFF_THE_MARKET:
        return outcome
    listing = before.listing
    last = listing.last_seen_at or at
    turn = _Turn(outcome, job, now)
    turn.change(altered(listing, status="delisted", delisted_at=(last, max(last, at))))
    turn.add_event("delisted", _end(last, max(last, at), evidence))
    return outcome


def correct(before: State, listing: Listing, job: str, now: datetime, *, repriced: bool = False) -> Outcome:
    """Apply what a better parser read from the same page. Nothing happened on the market, so the only event is
    `corrected`. A listing that was `repriced` since, or has a suspect price, keeps its stored price: the page is older
    than that."""
    outcome = _begun(before, now)
    known = before.listing
    listing = _whole(listing, known)
    if repriced or before.suspect is not None:
        listing = rehashed(priced(listing, money(known)))
    fields = changed_fields(known, listing, skip={"status"})
    fields += [name for name in CLOCK if getattr(known, name) != getattr(listing, name)]
    if stale_flags(known) != stale_flags(listing):
        fields.append("quality_flags")
    if fields:
        turn = _Turn(outcome, job, now)
        if not set(MONEY).isdisjoint(fields):
            turn.price(listing, "correction")
        turn.change(_kept(listing, known, status=known.status))
        turn.add_event("corrected", {"fields": old_and_new(known, listing, fields)})
    return outcome


def changed_fields(old: Listing, new: Listing, skip: Set[str] = _OTHER_EVENTS) -> list[str]:
    """Return the names of the content fields that differ, sorted."""
    if old.content_hash is not None and old.content_hash == new.content_hash:
        return []
    before = as_record(old)
    after = as_record(new)
    return sorted(name for name in CONTENT if name not in skip and before[name] != after[name])


def old_and_new(old: Listing, new: Listing, fields: Iterable[str]) -> dict[str, list[Any]]:
    """Return the old and the new value of each field, as JSON values, in the order of their names."""
    before = as_record(old)
    after = as_record(new)
    return {name: [before[name], after[name]] for name in sorted(fields)}


def stale_flag(name: str) -> str:
    """The quality flag of a listing whose value of this field is the last known one: it has vanished from the portal's
    pages (`monitoring.drift`)."""
    return f"{STALE}{name}"


def _whole(listing: Listing, known: Listing) -> Listing:
    """The listing with what is known and its page does not show: a rent period that is shown on search pages only, and
    the values of fields that have vanished from all pages."""
    listing = completed(listing, known)
    stale = [flag.removeprefix(STALE) for flag in stale_flags(listing)]
    if not stale:
        return listing
    kept = {name: getattr(known, name) for name in stale if is_missing(getattr(listing, name))}
    if "price" in kept:
        kept |= money(known)
    whole = altered(listing, **kept)
    whole.price_per_m2 = storable_price_per_m2(whole)
    return rehashed(whole)


class _Turn:
    """Applies one observation to the outcome so far."""

    def __init__(self, outcome: Outcome, job: str, now: datetime) -> None:
        self.outcome = outcome
        self.job = job
        self.now = now
        self._revised = False

    # ----- kinds of observation

    def read(self, listing: Listing) -> None:
        """Apply a listing that was read from its detail page."""
        state = self.outcome.state
        if state is None:
            self._first(listing)
        elif state.is_content_newer(self.now) or state.has_left_after(self.now):
            self._late_read(state.listing, _whole(listing, state.listing))
        elif listing.status in OFF_THE_MARKET:
            self._left(state.listing, listing.status)
        else:
            self._compared(state.listing, _whole(listing, state.listing))

    def sighted(self, sighting: Sighting) -> None:
        """Apply the price and the status of a search page. A listing off the market returns only by its own page."""
        state = self.outcome.state
        if state is None or state.listing.status in OFF_THE_MARKET:
            return
        known = state.listing
        new = shown_money(known, sighting)
        if state.is_price_newer(self.now):
            self._late_sighting(known, sighting, new)
            return
        if sighting.status in ("sold", "rented"):
            self._left(known, sighting.status)
            return
        kept = money(known) if new is None else self._money(known, new, "search")
        status = sighting.status if sighting.status in ("active", "reserved") else known.status
        self._updated(known, status, [])
        if self._revised:
            self.change(rehashed(altered(priced(known, kept), status=status)))

    # ----- late observations: a newer one is stored already

    def _late_read(self, known: Listing, listing: Listing) -> None:
        """Apply a detail page that is older than the stored one: only its price is kept, in the price history."""
        is_off = listing.status in OFF_THE_MARKET
        is_other_price = not is_off and self._late_price(known, listing)
        if is_other_price or listing.status != known.status or (not is_off and changed_fields(known, listing)):
            self.outcome.late += 1

    def _late_sighting(self, known: Listing, sighting: Sighting, new: Listing | None) -> None:
        """Apply a search page that is older than what is stored: only its price is kept, in the price history."""
        is_other_price = new is not None and self._late_price(known, new)
        self.outcome.late += is_other_price or sighting.status not in (None, known.status)

    def _late_price(self, known: Listing, new: Listing) -> bool:
        """Note the price of a late page. Return whether it differs from the stored one."""
        if _has_same_money(known, new):
            return False
        values = (known.portal, known.ref, 0, self.now, self.job, "late", *money_of(new), False)
        self.outcome.late_prices.append(PriceSeen(*values))
        return True

    # ----- rules

    def _first(self, listing: Listing) -> None:
        """Store a new listing. Sets the times on the item itself: a copy would take as long as all the rest."""
        listing.first_seen_at = listing.last_seen_at = listing.last_fetched_at = self.now
        listing.delisted_at = (self.now, self.now) if listing.status == "delisted" else None
        self.outcome.state, self._revised = State(listing, revision=1), True
        self._listed(listing)

    def begun(self) -> None:
        """Begin the history of a listing that an old version stored without one, at the time it was first seen."""
        listing, _ = self._now()
        self.now = listing.first_seen_at or self.now
        self._listed(listing)

    def _listed(self, listing: Listing) -> None:
        """Add the first price and the event `listed`. A new listing has no other event, whatever its status."""
        self.price(listing, "listing")
        self.add_event("listed", {**plain_money(listing), "status": listing.status})

    def _left(self, known: Listing, status: Left) -> None:
        """Apply only the status of a page that is off the market. Price and content stay as stored."""
        if known.status not in OFF_THE_MARKET:
            self.change(altered(known, status=status))
            self.add_event(status, {})

    def _compared(self, known: Listing, listing: Listing) -> None:
        """Compare a listing that is on the market with the stored one, which may have left the market."""
        if known.status in OFF_THE_MARKET:
            self.add_event("relisted", {"was": known.status})
        assert self.outcome.state is not None
        fields = changed_fields(known, listing)
        if self.outcome.state.is_price_newer(self.now):  # a newer search page showed the price
            self.outcome.late += self._late_price(known, listing)
            kept = money(known)
            listing = rehashed(priced(listing, kept))
        else:
            kept = self._money(known, listing, "listing")
        self._updated(known, listing.status, fields, listing)
        if self._revised or any(getattr(known, name) != getattr(listing, name) for name in SAME):
            self.change(_kept(priced(listing, kept), known))

    def _updated(self, known: Listing, status: Status, fields: list[str], new: Listing | None = None) -> None:
        """Add `updated` with the changed fields of the new listing, and `reserved`. That an option has ended has no
        other event than `updated`."""
        changes = old_and_new(known, new, fields) if new is not None else {}
        if (known.status, status) == ("reserved", "active"):
            changes["status"] = [known.status, status]
        if changes:
            self.add_event("updated", {"fields": changes})
        if status == "reserved" != known.status:
            self.add_event("reserved", {})

    def _money(self, known: Listing, new: Listing, source: Source) -> dict[str, Any]:
        """Return the MONEY values to store: the new ones, or the known price while the new price is suspect."""
        new_money = money(new)
        if known.price is None and new.price is None and known.price_basis == new.price_basis:
            self._doubt(None)
            return new_money  # without a price, a rent period means nothing
        is_other_meaning = any(getattr(known, name) != new_money[name] for name in MEANING)
        if is_other_meaning or (known.price is None) != (new.price is None):
            return self._new_meaning(known, new, source)
        if known.price is None or new.price is None or cents(known.price) == cents(new.price):
            self._doubt(None)
            return new_money
        percent = (new.price - known.price) / known.price * 100
        if abs(percent) > SUSPECT_PERCENT and not self._confirmed(new.price):
            if self._doubt(new.price):
                self.price(new, source, suspect=True)
            return new_money | {"price": known.price}
        self._doubt(None)
        self.price(new, source)
        moved = {"old": plain(known.price), "new": plain(new.price), "currency": new.currency}
        self.add_event("price_changed", {**moved, "percent": round(float(percent), 2)})
        return new_money

    def _new_meaning(self, known: Listing, new: Listing, source: Source) -> dict[str, Any]:
        self._doubt(None)
        self.price(new, source)
        self.add_event("price_meaning_changed", {"old": plain_money(known), "new": plain_money(new)})
        return money(new)

    def _confirmed(self, price: Decimal) -> bool:
        assert self.outcome.state is not None
        suspect = self.outcome.state.suspect
        return suspect is not None and cents(suspect.price) == cents(price) and suspect.job != self.job

    def _doubt(self, price: Decimal | None) -> bool:
        """Set the suspect price, or remove it if `price` is None. Return whether that changed anything."""
        assert self.outcome.state is not None
        suspect = self.outcome.state.suspect
        if (cents(suspect.price) if suspect else None) == (price and cents(price)):
            return False
        self._revise()
        self.outcome.state = replace(self.outcome.state, suspect=None if price is None else Suspect(price, self.job))
        return True

    # ----- changes of the outcome

    def add_event(self, type: EventType, data: dict[str, Any]) -> None:
        self._revise()
        listing, revision = self._now()
        self.outcome.events.append(Event(listing.portal, listing.ref, revision, type, self.now, self.job, data))

    def change(self, listing: Listing) -> None:
        self._revise()
        assert self.outcome.state is not None
        self.outcome.state = replace(self.outcome.state, listing=listing)

    def price(self, new: Listing, source: Source, *, suspect: bool = False) -> None:
        self._revise()
        listing, revision = self._now()
        values = (listing.portal, listing.ref, revision, self.now, self.job, source, *money_of(new), suspect)
        self.outcome.prices.append(PriceSeen(*values))

    def _revise(self) -> None:
        """Count up the revision, once for each observation."""
        assert self.outcome.state is not None
        if not self._revised:
            state = self.outcome.state
            self.outcome.state = replace(state, revision=state.revision + 1)
            self._revised = True

    def _now(self) -> tuple[Listing, int]:
        assert self.outcome.state is not None
        return self.outcome.state.listing, self.outcome.state.revision


def _begun(before: State | None, now: datetime) -> Outcome:
    outcome = Outcome(before)
    if before is not None and before.revision == 0:
        _Turn(outcome, "", now).begun()
    return outcome


def _gone(state: State | None, item: Observed) -> Gone | None:
    """Return the evidence in the item, or None. The page of a known listing that says it has ended is evidence, like a
    page that does not exist."""
    if isinstance(item, Gone):
        return item
    if isinstance(item, Listing) and item.status == "delisted" and state is not None:
        return Gone(portal=item.portal, ref=item.ref, url=item.url, evidence="marker", detail="its page says so")
    return None


def _alike(start: State | None, end: State | None) -> bool:
    """Whether both states would be stored alike, except for the revision."""
    if start is None or end is None:
        return start is end
    old = start.listing
    new = end.listing
    same = start.suspect == end.suspect and all(getattr(old, n) == getattr(new, n) for n in (*SAME, *MONEY, "status"))
    return same and not changed_fields(old, new)


def _has_same_money(old: Listing, new: Listing) -> bool:
    if any(getattr(old, name) != getattr(new, name) for name in MEANING):
        return False
    return (old.price and cents(old.price)) == (new.price and cents(new.price))


def _end(after: datetime, before: datetime, evidence: dict[str, Any]) -> dict[str, Any]:
    return {"evidence": evidence, "after": after.isoformat(), "before": before.isoformat()}


def _kept(listing: Listing, known: Listing, **changes: Any) -> Listing:
    """Return the listing with the stored times. If it is on the market again, its time of delisting is removed."""
    status = changes.get("status", listing.status)
    ours = {name: getattr(known, name) for name in ("first_seen_at", "last_seen_at", "last_fetched_at")}
    return altered(listing, **ours, **changes, delisted_at=known.delisted_at if status == "delisted" else None)


def release(before: State | None, listing: Listing, job: str, now: datetime) -> Outcome:
    """Apply a page that was kept in quarantine, as of the time it was fetched (`last_fetched_at`).

    If the listing was seen later or was delisted since, the page only corrects content: price and status are known from
    later pages."""
    fetched_at = fetched(listing, now)
    if before is None or not _is_known_since(before.listing, fetched_at):
        return decide(before, [Dated(listing, job, _after(before, fetched_at))], fetched_at)
    return correct(before, listing, job, now, repriced=True)


def fetched(listing: Listing, now: datetime) -> datetime:
    """Return when the listing's page was fetched, at most `now`: a worker's clock may be ahead of the database's."""
    return min(listing.last_fetched_at or now, now)


def _after(before: State | None, at: datetime) -> datetime:
    """The time, but not before what is stored. The two times come from two clocks: see SLACK."""
    times = (before.listing.last_fetched_at, before.price_sighted_at) if before else ()
    return max((at, *(time for time in times if time is not None)))


def _is_known_since(known: Listing, fetched_at: datetime) -> bool:
    if known.delisted_at is not None and known.delisted_at[1] > fetched_at:
        return True
    return known.last_seen_at is not None and known.last_seen_at > fetched_at + SLACK

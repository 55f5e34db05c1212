"""The history a perfect crawler would have written: the events of one portal, day by day.

It looks once a day, after the day has changed the world, at every page: at those the search finds and at those it
knows from before. What comes and goes between two looks does not exist. It knows nothing but what the pages say: each
look is compared with what it kept of the looks before, so the events cannot disagree with `/_truth/<portal>`.

Every event has `portal`, `ref`, `day` and `type`; they are in order of day, then of ref (as numbers), then as below.
One look at a listing leads to at most one event of each type.

    listed                 never seen before; on day 0 all of them. Whatever its status, nothing else is said that day
    delisted               was on the market and its page is no more; `evidence` says how one can tell: "404", "410",
                           "redirect" (away from the page), "marker" (the page itself says that it is over)
    sold, rented           was on the market and its page says so. That the page is taken down some days later is no
                           event: the listing has left the market already
    relisted               was delisted, sold or rented, and is on the market again
    price_changed          `old`, `new`, `currency`, `percent` = (new - old) / old * 100 to two decimals; both prices
                           are of the same currency, basis and period. See below for moves of more than 60 %
    price_meaning_changed  `old` and `new`, each with `price`, `currency`, `price_basis` and `rent_period`: one of the
                           last three is another one, so that the numbers cannot be compared, whether or not the
                           number changed too. A price that goes on request or comes back from it is of this type
    updated                `fields`: sorted names of the other fields that say something else. `status` is among them
                           only when an option has fallen (reserved -> active), which has no type of its own
    reserved               was on the market, free, and is under option now

A look leads to a price_changed or to a price_meaning_changed, never to both. A page that says its listing is off the
market is read for that alone: its price and text make no event.

**Moves of more than 60 %** are suspect until two looks have seen the same new price: the first makes no event and
changes nothing of what is kept, the second makes the price_changed, from the price that was kept, on its own day. So
a fall that stays is recorded on its second day, and a typing error that is corrected the next day is never recorded. A
suspect is dropped when the next look sees any other price; that one is judged beside the price kept, and may be
suspect itself. A change of meaning is believed at once. `/_truth/<portal>` knows no suspects: it says what the page
says.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from realestate.items import FIELDS, OURS

Record = dict[str, Any]
Event = dict[str, Any]
Evidence = Literal["404", "410", "redirect", "marker"]

SUSPECT_PERCENT = 60

MONEY = ("price", "currency", "price_basis", "rent_period")
#: What `updated` speaks of: the content, as its fingerprint has it, without what has events of its own.
OTHER_CONTENT = tuple(
    name for name in FIELDS if name not in {*OURS, *MONEY, "status", "portal", "ref", "url", "posted_at", "updated_at"}
)
OFF_THE_MARKET = frozenset({"delisted", "sold", "rented"})


@dataclass(frozen=True, slots=True)
class Sight:
    """One look at one listing: what its page says, or how it is gone."""

    ref: str
    record: Record | None
    evidence: Evidence | None = None


@dataclass(slots=True)
class _Kept:
    """What the history holds of a listing."""

    status: str
    money: Record
    content: Record
    suspect: Any = None
    """A price seen once that is too far from the one kept."""


class History:
    """The events of one portal so far; `look` adds those of a day."""

    def __init__(self, portal: str) -> None:
        self.portal = portal
        self.events: list[Event] = []
        self._kept: dict[str, _Kept] = {}

    def look(self, day: int, sights: Iterable[Sight]) -> None:
        for sight in sights:
            head = {"portal": self.portal, "ref": sight.ref, "day": day}
            self.events += ({**head, **event} for event in self._compare(sight))

    def _compare(self, sight: Sight) -> Iterator[Event]:
        kept, record = self._kept.get(sight.ref), sight.record
        status = "delisted" if record is None else record["status"]
        if status in OFF_THE_MARKET:
            if kept is not None and kept.status not in OFF_THE_MARKET:
                kept.status = status
                yield {"type": "delisted", "evidence": sight.evidence} if status == "delisted" else {"type": status}
        elif record is not None and kept is None:
            self._kept[sight.ref] = _Kept(status, _part(record, MONEY), _part(record, OTHER_CONTENT))
            yield {"type": "listed"}
        elif record is not None and kept is not None:
            yield from _changes(kept, record)


def _changes(kept: _Kept, record: Record) -> Iterator[Event]:
    """Between what is kept and a page on the market; what is kept is brought up to date."""
    before, kept.status = kept.status, record["status"]
    if before in OFF_THE_MARKET:
        yield {"type": "relisted"}
    yield from _money_change(kept, _part(record, MONEY))
    content = _part(record, OTHER_CONTENT)
    fields = [name for name in OTHER_CONTENT if content[name] != kept.content[name]]
    if (before, kept.status) == ("reserved", "active"):
        fields.append("status")
    kept.content = content
    if fields:
        yield {"type": "updated", "fields": sorted(fields)}
    if kept.status == "reserved" != before:
        yield {"type": "reserved"}


def _money_change(kept: _Kept, money: Record) -> Iterator[Event]:
    suspect, kept.suspect = kept.suspect, None
    old, new = kept.money["price"], money["price"]
    if any(money[name] != kept.money[name] for name in MONEY[1:]):
        yield {"type": "price_meaning_changed", "old": kept.money, "new": money}
    elif old == new:
        return
    else:
        percent = (new - old) / old * 100
        if abs(percent) > SUSPECT_PERCENT and new != suspect:
            kept.suspect = new
            return
        yield {
            "type": "price_changed",
            "old": old,
            "new": new,
            "currency": money["currency"],
            "percent": round(percent, 2),
        }
    kept.money = money


def _part(record: Record, names: Iterable[str]) -> Record:
    return {name: record[name] for name in names}

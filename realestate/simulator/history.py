"""The history that a perfect crawler would have written: the events of one portal, day by day.

Once a day, after the changes of the day, it reads every page: those that a search finds and those it knows from before.
What appears and disappears between two readings does not exist for it. It knows only what the pages say: each reading
is compared with the stored values of earlier readings, so the events cannot disagree with `/_truth/<portal>`.

Every event has `portal`, `ref`, `day` and `type`. They are in order of day, then of ref (as numbers), then as below.
One reading of a listing makes at most one event of each type.

    listed                 never seen before; on day 0 all of them. There is no other event on that day
    delisted               was on the market and its page is gone; `evidence` is "404", "410", "redirect" (to another
                           page) or "marker" (the page says that the advert has ended)
    sold, rented           was on the market and its page says so. If the page is removed some days later, there is
                           no event: the listing has left the market already
    relisted               was delisted, sold or rented, and is on the market again
    price_changed          `old`, `new`, `currency`, `percent` = (new - old) / old * 100 to two decimals; both prices
                           are of the same currency, basis and period. See below for moves of more than 60 %
    price_meaning_changed  `old` and `new`, each with `price`, `currency`, `price_basis` and `rent_period`: one of the
                           last three has changed, so that the numbers cannot be compared, whether or not the number
                           changed too. A price that becomes "on request", or is shown again, is of this type.
                           The rent period of a price that stays "on request" means nothing, and makes no event
    updated                `fields`: the other fields that changed, each with its old and new value. `status` is among
                           them only if an option has ended (reserved -> active), for which there is no other event
    reserved               was on the market and is under option now

A reading makes a price_changed or a price_meaning_changed, never both. Of a page that says that its listing is off the
market, price and text make no event.

**Price changes of more than 60 %** are suspect until two readings have seen the same new price. The first reading makes
no event and changes no stored value. The second makes the price_changed, from the stored price, on its day. So a fall
that stays is recorded on its second day, and a typing error that is corrected the next day is never recorded. A suspect
price is dropped when the next reading sees any other price. That one is compared with the stored price, and may be
suspect too. A change of meaning is accepted at once. `/_truth/<portal>` has no suspect prices, only what the page says.
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
#: The fields of `updated`: the content without the fields that have other events.
OTHER_CONTENT = tuple(
    name for name in FIELDS if name not in {*OURS, *MONEY, "status", "portal", "ref", "url", "posted_at", "updated_at"}
)
OFF_THE_MARKET = frozenset({"delisted", "sold", "rented"})


@dataclass(frozen=True, slots=True)
class Sight:
    """One reading of one listing: what its page says, or how it is gone."""

    ref: str
    record: Record | None
    evidence: Evidence | None = None


@dataclass(slots=True)
class _Kept:
    """The stored values of a listing."""

    status: str
    money: Record
    content: Record
    suspect: Any = None
    """A price that was seen once and is too far from the stored one."""


class History:
    """The events of one portal so far. `look` adds those of a day."""

    def __init__(self, portal: str) -> None:
        self.portal = portal
        self.events: list[Event] = []
        self._kept: dict[str, _Kept] = {}

    def look(self, day: int, sights: Iterable[Sight]) -> None:
        for sight in sights:
            head = {"portal": self.portal, "ref": sight.ref, "day": day}
            self.events += ({**head, **event} for event in self._compare(sight))

    def _compare(self, sight: Sight) -> Iterator[Event]:
        kept = self._kept.get(sight.ref)
        record = sight.record
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
    """Yield the events between the stored values and a page on the market, and update the stored values."""
    before = kept.status
    kept.status = record["status"]
    if before in OFF_THE_MARKET:
        yield {"type": "relisted"}
    yield from _money_change(kept, _part(record, MONEY))
    content = _part(record, OTHER_CONTENT)
    fields = {
        name: [kept.content[name], content[name]] for name in OTHER_CONTENT if content[name] != kept.content[name]
    }
    if (before, kept.status) == ("reserved", "active"):
        fields["status"] = [before, kept.status]
    kept.content = content
    if fields:
        yield {"type": "updated", "fields": dict(sorted(fields.items()))}
    if kept.status == "reserved" != before:
        yield {"type": "reserved"}


def _money_change(kept: _Kept, money: Record) -> Iterator[Event]:
    suspect = kept.suspect
    kept.suspect = None
    old = kept.money["price"]
    new = money["price"]
    if old is None and new is None and money["price_basis"] == kept.money["price_basis"]:
        pass  # without a price, a rent period means nothing
    elif any(money[name] != kept.money[name] for name in MONEY[1:]):
        yield {"type": "price_meaning_changed", "old": kept.money, "new": money}
    elif old != new:
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

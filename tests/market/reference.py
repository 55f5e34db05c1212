"""What the SQL of `realestate.market.loading` computes, once more: event by event, and home by home."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from realestate.storage.history import Event

_ON_THE_MARKET = ("active", "reserved")


@dataclass(frozen=True, slots=True)
class Period:
    """An advert was on the market at one price."""

    portal: str
    ref: str
    begun_at: datetime
    ended_at: datetime | None
    """None if it still is."""
    price: float | None
    """In `money`. None if it is on request, or for a square metre."""
    money: str
    """Currency and rent period: EUR/, AZN/month."""


@dataclass(slots=True)
class _Open:
    begun_at: datetime | None = None
    price: float | None = None
    currency: str | None = None
    basis: str | None = None
    period: str | None = None

    def read_price(self, data: dict[str, Any]) -> None:
        self.price = None if data.get("price") is None else float(data["price"])
        self.currency = data.get("currency")
        self.basis = data.get("price_basis")
        self.period = data.get("rent_period")

    def closed(self, portal: str, ref: str, ended_at: datetime | None) -> Period | None:
        if self.begun_at is None or (ended_at is not None and ended_at <= self.begun_at):
            return None
        price = self.price if self.basis in (None, "total") else None
        return Period(portal, ref, self.begun_at, ended_at, price, f"{self.currency or ''}/{self.period or ''}")


def periods(events: Iterable[Event]) -> Iterator[Period]:
    """Yield the periods of all adverts, from their events in order."""
    adverts: dict[tuple[str, str], _Open] = {}
    for event in events:
        advert = adverts.setdefault((event.portal, event.ref), _Open())
        ended = _time_left(event) if event.type == "delisted" else event.at
        match event.type:
            case "listed" | "relisted":
                if "currency" in event.data:
                    advert.read_price(event.data)
                if event.data.get("status", "active") in _ON_THE_MARKET or event.type == "relisted":
                    advert.begun_at = advert.begun_at or event.at
            case "price_changed" | "price_meaning_changed":
                yield from filter(None, [advert.closed(event.portal, event.ref, event.at)])
                new = event.data["new"]
                if isinstance(new, dict):
                    advert.read_price({"currency": advert.currency, **new})
                else:
                    advert.price = float(new)
                if advert.begun_at is not None:
                    advert.begun_at = event.at
            case "delisted" | "sold" | "rented":
                yield from filter(None, [advert.closed(event.portal, event.ref, ended)])
                advert.begun_at = None
    for (portal, ref), advert in adverts.items():
        yield from filter(None, [advert.closed(portal, ref, None)])


def _time_left(event: Event) -> datetime:
    """When a delisted advert left: it was known to be gone then. It is a text in events of a restored backup."""
    before = event.data.get("before")
    if isinstance(before, str):
        return datetime.fromisoformat(before)
    return before if isinstance(before, datetime) else event.at


def usual(records: Sequence[dict[str, Any]], name: str) -> Any:
    """The value that most adverts of a home have; of equally common ones, the first."""
    values = [record[name] for record in records if record[name] is not None]
    return max(values, key=values.count) if values else None

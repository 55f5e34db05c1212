"""What a message about an event says: title, price, change, links to the advert and a map, a picture."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from realestate.storage.history import Event, EventType
from realestate.storage.query import Facts
from realestate.storage.searches import Search

_HAPPENED: Mapping[EventType, str] = {
    "listed": "New",
    "price_changed": "Price changed",
    "price_meaning_changed": "Price changed",
    "reserved": "Reserved",
    "sold": "Sold",
    "rented": "Rented",
    "delisted": "Gone",
    "relisted": "Back on the market",
}
_BASIS = {"per_m2": "/m²", "total": "", "on_request": ""}


@dataclass(frozen=True, slots=True)
class Message:
    """A message for a person, and the same for a program."""

    title: str
    body: str
    data: dict[str, Any]


def message_of(search: Search, event: Event, facts: Facts) -> Message:
    title = f"{_HAPPENED[event.type]}: {facts['title'] or facts['property_type'] or 'a home'}"
    lines = [price_of(facts), _change(event), _size(facts), _place(facts), str(facts["url"])]
    if map_link := map_of(facts):
        lines.append(map_link)
    if facts["photo"]:
        lines.append(str(facts["photo"]))
    lines.append(f"Search: {search.name}")
    data = {
        "search": search.name,
        "event": event.type,
        "at": event.at.isoformat(),
        "portal": event.portal,
        "ref": event.ref,
        "url": facts["url"],
        "title": facts["title"],
        "price": None if facts["price"] is None else str(facts["price"]),
        "currency": facts["currency"],
        "map": map_of(facts),
        "photo": facts["photo"],
        "change": event.data if event.type in ("price_changed", "price_meaning_changed") else None,
    }
    return Message(title, "\n".join(filter(None, lines)), data)


def price_of(facts: Facts) -> str:
    if facts["price"] is None:
        return "Price on request" if facts["price_basis"] == "on_request" else ""
    period = f" a {facts['rent_period']}" if facts["rent_period"] else ""
    return f"{_amount(facts['price'])} {facts['currency']}{_BASIS.get(facts['price_basis'] or '', '')}{period}"


def _change(event: Event) -> str:
    if event.type != "price_changed":
        return ""
    old = Decimal(str(event.data["old"]))
    return f"before: {_amount(old)} {event.data['currency']} ({event.data['percent']:+g} %)"


def _amount(value: Decimal) -> str:
    return f"{value:,.2f}".removesuffix(".00")


def _size(facts: Facts) -> str:
    rooms = facts["rooms"] and f"{facts['rooms']} room{'' if facts['rooms'] == 1 else 's'}"
    area = facts["area_m2"] and f"{facts['area_m2']:g} m²"
    return ", ".join(filter(None, (rooms, area)))


def _place(facts: Facts) -> str:
    names = dict.fromkeys(filter(None, (facts["street"], facts["district"], facts["city"])))
    return ", ".join(names)


def map_of(facts: Facts) -> str | None:
    """The address of a map of the place."""
    latitude, longitude = facts["latitude"], facts["longitude"]
    if latitude is None or longitude is None:
        return None
    return f"https://www.openstreetmap.org/?mlat={latitude}&mlon={longitude}#map=16/{latitude}/{longitude}"

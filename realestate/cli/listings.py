"""`realestate history` and `realestate events`: what happened to the listings."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from realestate.cli.options import JsonFlag, PortalArgument

if TYPE_CHECKING:
    from datetime import datetime

    from realestate.storage.history import Event, EventFilter, PriceSeen
    from realestate.storage.store import Numbered


def history(
    portal: PortalArgument,
    ref: Annotated[str, typer.Argument(help="The portal's id of the listing.")],
    json: JsonFlag = False,
) -> None:
    """Show all events and all prices of one listing."""
    from realestate.cli import terminal
    from realestate.cli.connections import check_portals, opened_store
    from realestate.cli.errors import UsageError

    with opened_store() as store:
        events = store.history(portal, ref)
        prices = store.prices(portal, ref)
    if not events:
        check_portals([portal])
        raise UsageError(f"{portal} has no listing {ref!r}")
    if json:
        terminal.print_json({"events": [asdict(each) for each in events], "prices": [asdict(each) for each in prices]})
    else:
        print_history(events, prices)


def events(
    after: Annotated[int, typer.Option(help="The number of the last event you have; 0 is the beginning.")] = 0,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most this many.")] = 100,
    portal: Annotated[str | None, typer.Option(help="Only of this portal.")] = None,
    type: Annotated[str | None, typer.Option(help="Only of this type, such as price_changed.")] = None,
    since: Annotated[
        str | None, typer.Option(help="Only from this day or time on: 2026-11-01, 2026-11-01T09:30.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Only before this day or time.")] = None,
    json: JsonFlag = False,
) -> None:
    """Show the events of all portals in their order. With the last number in --after you get the next ones."""
    from realestate.cli.connections import opened_store

    wanted = _event_filter(portal, type, since, until)
    with opened_store() as store:
        found = store.events(after, limit, wanted)
    if json:
        print_events_as_json(found)
    elif found:
        print_events(found)
    else:
        print("no event matches", file=sys.stderr)


def _event_filter(portal: str | None, type: str | None, since: str | None, until: str | None) -> "EventFilter":
    from realestate.cli.errors import UsageError
    from realestate.storage.history import EVENT_TYPES, EventFilter

    known = next((each for each in EVENT_TYPES if each == type), None)
    if type is not None and known is None:
        raise UsageError(f"there is no event of type {type!r}: use one of {', '.join(EVENT_TYPES)}")
    return EventFilter(portal=portal, type=known, since=time_of("--since", since), until=time_of("--until", until))


def time_of(option: str, text: str | None) -> "datetime | None":
    """A day or a time in ISO 8601. Without a time zone it is UTC, as the times that are printed."""
    from datetime import UTC, datetime

    from realestate.cli.errors import UsageError

    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{option} {text!r} is not a day or a time: write 2026-11-01 or 2026-11-01T09:30") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def print_history(events: "Sequence[Event]", prices: "Sequence[PriceSeen]") -> None:
    from realestate.cli import terminal

    for event in events:
        print(f"{event.at:%Y-%m-%d %H:%M}  {event.type:<22} {_details(event)}")
    rows = [
        [
            f"{each.at:%Y-%m-%d %H:%M}",
            _price(asdict(each)),
            each.source,
            "suspect, not confirmed yet" if each.suspect else "",
        ]
        for each in prices
    ]
    print()
    terminal.print_columns(["seen", "price", "where", ""], rows, left=3, empty="no price was seen")


def print_events(found: "Sequence[Numbered]") -> None:
    width = max((len(f"{each.event.portal}/{each.event.ref}") for each in found), default=0)
    for each in found:
        event = each.event
        listing = f"{event.portal}/{event.ref}"
        print(
            f"{each.seq:>8}  {event.at:%Y-%m-%d %H:%M}  {listing:<{width}}  {event.type:<22}{_details(event)}".rstrip()
        )


def print_events_as_json(found: "Sequence[Numbered]") -> None:
    """Print one JSON object per line."""
    from realestate.cli import terminal

    for each in found:
        terminal.print_json({"seq": each.seq, **asdict(each.event)}, indent=0)


def _details(event: "Event") -> str:
    """The data of an event as short text."""
    import msgspec

    match event.data:
        case {"old": int() | float() as old, "new": int() | float() as new, "percent": float() as percent}:
            currency = f" {event.data['currency']}" if event.data.get("currency") else ""
            return f"{old:,} -> {new:,}{currency} ({percent:+.1f} %)"
        case {"old": dict() as old, "new": dict() as new}:
            return f"{_price(old)} -> {_price(new)}"
        case {"fields": dict() as fields}:
            return ", ".join(_change(name, *values) for name, values in fields.items())
        case {"fields": list() as fields}:  # events of older versions have no values
            return ", ".join(fields)
        case {"price": _, "currency": _}:
            return _price(event.data)
        case {"was": str() as was}:
            return f"was {was}"
        case {"evidence": dict() as evidence}:
            return str(evidence.get("detail") or evidence.get("kind") or "")
        case data:
            return msgspec.json.encode(data, enc_hook=str).decode() if data else ""


def _price(fields: Mapping[str, Any]) -> str:
    """A price with its currency, and what it is for: a month, a square metre."""
    if fields["price"] is None:
        return "on request" if fields.get("price_basis") == "on_request" else "no price"
    amount = f"{fields['price']:,.2f}".removesuffix(".00")
    period = f" a {fields['rent_period']}" if fields.get("rent_period") else ""
    basis = " a m²" if fields.get("price_basis") == "per_m2" else ""
    return f"{amount} {fields['currency']}{period}{basis}"


#: Longer values are not shown: `--json` has them.
_LONGEST = 30


def _change(name: str, old: Any, new: Any) -> str:
    """The name of a changed field, with its old and new value if they are short."""
    if isinstance(old, list | dict) or isinstance(new, list | dict):
        return name
    shown = ["-" if value is None else str(value) for value in (old, new)]
    if any(len(value) > _LONGEST or "\n" in value for value in shown) or shown == ["-", "-"]:
        return name
    return f"{name} {shown[0]} -> {shown[1]}"

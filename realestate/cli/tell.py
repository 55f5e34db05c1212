"""How what happened looks on a terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from realestate.items import Part
from realestate.storage.history import Event, PriceSeen
from realestate.storage.store import Conclusion, Job, Numbered

_console = Console()
_ENCODER = msgspec.json.Encoder(decimal_format="number")


def history(events: Sequence[Event], prices: Sequence[PriceSeen], *, as_json: bool) -> None:
    if as_json:
        _json({"events": [_event(each) for each in events], "prices": [asdict(each) for each in prices]})
        return
    for event in events:
        print(f"{event.at:%Y-%m-%d %H:%M}  {event.type:<22} {_data(event)}")
    table = Table("seen", "price", "where", "", box=None, header_style="dim")
    for each in prices:
        doubt = "not believed yet" if each.suspect else ""
        table.add_row(f"{each.at:%Y-%m-%d %H:%M}", _money(asdict(each)), each.source, doubt)
    _console.print(table)


def events(found: Sequence[Numbered], *, as_json: bool) -> None:
    if as_json:
        for each in found:
            _json({"seq": each.seq, **_event(each.event)})
        return
    for each in found:
        event = each.event
        what = f"{event.portal}/{event.ref}"
        print(f"{each.seq:>8}  {event.at:%m-%d %H:%M}  {what:<18} {event.type:<22} {_data(event)}")


def runs(found: Sequence[Job], *, as_json: bool) -> None:
    if as_json:
        _json([asdict(each) for each in found])
        return
    table = Table(
        "job", "portal", "mode", "started", "complete", "gone", "verdict", "why", box=None, header_style="dim"
    )
    for each in found:
        complete = {None: "", True: "yes", False: "no"}[each.complete]
        gone, verdict = str(each.departures or ""), each.verdict or ""
        started = f"{each.started_at:%m-%d %H:%M}"
        table.add_row(each.job, each.portal, each.mode, started, complete, gone, verdict, each.reason or "")
    _console.print(table)


def parts(found: Sequence[Part], *, as_json: bool) -> None:
    """Each search with its parts below it, and what they have together."""
    if as_json:
        _json([asdict(each) for each in found])
        return
    table = Table("search", "results", "in parts", box=None, header_style="dim")
    inside: dict[str | None, list[Part]] = {}
    for each in found:
        inside.setdefault(each.parent, []).append(each)

    def add(part: Part, depth: int) -> None:
        below = inside.get(part.search, [])
        together = str(sum(each.total or 0 for each in below)) if part.is_split else ""
        table.add_row("  " * depth + part.search, "?" if part.total is None else str(part.total), together)
        for each in below:
            add(each, depth + 1)

    for part in inside.get(None, []):
        add(part, 0)
    _console.print(table)


def conclusion(found: Conclusion, *, as_json: bool) -> None:
    if as_json:
        _json(asdict(found))
    else:
        print(f"{found.delisted} listings delisted, of {found.found} found gone and {found.offered} offered")


def _event(event: Event) -> dict[str, Any]:
    return asdict(event)


def _data(event: Event) -> str:
    match event.data:
        case {"old": int() | float() as old, "new": int() | float() as new, "percent": float() as percent}:
            return f"{old:,} -> {new:,} ({percent:+.1f} %)"
        case {"old": dict() as old, "new": dict() as new}:
            return f"{_money(old)} -> {_money(new)}"
        case {"fields": list() | dict() as fields}:
            return ", ".join(fields)
        case {"price": _, "currency": _}:
            return _money(event.data)
        case {"evidence": dict() as evidence}:
            return str(evidence.get("detail") or evidence.get("kind") or "")
        case data:
            return msgspec.json.encode(data, enc_hook=str).decode() if data else ""


def _money(told: Mapping[str, Any]) -> str:
    """A price with what it is a price of."""
    if told["price"] is None:
        return "on request" if told.get("price_basis") == "on_request" else "no price"
    amount = f"{told['price']:,.2f}".removesuffix(".00")
    of = f" a {told['rent_period']}" if told.get("rent_period") else ""
    return f"{amount} {told['currency']}{of}{' a m²' if told.get('price_basis') == 'per_m2' else ''}"


def _json(value: Any) -> None:
    print(_ENCODER.encode(value).decode())

"""`realestate market`: what the market does, by week."""

from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from realestate.cli.options import JsonFlag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from realestate.storage import FullStore
    from realestate.storage.homes import MarketWeek

_BARS = "▁▂▃▄▅▆▇█"


def market(
    place: Annotated[str, typer.Argument(help="A country (AZ), a city, or city/district; accents need not be typed.")],
    operation: Annotated[str, typer.Option(help="sale or rent.")] = "sale",
    type: Annotated[str, typer.Option(help="The kind of property.")] = "apartment",
    weeks: Annotated[int, typer.Option(min=1, max=520, help="How many weeks, up to the last one that is over.")] = 26,
    build: Annotated[bool, typer.Option("--build/--no-build", help="Bring the figures up to date first.")] = True,
    again: Annotated[bool, typer.Option("--again", help="Make the figures of all weeks again.")] = False,
    json: JsonFlag = False,
) -> None:
    """Show prices, supply and time on the market of a place by week, counted by home.

    Figures of fewer than five homes are left out. docs/market.md defines each figure.

    Example: realestate market baku --operation sale --weeks 26
    """
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store
    from realestate.cli.errors import UsageError
    from realestate.market.series import cities, weeks_of_place

    if operation not in ("sale", "rent"):
        raise UsageError(f"there is no operation {operation!r}: use sale or rent")
    with opened_store() as store:
        if build or again:
            _bring_up_to_date(store, again)
        found = weeks_of_place(store, place, operation, type, weeks)
        places = [] if found else cities(store.newest_market_weeks())
    if not found:
        raise UsageError(
            f"there are no figures of {place!r} for {type} {operation};"
            + (f" there are: {', '.join(places[:8])}" if places else " no week is over yet since the first crawl")
        )
    if json:
        terminal.print_json([asdict(row) for row in found])
    else:
        _print(found)


def _bring_up_to_date(store: "FullStore", again: bool) -> None:
    from datetime import date

    from realestate.cli import terminal
    from realestate.cli.homes import demand_analysis
    from realestate.market.build import build

    demand_analysis()
    with terminal.console.status("market figures") as status:
        build(
            store,
            since=date.min + timedelta(days=7) if again else None,
            progress=lambda what, count: status.update(f"{what} {count}"),
        )


def _print(rows: "Sequence[MarketWeek]") -> None:
    from realestate.cli import terminal

    last = rows[-1]
    place = ", ".join(filter(None, (last.district, last.city, last.country)))
    period = f" a {last.rent_period}" if last.rent_period else ""
    print(f"{last.property_type} for {last.operation}, {place}; prices in {last.currency}{period}, counted by home")
    header = ("week", "median", "quartiles", "a m²", "index", "stock", "new", "gone", "months", "days", "cut", "yield")
    cells = [
        [
            f"{row.week:%Y-%m-%d}",
            _number(row.median_price),
            f"{row.price_low:,.0f}-{row.price_high:,.0f}" if row.price_low and row.price_high else "",
            _number(row.median_price_per_m2),
            _number(row.price_index, 1),
            str(row.stock),
            str(row.new),
            str(row.gone),
            _number(row.months_of_supply, 1),
            _number(row.median_days_on_market),
            _percent(row.cut_share),
            _percent(row.gross_yield),
        ]
        for row in rows
    ]
    terminal.print_columns(header, cells, last_is_text=False)
    print(f"median price  {sparkline([row.median_price for row in rows])}")
    print(f"price index   {sparkline([row.price_index for row in rows])}")


def sparkline(values: "Sequence[float | None]") -> str:
    """The values as bars from the lowest to the highest; a missing one is a blank."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low = min(known)
    spread = max(known) - low
    bars = []
    for value in values:
        height = 0 if value is None or not spread else round((value - low) / spread * (len(_BARS) - 1))
        bars.append(" " if value is None else _BARS[height])
    return "".join(bars)


def _number(value: float | None, decimals: int = 0) -> str:
    return "" if value is None else f"{value:,.{decimals}f}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"

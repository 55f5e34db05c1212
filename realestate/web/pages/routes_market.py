"""The routes of the market page."""

from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from realestate.storage.homes import MarketFilter
from realestate.storage.store import MarketRow
from realestate.web.pages.access import Reader
from realestate.web.pages.market import (
    Chosen,
    Market,
    as_csv,
    listings_of,
    place_of,
    read_market,
    tables_of,
    today_as_csv,
    today_of,
)
from realestate.web.pages.render import page
from realestate.web.pages.web import web_of

router = APIRouter(include_in_schema=False)
Text = Annotated[str, Query(max_length=200)]
#: The fields of an address that choose one series.
SERIES = tuple(each.name for each in fields(Chosen))


@router.get("/market")
def show(request: Request, session: Reader, of: Text = "", operation: Text = "", property_type: Text = "") -> Response:
    found = _read(request, of, operation, property_type)
    return page(
        request,
        "market.html",
        session,
        path="/market",
        market=found,
        charts=found.charts(),
        of=of,
        operation=operation,
        property_type=property_type,
        address=address,
        chosen_of=Chosen.of,
        csv=f"/market.csv?{request.url.query}",
        today=tables_of(_today(request, found, of, operation)),
        listings_of=listings_of,
        place_of=place_of,
    )


@router.get("/market.csv")
def download(
    request: Request, session: Reader, of: Text = "", operation: Text = "", property_type: Text = ""
) -> Response:
    """The weeks of the series that the page shows; before the first week is over, today's medians."""
    found = _read(request, of, operation, property_type)
    today = _today(request, found, of, operation)
    headers = {"Content-Disposition": 'attachment; filename="market.csv"', "X-Content-Type-Options": "nosniff"}
    text = today_as_csv(today) if today else as_csv(found.weeks)
    return Response(text, headers=headers, media_type="text/csv; charset=utf-8")


def _today(request: Request, found: Market, of: str, operation: str) -> Sequence[MarketRow]:
    """Today's medians, until there are figures by week."""
    return () if found.places else today_of(web_of(request).site.market.get(), of.upper(), operation)


def _read(request: Request, of: str, operation: str, property_type: str) -> Market:
    """`of` is a country; the fields of a series begin with `in_`."""
    wanted = MarketFilter(country=of.upper() or None, operation=operation or None, property_type=property_type or None)
    asked = {name: request.query_params.get(f"in_{name}", "")[:200] for name in SERIES}
    series = {name: value for name, value in asked.items() if value}
    today = datetime.now(UTC).date()
    site = web_of(request).site
    return read_market(site.ask, site.newest_weeks.get(), wanted, series, today)


def address(chosen: Chosen, **more: str) -> str:
    """The address of a series, within the places that are listed."""
    asked = {name: value for name, value in more.items() if value}
    return "/market?" + urlencode({**asked, **{f"in_{name}": value for name, value in chosen.asked.items()}})

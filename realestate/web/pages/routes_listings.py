"""The routes of the listings: the page, and what its map loads."""

from dataclasses import replace
from itertools import chain
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse, StreamingResponse

from realestate.exports import FORMATS, FormatName, MissingExtra, WrongExport
from realestate.storage import FullStore
from realestate.storage.query import DEFAULT_SORT, EVERYTHING, Box, Filter, Polygon, QueryError, parse_box, parse_filter
from realestate.web.pages import exports
from realestate.web.pages import filters as shown
from realestate.web.pages import map as maps
from realestate.web.pages.access import Reader
from realestate.web.pages.formats import Formats
from realestate.web.pages.listings import Listings, read_listings
from realestate.web.pages.policy import origins, policy
from realestate.web.pages.render import compressed, formats_of, page
from realestate.web.pages.web import web_of

router = APIRouter(include_in_schema=False)
#: Labels of places in one view.
LABELS = 40
FORM_FIELDS = {each.name for each in (*shown.CHOICES, *shown.NUMBERS, shown.TEXT)}
Text = Annotated[str, Query(max_length=9000)]
Zoom = Annotated[float, Query(ge=-5, le=30, allow_inf_nan=False)]


@router.get("/listings")
def show(
    request: Request,
    session: Reader,
    where: Text = "",
    sort: str = DEFAULT_SORT,
    cursor: str = "",
    did: str = "",
    kind: str = "good",
) -> Response:
    web = web_of(request)
    fmt = formats_of(request)
    given = {name: value for name, value in request.query_params.items() if name in FORM_FIELDS}
    found: Listings | None = None
    error = ""
    filter = EVERYTHING
    try:
        filter = parse_filter(where)
        if given:
            # A form has a field for each condition: the address that people share has only the filter.
            return RedirectResponse(shown.address(shown.with_form(filter, given), sort), 303)
        found = web.site.ask(lambda store: read_listings(store, filter, sort, cursor or None))
    except QueryError as problem:
        error = str(problem)
    tiles = origins([web.tiles.url]) if web.tiles else []
    return page(
        request,
        "listings.html",
        session,
        path="/listings",
        status=422 if error else 200,
        content_security_policy=policy(tiles=tiles),
        of=found,
        error=error,
        where=where,
        sort=sort,
        filter=filter,
        shown=shown,
        form=shown.form_values(filter),
        chips=shown.chips(filter, sort, fmt),
        facets=shown.shown_facets(found.facets, filter, sort) if found else [],
        without_area=shown.written(_without_area(filter)),
        tiles=web.tiles,
        exports=[
            (label, shown.address(filter, path=f"{shown.PATH}/export.{name}")) for name, label in exports.offered()
        ],
        searches=web.site.ask(lambda store: store.searches()) if session.may_operate else (),
        did=session.read(did),
        kind="bad" if kind == "bad" else "good",
        is_empty_store=web.site.fleet.get().is_empty,
    )


@router.get("/listings/export.{format}")
def export(request: Request, session: Reader, format: FormatName, where: Text = "") -> Response:
    """The whole selection, not only the page that is shown."""
    filter = parse_filter(where)
    parts = exports.streamed(web_of(request).site.ask, filter, format)
    try:
        first = next(parts, b"")
    except (WrongExport, MissingExtra) as problem:
        return page(request, "problem.html", session, status=422, title="Not exported", text=f"{problem}.")
    made = FORMATS[format]
    headers = {
        "Content-Disposition": f'attachment; filename="listings{made.suffixes[0]}"',
        "Cache-Control": "private, no-store",
    }
    return StreamingResponse(chain([first], parts), headers=headers, media_type=made.media_type)


@router.get("/listings/map.json")
def map_data(request: Request, session: Reader, bbox: str, zoom: Zoom, where: Text = "") -> Response:
    """What the map shows of the matches in a box."""
    fmt = formats_of(request)
    try:
        filter = parse_filter(where)
        box = parse_box(bbox)
        found = web_of(request).site.ask(lambda store: _map(store, filter, box, zoom, fmt))
        labels = web_of(request).site.labels_in(box, LABELS) if zoom >= maps.LABELS_ZOOM else []
    except QueryError as problem:
        return Response(msgspec.json.encode({"error": str(problem)}), 422, media_type="application/json")
    body = msgspec.json.encode({**found, "labels": labels})
    return compressed(request, body, 200, {"Cache-Control": "private, max-age=30"}, "application/json")


def _map(store: FullStore, filter: Filter, box: Box, zoom: float, fmt: Formats) -> dict[str, object]:
    count = store.count(filter)
    if zoom >= maps.POINTS_ZOOM or (count.is_exact and count.number <= maps.FEW):
        return maps.point_map(store, filter, box, fmt)
    return maps.hexagon_map(store, filter, box, zoom, fmt)


def _without_area(filter: Filter) -> Filter:
    return replace(filter, conditions=tuple(each for each in filter.conditions if not isinstance(each, Polygon | Box)))

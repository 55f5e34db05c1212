"""Listings: search, count, facets, map, and one listing with all that is known of it."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request

from realestate.items import as_record
from realestate.storage.query import (
    DEFAULT_SORT,
    FACETS,
    LARGEST_PAGE,
    ROW_FIELDS,
    SORTS,
    ListingDetail,
    ListingQuery,
    QueryError,
    parse_box,
)
from realestate.storage.query.results import MOST_POINTS, RESOLUTIONS
from realestate.web.json_response import JsonResponse, Refusal
from realestate.web.parameters import (
    FLAG,
    NUMBER,
    OBJECT,
    TEXT,
    TEXT_OR_NULL,
    BoxText,
    Portal,
    Where,
    a_list,
    an_object,
    filter_of,
    responses,
)
from realestate.web.security import reads
from realestate.web.stores import stores_of

router = APIRouter(prefix="/listings", tags=["listings"], dependencies=[Depends(reads)])

Cursor = Annotated[str | None, Query(description="`next` of the page before; none for the first page.")]
Sort = Annotated[str, Query(description=f"One of {', '.join(SORTS)}; with a minus the largest come first.")]
Limit = Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="Listings on one page.")]
Names = Annotated[str | None, Query(description="Names of fields, separated by commas.")]
Resolution = Annotated[int, Query(ge=RESOLUTIONS[0], le=RESOLUTIONS[-1], description="The resolution of H3.")]


@router.get("", responses=responses("One page", an_object(listings=a_list(OBJECT), next=TEXT_OR_NULL)))
def search(
    request: Request,
    where: Where = "",
    sort: Sort = DEFAULT_SORT,
    cursor: Cursor = None,
    fields: Names = None,
    limit: Limit = 50,
) -> JsonResponse:
    """Search listings."""
    wanted = ROW_FIELDS if fields is None else _names(fields)
    query = ListingQuery(filter=filter_of(where), sort=sort, cursor=cursor, fields=wanted, page_size=limit)
    with stores_of(request).lent() as store:
        page = store.search(query)
    return JsonResponse({"listings": page.rows, "next": page.next})


@router.get("/count", responses=responses("The number", an_object(number=NUMBER, is_exact=FLAG, text=TEXT)))
def count(request: Request, where: Where = "") -> JsonResponse:
    """Count the listings that match: exactly, or "10,000+"."""
    with stores_of(request).lent() as store:
        found = store.count(filter_of(where))
    return JsonResponse({"number": found.number, "is_exact": found.is_exact, "text": str(found)})


@router.get("/facets", responses=responses("The values of each field", an_object(facets=a_list(OBJECT))))
def facets(request: Request, where: Where = "", fields: Names = None) -> JsonResponse:
    """Count the values of fields among the matches, the most frequent first."""
    wanted = FACETS if fields is None else _names(fields)
    with stores_of(request).lent() as store:
        found = store.facets(filter_of(where), wanted)
    return JsonResponse({"facets": [asdict(each) for each in found]})


@router.get("/hexagons", responses=responses("Cells of H3 with counts", an_object(hexagons=a_list(OBJECT))))
def hexagons(
    request: Request, where: Where = "", resolution: Resolution = 6, bbox: BoxText | None = None
) -> JsonResponse:
    """Count the matches on the map by cell of H3."""
    box = None if bbox is None else parse_box(bbox)
    with stores_of(request).lent() as store:
        found = store.hexagons(filter_of(where), resolution, box)
    return JsonResponse({"hexagons": [{"cell": each.cell, "count": each.count} for each in found]})


@router.get("/points", responses=responses("Points of the map", an_object(points=a_list(OBJECT))))
def points(
    request: Request,
    bbox: BoxText,
    where: Where = "",
    limit: Annotated[int, Query(ge=1, le=MOST_POINTS)] = MOST_POINTS,
) -> JsonResponse:
    """The matches within a box, at most this many."""
    with stores_of(request).lent() as store:
        found = store.points(filter_of(where), parse_box(bbox), limit)
    return JsonResponse({"points": [asdict(each) for each in found]})


_DETAIL = an_object(listing=OBJECT, derived=OBJECT, events=a_list(OBJECT), prices=a_list(OBJECT), pages=a_list(OBJECT))


@router.get("/{portal}/{ref:path}", responses=responses("The listing", _DETAIL, 404))
def one(request: Request, portal: Portal, ref: Annotated[str, Path(max_length=500)]) -> JsonResponse:
    """One listing with its events, its prices and the index of its raw pages."""
    with stores_of(request).lent() as store:
        found = store.detail(portal, ref)
    if found is None:
        raise Refusal(404, f"there is no listing {portal}/{ref}")
    return JsonResponse(described(found))


def described(found: ListingDetail) -> dict[str, Any]:
    """The listing as JSON values."""
    return {
        "listing": as_record(found.listing),
        "derived": found.facts,
        "events": [asdict(each) for each in found.events],
        "prices": [asdict(each) for each in found.prices],
        "pages": [asdict(each) for each in found.pages],
    }


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(each.strip() for each in text.split(",")))
    if len(names) > 100:
        raise QueryError("at most 100 fields can be named")
    return names

"""Homes, and market figures counted by home."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request

from realestate.market.series import weeks_of_place
from realestate.storage.homes import HomeFilter
from realestate.web.json_response import JsonResponse, Refusal
from realestate.web.parameters import OBJECT, TEXT, TEXT_OR_NULL, a_list, an_object, responses
from realestate.web.security import reads
from realestate.web.stores import stores_of

router = APIRouter(dependencies=[Depends(reads)])

#: Homes on the largest page.
MOST_HOMES = 500
#: Weeks of the longest series.
MOST_WEEKS = 520

Country = Annotated[str | None, Query(description="Two letters, such as AZ.", pattern="^[A-Z]{2}$")]
Name = Annotated[str | None, Query(description="As the adverts write it.", max_length=200)]
Operation = Annotated[str | None, Query(description="sale or rent.", pattern="^(sale|rent)$")]
Type = Annotated[str | None, Query(description="The kind of property.", pattern="^[a-z_]{1,40}$")]


@router.get(
    "/homes", tags=["homes"], responses=responses("One page", an_object(homes=a_list(OBJECT), next=TEXT_OR_NULL))
)
def homes(
    request: Request,
    country: Country = None,
    city: Name = None,
    district: Name = None,
    operation: Operation = None,
    property_type: Type = None,
    active: Annotated[bool | None, Query(description="Only homes on the market, or only others.")] = None,
    after: Annotated[str, Query(description="`next` of the page before.", max_length=100)] = "",
    limit: Annotated[int, Query(ge=1, le=MOST_HOMES, description="Homes on one page.")] = 50,
) -> JsonResponse:
    """Homes by id: all adverts of one dwelling as one row."""
    wanted = HomeFilter(
        country=country,
        city=city,
        district=district,
        operation=operation,
        property_type=property_type,
        is_active=active,
    )
    with stores_of(request).lent() as store:
        found = store.homes(wanted, after=after, limit=limit + 1)
    following = found[limit - 1].home if len(found) > limit else None
    return JsonResponse({"homes": [asdict(each) for each in found[:limit]], "next": following})


_HOME = an_object(home=OBJECT, listings=a_list(OBJECT), links=a_list(OBJECT))


@router.get("/homes/{home}", tags=["homes"], responses=responses("The home", _HOME, 404))
def one_home(request: Request, home: Annotated[str, Path(max_length=100)]) -> JsonResponse:
    """One home, its adverts, and why they are one home."""
    with stores_of(request).lent() as store:
        found = store.home(home)
        if found is None:
            raise Refusal(404, f"there is no home {home}")
        members = store.home_members(home)
        links = store.home_links(home)
    return JsonResponse(
        {
            "home": asdict(found),
            "listings": [{"portal": each.portal, "ref": each.ref} for each in members],
            "links": [_link(asdict(each)) for each in links],
        }
    )


_WEEKS = an_object(place=TEXT, weeks=a_list(OBJECT))


@router.get("/market", tags=["homes"], responses=responses("The weeks, the oldest first", _WEEKS, 404))
def market(
    request: Request,
    place: Annotated[str, Query(description="A country (AZ), a city, or city/district.", max_length=200)],
    operation: Annotated[str, Query(description="sale or rent.", pattern="^(sale|rent)$")] = "sale",
    property_type: Annotated[str, Query(description="The kind of property.", pattern="^[a-z_]{1,40}$")] = "apartment",
    weeks: Annotated[int, Query(ge=1, le=MOST_WEEKS, description="How many weeks, up to the last one.")] = 26,
) -> JsonResponse:
    """The market of a place by week, counted by home: what `realestate market` stored last."""
    with stores_of(request).lent() as store:
        found = weeks_of_place(store, place, operation, property_type, weeks)
    if not found:
        raise Refusal(404, f"there are no figures of {place} for {property_type} {operation}")
    return JsonResponse({"place": place, "weeks": [asdict(each) for each in found]})


def _link(link: dict[str, Any]) -> dict[str, Any]:
    reasons = [{"what": what, "log_odds": weight} for what, weight in link["reasons"]]
    return {"a": link["a"], "b": link["b"], "score": link["score"], "reasons": reasons}

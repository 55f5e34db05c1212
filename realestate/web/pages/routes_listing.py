"""The routes of the page of one listing."""

from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response

from realestate.web.pages import listing as model
from realestate.web.pages.access import Reader
from realestate.web.pages.policy import origins, policy
from realestate.web.pages.render import formats_of, page
from realestate.web.pages.web import web_of

router = APIRouter(include_in_schema=False)


@router.get("/listings/{portal}/{ref:path}/prices.csv")
def prices(request: Request, portal: str, ref: str, session: Reader) -> Response:
    found = web_of(request).site.ask(lambda store: store.prices(portal, ref))
    headers = {"Content-Disposition": 'attachment; filename="prices.csv"', "X-Content-Type-Options": "nosniff"}
    return Response(model.prices_as_csv(found), headers=headers, media_type="text/csv; charset=utf-8")


@router.get("/listings/{portal}/{ref:path}")
def show(request: Request, portal: str, ref: str, session: Reader) -> Response:
    found = web_of(request).site.ask(lambda store: model.read_listing(store, portal, ref))
    if found is None:
        text = f"There is no listing {ref!r} of {portal}. It may have been erased."
        return page(request, "problem.html", session, status=404, title="No such listing", text=text)
    fmt = formats_of(request)
    now = datetime.now(UTC)
    return page(
        request,
        "listing.html",
        session,
        path="/listings",
        content_security_policy=policy(images=origins(found.photos)),
        of=found,
        listing=found.listing,
        facts=model.facts_of(found.listing, fmt),
        event_lines=model.event_lines(found.events, fmt),
        chart=found.chart(now),
        elsewhere=found.elsewhere,
    )

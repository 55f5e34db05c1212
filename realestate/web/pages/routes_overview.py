"""The routes of the overview, and the licences of what the pages are made with."""

from collections.abc import Mapping

from fastapi import APIRouter, Request, Response

from realestate.web.pages.access import Reader
from realestate.web.pages.live import stream
from realestate.web.pages.overview import read_overview
from realestate.web.pages.render import formats_of, fragment, page
from realestate.web.pages.static import files
from realestate.web.pages.web import web_of

router = APIRouter(include_in_schema=False)


@router.get("/")
def show(request: Request, session: Reader) -> Response:
    overview = read_overview(web_of(request).site, formats_of(request))
    return page(request, "overview.html", session, path="/", live="/live/overview", overview=overview)


@router.get("/live/overview")
def live(request: Request, session: Reader) -> Response:
    def parts() -> Mapping[str, str]:
        overview = read_overview(web_of(request).site, formats_of(request))
        return {"overview": fragment(request, "overview_live.html", session, overview=overview)}

    return stream(request, parts)


@router.get("/licences")
def licences(request: Request, session: Reader) -> Response:
    found = {
        name.removeprefix("vendor/licences/").removesuffix(".txt"): path.read_text("utf-8")
        for name, path in files().items()
        if name.startswith("vendor/licences/")
    }
    return page(request, "licences.html", session, licences=found)

"""A portal like immoweb: search results in JSON, and pages with `window.classified = {…}`."""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

import msgspec

from realestate.items import Listing
from realestate.simulator.adverts import Advert
from realestate.simulator.immoweb import truth
from realestate.simulator.immoweb.classified import classified
from realestate.simulator.immoweb.page import advert_page, search_page
from realestate.simulator.immoweb.projects import Projects
from realestate.simulator.immoweb.query import DEALS, TYPES, Search
from realestate.simulator.immoweb.results import results_page
from realestate.simulator.site import JSON, Request, Response, Site
from realestate.simulator.world import World

_SEARCH = re.compile(r"/en/(search|search-results)/([a-z-]+)/([a-z-]+)")
_CLASSIFIED = re.compile(r"/en/classified/(?:.*/)?(\d{6,9})", re.DOTALL | re.ASCII)

#: The page of a sold home stays for this many days, and is then removed like the others.
SOLD_DAYS = 3


class Immoweb(Site):
    portal = "immoweb"
    index = "/en/search/house-and-apartment/for-sale"
    versions = "etag"

    def __init__(self, world: World, base: str) -> None:
        super().__init__(world, base)
        self.projects = Projects(world, self.portal)

    def searched(self) -> list[Advert]:
        """Return all adverts except those that only the page of their project shows."""
        hidden = self.projects.hidden()
        return [advert for advert in super().searched() if advert not in hidden]

    def drop_pages(self, adverts: Iterable[Advert]) -> None:
        """Drop changed pages from the cache, and those of their projects, which show their homes."""
        changed = list(adverts)
        super().drop_pages([*changed, *self.projects.of(changed)])

    def route(self, request: Request) -> Response | None:
        if match := _CLASSIFIED.fullmatch(request.path):
            return self._classified(request.path, int(match[1]))
        match = _SEARCH.fullmatch(request.path)
        if match and match[2] in TYPES and match[3] in DEALS:
            return self._search(match[1], Search.of(match[2], match[3], request.query), request.query)
        return None

    def path(self, advert: Advert) -> str:
        place = advert.home.place
        kind = advert.home.subtype.replace("_", "-")
        deal = f"for-{advert.home.operation}"
        city = place.city.lower().replace(" ", "-")
        return quote(f"/en/classified/{kind}/{deal}/{city}/{place.postal_code}/{advert.ref}")

    def listing(self, advert: Advert) -> Listing:
        return truth.listing(advert, self.base + self.path(advert))

    def render(self, advert: Advert) -> bytes:
        return advert_page(advert, self.base + self.path(advert), classified(advert, self.projects.units(advert)))

    def _classified(self, path: str, ref: int) -> Response:
        advert = self.world.adverts[self.portal].get(ref)
        if advert is None or self._is_gone(advert):
            status = 410 if advert is not None and advert.gone == "410" else 404
            return Response("listing", b"<title>Page not found</title><h1>This page is gone</h1>", status)
        if quote(path) != self.path(advert):
            return self.moved(advert)
        return self.page(advert)

    def _is_gone(self, advert: Advert) -> bool:
        is_shown_as_sold = advert.gone == "sold" and self.world.day - advert.gone_on_day < SOLD_DAYS
        return advert.gone is not None and not is_shown_as_sold

    def _search(self, form: str, search: Search, query: Mapping[str, str]) -> Response:
        response = results_page(search, query, self.found(search), self.shown().adverts)
        if form == "search":
            return Response("search", search_page(response))
        return Response("search", msgspec.json.encode(response), content_type=JSON)

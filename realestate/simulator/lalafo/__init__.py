"""A portal like lalafo: an API that needs the headers of its application, and pages made from its responses."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from realestate.items import Listing
from realestate.simulator.adverts import Advert
from realestate.simulator.lalafo import document, filler, truth
from realestate.simulator.lalafo.categories import tree
from realestate.simulator.lalafo.facts import CITIES, ROOT
from realestate.simulator.lalafo.feed import Search, feed_page
from realestate.simulator.lalafo.page import advert_page, search_page
from realestate.simulator.site import JSON, Found, Kind, Request, Response, Site

_API = "/api/search/v3/feed/"
_TREE = "/api/proxy/catalog/v3/categories/tree"
_DETAILS = re.compile(_API + r"details/(\d{1,12})", re.ASCII)
_ADVERT = re.compile(r"/[a-z-]+/ads/(?:[^/]*-)?id-(\d{1,12})", re.ASCII)
_LIST = re.compile(r"/(azerbaijan|" + "|".join(alias for _, alias in CITIES.values()) + r")/nedvizhimost")
_OTHERS = 3


class Lalafo(Site):
    portal = "lalafo"
    index = "/azerbaijan/nedvizhimost"

    def route(self, request: Request) -> Response | None:
        if request.path.startswith(_API) or request.path == _TREE:
            return self._api(request)
        if match := _ADVERT.fullmatch(request.path):
            return self._advert(request.path, int(match[1]))
        match = _LIST.fullmatch(request.path)
        return self._list(match[1], request.query) if match else None

    def _api(self, request: Request) -> Response:
        """Return a response of the API. The headers must name the application and the country."""
        match = _DETAILS.fullmatch(request.path)
        if request.headers.get("device") not in ("pc", "mobile"):
            return Response("listing" if match else "search", b'{"name":"Expectation Failed","status":417}', 417, JSON)
        if match:
            return self._details(int(match[1]), request.query, request.headers)
        if request.path == _TREE:
            return Response("search", msgspec.json.encode(tree()), 200, JSON)
        if request.path != _API + "search":
            return _json("other", {"name": "Not Found", "status": 404}, 404)
        is_here = request.headers.get("country-id") == str(document.COUNTRY)
        found = self.found(Search.of(request.query)) if is_here else Found([], 0)
        return _json("search", feed_page(request.query, found, self.shown().adverts))

    def path(self, advert: Advert) -> str:
        return document.path(advert)

    def listing(self, advert: Advert) -> Listing:
        return truth.listing(advert, self.base + self.path(advert))

    def render(self, advert: Advert) -> bytes:
        others = [filler.furniture(filler.FIRST + (advert.ref + number) % filler.COUNT) for number in range(_OTHERS)]
        return advert_page(document.details(advert), others)

    def _details(self, ref: int, request: Mapping[str, str], headers: Mapping[str, str]) -> Response:
        if filler.FIRST <= ref < filler.FIRST + filler.COUNT:
            return _json("listing", filler.furniture(ref))
        advert = self.world.adverts[self.portal].get(ref)
        if advert is None or advert.gone == "404":
            return _json("listing", {"name": "Not Found", "message": "Ad not found", "status": 404}, 404)
        data = document.details(advert, in_russian=headers.get("language") != "az_AZ")
        if "url" not in request.get("expand", "").split(","):
            del data["url"]
        return _json("listing", data)

    def _advert(self, path: str, ref: int) -> Response:
        advert = self.world.adverts[self.portal].get(ref)
        if advert is None or advert.gone == "404":
            return Response("listing", b"<title>404</title><h1>Elan tap\xc4\xb1lmad\xc4\xb1</h1>", 404)
        return self.page(advert) if path == self.path(advert) else self.moved(advert)

    def _list(self, place: str, request: Mapping[str, str]) -> Response:
        """Return a search page of the website, which has filters in its path and another page size."""
        city = next((number for number, alias in CITIES.values() if alias == place), None)
        query = {**request, "category_id": str(ROOT), "expand": "url", "per-page": "20"}
        query |= {} if city is None else {"city_id": str(city)}
        return Response("search", search_page(feed_page(query, self.found(Search.of(query)), self.shown().adverts)))


def _json(kind: Kind, data: dict[str, Any], status: int = 200) -> Response:
    return Response(kind, msgspec.json.encode(data), status, JSON)

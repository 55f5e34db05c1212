"""A portal like emlak: plain HTML, cards in the search, label and value on the pages."""

import re
from collections.abc import Mapping

from realestate.items import Listing
from realestate.simulator.adverts import Advert
from realestate.simulator.emlak import truth
from realestate.simulator.emlak.facts import facts_of
from realestate.simulator.emlak.page import advert_page, photo_paths
from realestate.simulator.emlak.results import FLASH, Search, results_page
from realestate.simulator.site import Request, Response, Site

_ADVERT = re.compile(r"/(?:(\d{1,9})-[^/]*|[^/]*-s(\d{1,9}))\.html", re.ASCII)


class Emlak(Site):
    portal = "emlak"
    index = "/elanlar/?ann_type=3"
    versions = "date"

    def route(self, request: Request) -> Response | None:
        if request.path in ("/elanlar/", "/elanlar"):
            return self._search(request.query, "flash=lost" in request.cookie)
        match = _ADVERT.fullmatch(request.path)
        return self._advert(request.path, int(match[1] or match[2])) if match else None

    def path(self, advert: Advert) -> str:
        return f"/{advert.ref}-{facts_of(advert).slug}.html"

    def listing(self, advert: Advert) -> Listing:
        photos = [self.base + path for path in photo_paths(advert)]
        return truth.listing(advert, self.base + self.path(advert), photos)

    def render(self, advert: Advert) -> bytes:
        return advert_page(advert)

    def _advert(self, path: str, ref: int) -> Response:
        """Return a redirect to the search, which shows a message. The portal has no 404."""
        advert = self.world.adverts[self.portal].get(ref)
        if advert is None or advert.gone == "redirect":
            return Response("listing", b"", 302, location=self.base + self.index, set_cookie="flash=lost; Path=/")
        return self.page(advert) if path == self.path(advert) else self.moved(advert)

    def _search(self, query: Mapping[str, str], is_lost: bool) -> Response:
        search = Search.of(query)
        body = results_page(search, query.get("page"), self.found(search), self.path, FLASH if is_lost else "")
        return Response("search", body, set_cookie="flash=; Max-Age=0; Path=/" if is_lost else None)

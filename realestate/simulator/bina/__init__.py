"""A portal like bina: GraphQL searches by a persisted query, pages by Next.js or of the old form, a sitemap."""

import re
from collections.abc import Iterable

import msgspec

from realestate.items import Listing
from realestate.simulator.adverts import Advert
from realestate.simulator.bina import truth
from realestate.simulator.bina.facts import facts_of
from realestate.simulator.bina.oldpage import old_page, token
from realestate.simulator.bina.page import advert_page, photo_paths
from realestate.simulator.bina.search import response
from realestate.simulator.site import JSON, Request, Response, Site

_ITEM = re.compile(r"/items/(\d{1,9})(/phones|/)?", re.ASCII)
_SHARD = re.compile(r"/uploads/sitemaps/sitemap_items(\d{0,4})\.xml", re.ASCII)
_GRID = re.compile(r"/items/all|(?:/[a-z-]+)?/(?:alqi-satqi|kiraye)(?:/[a-z-]+){0,2}")
#: Search pages have no results: a browser requests them separately.
GRID = b'<!DOCTYPE html><html><body><div id="__next"><div data-cy="items-grid"></div></div></body></html>'
SHARD_SIZE = 1_000
XML = "application/xml; charset=utf-8"
_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


class Bina(Site):
    portal = "bina"
    index = "/items/all"

    def route(self, request: Request) -> Response | None:
        if request.path == "/graphql":
            return Response("search", response(request.query, self.found), content_type=JSON)
        if match := _SHARD.fullmatch(request.path):
            return self._sitemap(int(match[1]) if match[1] else None)
        if _GRID.fullmatch(request.path):
            return Response("search", GRID)
        match = _ITEM.fullmatch(request.path)
        if match is None:
            return None
        advert = self.world.adverts[self.portal].get(int(match[1]))
        if advert is None or advert.gone is not None:
            status = 410 if advert is not None and advert.gone == "410" else 404
            return Response("listing", "<title>404</title><h1>Elan tapılmadı</h1>".encode(), status)
        if match[2] == "/":
            return self.moved(advert)
        return self._phones(advert, request) if match[2] else self.page(advert)

    def path(self, advert: Advert) -> str:
        return f"/items/{advert.ref}"

    def listing(self, advert: Advert) -> Listing:
        photos = [self.base + path for path in photo_paths(advert)]
        return truth.listing(advert, self.base + self.path(advert), photos)

    def render(self, advert: Advert) -> bytes:
        if facts_of(advert).form == "old":
            return old_page(advert, self.base, self.world.now)
        return advert_page(advert, self.base)

    def drop_pages(self, adverts: Iterable[Advert]) -> None:
        """Drop all pages of the old form from the cache, because they say "today"."""
        old = (each for each in self.world.adverts[self.portal].values() if facts_of(each).form == "old")
        super().drop_pages({*adverts, *old})

    def _phones(self, advert: Advert, request: Request) -> Response:
        """Return the telephones, if the request has the token of the page and the header of scripts."""
        sent = (request.headers.get("x-requested-with"), request.headers.get("x-csrf-token"))
        if sent != ("XMLHttpRequest", token(advert)):
            return Response("other", b"<title>422</title>", 422)
        return Response("other", msgspec.json.encode({"phones": facts_of(advert).phones}), content_type=JSON)

    def _sitemap(self, number: int | None) -> Response | None:
        refs = [each.ref for each in self.shown().adverts]
        shards = [refs[start : start + SHARD_SIZE] for start in range(0, len(refs), SHARD_SIZE)]
        if number is None:
            places = [f"{self.base}/uploads/sitemaps/sitemap_items{each}.xml" for each in range(1, len(shards) + 1)]
            return _xml("sitemapindex", "sitemap", places)
        if not 1 <= number <= len(shards):
            return None
        return _xml("urlset", "url", [f"{self.base}/items/{ref}" for ref in shards[number - 1]])


def _xml(root: str, each: str, places: list[str]) -> Response:
    body = "".join(f"<{each}><loc>{place}</loc></{each}>\n" for place in places)
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} {_NAMESPACE}>\n{body}</{root}>\n'
    return Response("search", text.encode(), content_type=XML)

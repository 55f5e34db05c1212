"""A portal like tap: GraphQL searches by cursor, pages with Apollo's cache, and some pages of the old form."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from realestate.items import Listing
from realestate.simulator.adverts import Advert
from realestate.simulator.site import JSON, Kind, Request, Response, Site, whole_number
from realestate.simulator.tap import graphql, page, truth
from realestate.simulator.tap.facts import facts_of
from realestate.simulator.tap.search import MOST_A_PAGE, Search, Unknown, cursor_of, offset_of

_ADVERT = re.compile(r"/elanlar/(?:[^/]+/){1,3}(\d{1,9})/?", re.ASCII)
_PHONES = re.compile(r"/ads/(\d{1,9})/phones", re.ASCII)
PAGE_SIZE = 36


class Tap(Site):
    portal = "tap"
    index = "/elanlar/dasinmaz-emlak/menziller"
    takes_posts = True

    def route(self, request: Request) -> Response | None:
        if request.body is not None:
            return self._posted(request, request.body)
        if match := _ADVERT.fullmatch(request.path):
            return self._advert(request.path, int(match[1]))
        return self._list(request) if request.path.startswith("/elanlar") else None

    def path(self, advert: Advert) -> str:
        return page.path(advert)

    def listing(self, advert: Advert) -> Listing:
        return truth.listing(advert, self.base + self.path(advert), page.photo_urls(advert), self.world.now)

    def render(self, advert: Advert) -> bytes:
        old = facts_of(advert).has_old_form
        return page.old_page(advert, self.world.now) if old else page.next_page(advert)

    def drop_pages(self, adverts: Iterable[Advert]) -> None:
        """Drop all pages of the old form from the cache, because they say "today"."""
        old = (each for each in self.world.adverts[self.portal].values() if facts_of(each).has_old_form)
        super().drop_pages({*adverts, *old})

    def _posted(self, request: Request, body: bytes) -> Response | None:
        if request.path == "/graphql":
            return self._graphql(body)
        match = _PHONES.fullmatch(request.path)
        return self._phones(int(match[1]), request.headers) if match else None

    def _advert(self, path: str, ref: int) -> Response:
        """Return the page of an advert by the number in the URL, whatever category the URL names."""
        advert = self.world.adverts[self.portal].get(ref)
        if advert is None or advert.gone in ("404", "410") or (advert.gone and facts_of(advert).has_old_form):
            status = 410 if advert is not None and advert.gone == "410" else 404
            return Response("listing", "<title>404</title><h1>Səhifə tapılmadı</h1>".encode(), status)
        return self.page(advert) if path == self.path(advert) else self.moved(advert)

    def _list(self, request: Request) -> Response:
        search = Search.linked(
            request.path + "?" + "&".join(f"{name}={value}" for name, value in request.query.items())
        )
        try:
            first = offset_of(request.query.get("cursor"))
        except Unknown:
            first = 0
        found = self.found(search)
        shown = found.adverts[first : first + PAGE_SIZE]
        following = first + PAGE_SIZE
        link = f"{request.path}?cursor={cursor_of(following)}" if following < found.total else None
        return Response("search", page.list_page("Elanlar", shown, link, self.world.now))

    def _graphql(self, body: bytes) -> Response:
        """Return a response of GraphQL. An error has status 200 too."""
        try:
            operation = graphql.Operation.read(body)
            data = {name: self._field(name, operation) for name in operation.selection}
            reply: dict[str, Any] = {"data": graphql.selected(data, operation.selection, "Query")}
        except Unknown as error:
            reply = {"data": None, "errors": [{"message": str(error), "locations": [{"line": 1, "column": 1}]}]}
        kind: Kind = "other" if b"createCall" in body else "search"
        return Response(kind, msgspec.json.encode(reply), content_type=JSON)

    def _field(self, name: str, operation: graphql.Operation) -> Any:
        match name:
            case "adSearch":
                return {"__typename": "AdSearch", "ads": self._ads(operation, operation.selection[name].get("ads", {}))}
            case "ads":
                return self._ads(operation, operation.selection[name])
            case "createCall":
                return self._call(operation)
        raise Unknown(f"Field '{name}' doesn't exist on type 'Query'")

    def _ads(self, operation: graphql.Operation, wanted: graphql.Selection) -> dict[str, Any]:
        """Return a page of a search. Only the source DESKTOP can use filters. MOBILE searches by a URL."""
        link = operation.argument("sourceLink")
        filters = operation.argument("filters") or {}
        is_known = operation.argument("source") == "DESKTOP" or link
        found = self.found(Search.linked(str(link)) if link else Search.filtered(filters))
        adverts, total = found if is_known else ([], 0)
        first = offset_of(operation.argument("after"))
        size = min(whole_number(str(operation.argument("first"))) or PAGE_SIZE, MOST_A_PAGE)
        names = wanted.get("nodes") or wanted.get("edges", {}).get("node", {})
        nodes = [page.node(advert, names) for advert in adverts[first : first + size]]
        end = min(first + size, max(total, first))
        return {
            "__typename": "AdConnection",
            "totalCount": total,
            "nodes": nodes,
            "edges": [{"node": node} for node in nodes],
            "pageInfo": {"endCursor": cursor_of(end) if nodes or end < total else None, "hasNextPage": end < total},
        }

    def _call(self, operation: graphql.Operation) -> dict[str, Any]:
        wanted = str(operation.argument("adId"))
        advert = next(
            (each for each in self.world.listed(self.portal) if page.global_id("Ad", each.ref) == wanted), None
        )
        if advert is None:
            return {"entity": None, "errors": [{"message": "Elan tapılmadı", "path": ["adId"]}]}
        return {"entity": list(facts_of(advert).phones), "errors": []}

    def _phones(self, ref: int, headers: Mapping[str, str]) -> Response:
        """Return the telephones in the older way: the request has the token of the page and the header of scripts."""
        advert = self.world.adverts[self.portal].get(ref)
        if headers.get("x-csrf-token") != page.CSRF or headers.get("x-requested-with") != "XMLHttpRequest":
            return Response("other", b"{}", 422, JSON)
        if advert is None or advert.gone is not None:
            return Response("other", b"{}", 404, JSON)
        return Response("other", msgspec.json.encode({"phones": facts_of(advert).phones}), content_type=JSON)

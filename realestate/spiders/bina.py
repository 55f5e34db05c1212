"""bina.az: searches are GraphQL, asked for by the hash of a query that the site knows (`SearchItems`); a listing's page
carries the item in `__NEXT_DATA__` (`currentItemData`, or Apollo's cache) and thinner JSON-LD; older pages are HTML.

A search is kept as the address of its web page, of which `ask` makes the question; a filter we do not know is refused.
The hash changes when the site is deployed: then every search answers `PersistedQueryNotFound`, and `BINA_QUERY_HASH`
has to be set to what the site's own pages send. Each cursor is told by the page before it, so long searches are split
by price. What a rent pays for stands on search pages, and else on old pages alone. A place's pin is not the home's,
a firm's least of all. The contact's name is a person's, an agent's too, and is not read.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any
from urllib.parse import urlencode, urlsplit
from zoneinfo import ZoneInfo

from scrapy import Request
from scrapy.http import TextResponse

from realestate.items import Listing, RentPeriod
from realestate.parsing import apollo, areas, coordinates, dates, floors, html, jsonld, numbers, prices
from realestate.parsing.currencies import code
from realestate.parsing.embedded import at, decoded, first_at, listed, next_data
from realestate.parsing.text import line
from realestate.parsing.words import meaning, truth
from realestate.spiders import graphql, old_markup
from realestate.spiders.base import PortalSpider
from realestate.spiders.moments import served_at
from realestate.spiders.outcomes import GONE_STATUSES, BrokenPage
from realestate.spiders.paging import Cursors
from realestate.spiders.planning import Band
from realestate.spiders.results import Found, Results
from realestate.spiders.words import bina as words

#: More are over the query's limit of complexity.
PAGE_SIZE = 16


class BinaSpider(PortalSpider):
    name = "bina"
    allowed_domains = ["bina.az", "bina.azstatic.com"]  # noqa: RUF012 - its sitemaps are on the second
    site = "https://bina.az"
    searches = ("/items/all",)
    listing_path = re.compile(r"^/items/(?P<ref>\d{1,9})/?$")
    item_form = "/items/{ref}"
    country = "AZ"
    currency = "AZN"
    timezone = ZoneInfo("Asia/Baku")
    terms = "https://bina.az/pages/terms_and_conditions"
    checked_on = date(2026, 11, 15)
    pace = 0.5
    paging = Cursors("cursor", part=500)
    axes = (Band("price_from", "price_to"),)
    newest_first = "date"
    handle_httpstatus_list: Sequence[int] = (*GONE_STATUSES, 400)  # what some answer to a query they do not know

    # ----- searches

    def ask(self, search: str) -> Request:
        if urlsplit(search).path.endswith((".xml", ".xml.gz")):
            return Request(search)
        filter, cursor = words.asked_by(search)
        variables = {"first": PAGE_SIZE, "filter": filter, "sort": "BUMPED_AT_DESC", **cursor}
        hash = self.crawler.settings["BINA_QUERY_HASH"]
        return graphql.persisted(f"{self.site}/graphql", "SearchItems", hash, variables)

    def parse_search(self, response: TextResponse) -> Results:
        items = at(graphql.answer(response), "itemsConnection")
        edges, total = at(items, "edges"), numbers.whole(at(items, "totalCount"))
        if response.status != 200 or not isinstance(edges, list) or total is None:
            raise BrokenPage("no list of items")
        has_more, cursor = at(items, "pageInfo.hasNextPage"), line(at(items, "pageInfo.endCursor"))
        is_first = self.paging.is_first(str(response.meta.get("search", response.url)))
        if (has_more and not (edges and cursor)) or (total and is_first and not edges):
            raise BrokenPage("no items on a page within the total")
        found = [each for edge in edges if (each := self._found(at(edge, "node")))]
        after, unreadable = cursor if has_more else None, len(edges) - len(found)
        return Results(found, total, after, is_last=not has_more, unreadable=unreadable)

    def _found(self, node: Any) -> Found | None:
        ref = line(at(node, "id"))
        if ref is None or not ref.isdecimal():
            return None
        is_promoted = any(at(node, name) is True for name in ("vipped", "isVipped", "featured", "isFeatured"))
        dated = dates.iso(at(node, "updatedAt"), self.timezone)
        return self.found(
            f"/items/{ref}", self._price(node), words.period_of(node), dated=dated, is_promoted=is_promoted
        )

    # ----- listings

    def parse_listing(
        self, response: TextResponse, rent_period: RentPeriod | None = None, **hints: Any
    ) -> Iterator[Listing]:
        if response.status != 200:
            raise BrokenPage(f"status {response.status}")
        ref = self.ref_of(self.shown_at(response)) or ""
        if (item := words.item_of(response, ref)) is not None:
            yield self.listing(response, **words.fields_of(**self._new(response, item, rent_period)))
        elif (page := html.Page(response.text)).css_first(".product-properties__i") is not None:
            yield self.listing(response, **words.fields_of(**self._old(response, page, rent_period)))
        else:
            raise BrokenPage("neither an item nor a page of the old form")

    def _new(self, response: TextResponse, item: dict[str, Any], rent_period: RentPeriod | None) -> dict[str, Any]:
        linked = jsonld.first(response.text, "Product") or {}
        named = [
            at(item, "location.fullName"),
            *(at(each, "fullName") for each in listed(item.get("nearestLocations"))),
        ]
        home, near = (coordinates.of(at(item, f"{of}latitude"), at(item, f"{of}longitude")) for of in ("", "location."))
        firm = line(at(item, "company.name"))
        return {
            "price": self._price(item),
            "is_rent": truth(first_at(item, "isLeased", "leased")),
            "rent_period": words.period_of(item, rent_period),
            "kinds": (at(item, "category.name"), item.get("buildingTypeName")),
            "sizes": (areas.of(at(item, "area.value"), at(item, "area.units")), words.plot_of(item, linked)),
            "named": [line(each) for each in named],
            "city": line(at(item, "city.name")),
            "point": home if home.latitude is not None else near,
            "is_near": home.latitude is None,
            "is_renovated": item.get("hasRepair"),
            "rooms": numbers.whole(item.get("rooms")),
            "floor": floors.parse(item.get("floor")).floor,
            "floors_total": numbers.whole(item.get("floors")),
            "has_deed": truth(item.get("hasBillOfSale")),
            "has_mortgage": truth(item.get("hasMortgage")),
            "street": words.street_of(item.get("address")),
            "title": line(linked.get("name")) or line(item.get("title")) or line(at(item, "metaTags.title")),
            "description": next(filter(None, map(words.text_of, (item, linked))), None),
            "photos": [response.urljoin(url) for url in words.photos_of(item, linked)],
            "seller_type": "agency" if firm else meaning(item.get("contactTypeName"), words.SELLERS),
            "agency_name": firm,
            "updated_at": dates.iso(item.get("updatedAt"), self.timezone),
            "extra": {name: item[name] for name in words.MORE if item.get(name) not in (None, False)},
        }

    def _old(self, response: TextResponse, page: html.Page, rent_period: RentPeriod | None) -> dict[str, Any]:
        old = old_markup.read(page)
        told, area, land = old.rows, areas.parse(old.rows.take("Sahə")), areas.parse(old.rows.take("Torpaq sahəsi"))
        crumbs = [each.text() for each in page.css(".product-breadcrumbs__i-link")] or [""]
        price = prices.parse(html.text(page, ".product-price__i--bold"), self.currency)
        floor = floors.parse(told.take("Mərtəbə"))
        named = [each.text() for each in page.css("a[data-stat=product-locations], .product-extras__i a")]
        address = (html.text(page, ".product-map__left__address") or "").removeprefix("Ünvan:")
        return {
            "price": price,
            "is_rent": meaning(crumbs[0], words.DEAL_WORDS),
            "rent_period": price.period or rent_period,
            "kinds": (told.take("Kateqoriya"), *crumbs[1:][-1:]),  # the first crumb is the deal
            "sizes": (area, land.m2 if land else None),
            "named": [*named, address],
            "point": coordinates.of(*(html.attribute(page, "#item_map", f"data-{name}") for name in ("lat", "lng"))),
            "is_renovated": told.take("Təmir"),
            "rooms": numbers.whole(told.take("Otaq sayı")),
            "floor": floor.floor,
            "floors_total": floor.total,
            "has_deed": truth(told.take("Çıxarış")),
            "has_mortgage": truth(told.take("İpoteka")),
            "title": old.title,
            "description": old.description,
            "photos": [response.urljoin(src) for src in old.photos],
            "seller_type": meaning(html.text(page, ".product-owner__info-region"), words.SELLERS),
            "updated_at": dates.parse(old.updated, self.timezone, served_at(response)),
            "extra": {**told, **({} if old.views is None else {"views": old.views})},
        }

    def ref_in(self, document: str) -> str | None:
        props = next_data(document)
        caches = props.values() if isinstance(props, dict) else ()
        items = (at(props, "currentItemData"), *(apollo.fullest(cache, "Item") for cache in caches))
        told = next((ref for item in items if (ref := line(at(item, "id")))), None)
        return told or re.sub(r"\D", "", html.text(html.Page(document), ".product-actions__id") or "") or None

    def _price(self, item: Any) -> prices.Price:
        """ "total" or "value", as the query calls it. Null is a price on request; what is not there tells nothing."""
        told = at(item, "price")
        currency = code(line(at(told, "currency")) or self.currency, self.currency)
        if currency is None or not isinstance(told, dict) or told.keys().isdisjoint(("total", "value")):
            return prices.Price()
        return prices.of(first_at(told, "total", "value"), currency)

    # ----- telephones; how today's pages ask for them is not known

    def ask_telephones(self, response: TextResponse) -> Request | None:
        token = html.attribute(html.Page(response.text), "meta[name=csrf-token]", "content")
        if token is None:
            return None
        told = urlencode({"source_link": response.url, "trigger_button": "main"})
        headers = {"X-Requested-With": "XMLHttpRequest", "X-CSRF-Token": token, "Accept": "application/json"}
        return Request(f"{response.url.rstrip('/')}/phones?{told}", headers=headers)

    def parse_telephones(self, response: TextResponse) -> list[str]:
        phones = at(decoded(response.body), "phones")
        if not isinstance(phones, list):
            raise BrokenPage("no list of telephones")
        return [number for each in phones if (number := line(each))]

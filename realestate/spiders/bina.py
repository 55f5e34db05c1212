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

from realestate.crawling import graphql, reading
from realestate.crawling.base import PortalSpider
from realestate.crawling.old_markup import OldPage
from realestate.crawling.outcomes import GONE_STATUSES, BrokenPage
from realestate.crawling.paging import Cursors
from realestate.crawling.planning import Band
from realestate.crawling.results import Found, Results
from realestate.crawling.telephones import numbers_in
from realestate.items import Listing
from realestate.parsing import dates, html, jsonld, prices
from realestate.parsing.embedded import at, decoded
from realestate.parsing.text import line
from realestate.spiders import bina_words as words


class BinaSpider(PortalSpider):
    name = "bina"
    allowed_domains = ["bina.az", "bina.azstatic.com"]  # noqa: RUF012 - its sitemaps are on the second
    site = "https://bina.az"
    searches = ("/items/all",)
    listing_path = re.compile(r"^/items/(?P<ref>\d{1,9})/?$")
    item_form = "/items/{ref}"
    country, currency, timezone = "AZ", "AZN", ZoneInfo("Asia/Baku")
    terms, checked_on = "https://bina.az/pages/terms_and_conditions", date(2026, 11, 15)
    pace = 0.5
    paging, newest_first = Cursors("cursor", part=500), "date"
    axes = (Band("price_from", "price_to"),)
    handle_httpstatus_list: Sequence[int] = (*GONE_STATUSES, 400)  # what some answer to a query they do not know
    fields = reading.paths(
        """rooms floor floors_total=floors has_deed=hasBillOfSale has_mortgage=hasMortgage agency_name=company.name
        updated_at=updatedAt"""
    )
    old_rows = {"rooms": "Otaq sayı", "floor": "Mərtəbə", "has_deed": "Çıxarış", "has_mortgage": "İpoteka"}  # noqa: RUF012

    def ask(self, search: str) -> Request:
        if urlsplit(search).path.endswith((".xml", ".xml.gz")):
            return Request(search)
        filter, cursor = words.asked_by(search)
        # more than 16 are over the query's limit of complexity
        variables = {"first": 16, "filter": filter, "sort": "BUMPED_AT_DESC", **cursor}
        hash = self.crawler.settings["BINA_QUERY_HASH"]
        return graphql.persisted(f"{self.site}/graphql", "SearchItems", hash, variables)

    def parse_search(self, response: TextResponse) -> Results:
        items = at(graphql.answer(response), "itemsConnection")
        results = graphql.results(items, self._found, is_first=self.is_first(response))
        if results.total is None:
            raise BrokenPage("no count of items")
        return results

    def _found(self, node: Any) -> Found | None:
        ref = line(at(node, "id")) or ""
        if not ref.isdecimal():
            return None
        price, period = words.price_of(node, self.currency), words.period_of(node)
        is_promoted = any(at(node, name) is True for name in words.PROMOTED)
        dated = dates.iso(at(node, "updatedAt"), self.timezone)
        return self.found(self.url_of(ref), price, period, dated=dated, is_promoted=is_promoted)

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing]:
        if response.status != 200:
            raise BrokenPage(f"status {response.status}")
        item = words.item_of(response, self.ref_of(self.shown_at(response)) or "")
        told = self._old(OldPage(response)) if item is None else self._new(response, item)
        told["rent_period"] = told["rent_period"] or hints.get("rent_period")
        yield self.listing(response, **words.fields_of(**told))

    def _new(self, response: TextResponse, item: dict[str, Any]) -> dict[str, Any]:
        linked = jsonld.first(response.text, "Product") or {}
        told = reading.at_paths(item, self.fields, self.timezone) | words.item_fields(item, linked, self.currency)
        return told | {"photos": reading.absolute(response, words.photos_of(item, linked))}

    def _old(self, page: OldPage) -> dict[str, Any]:
        if not page.rows:
            raise BrokenPage("neither an item nor a page of the old form")
        price = prices.parse(page.price, self.currency)
        told = page.fields(self.timezone) | words.old_fields(page) | reading.in_rows(page.rows, self.old_rows)
        extra = {**page.rows, **reading.counted(page.views)}
        return told | {"price": price, "rent_period": price.period, "extra": extra}

    def ref_in(self, document: str) -> str | None:
        old = html.text(html.Page(document), ".product-actions__id") or ""
        return words.told_id(document) or re.sub(r"\D", "", old) or None

    def ask_telephones(self, response: TextResponse) -> Request | None:
        """How today's pages ask for them is not known."""
        token = html.attribute(html.Page(response.text), "meta[name=csrf-token]", "content")
        told = urlencode({"source_link": response.url, "trigger_button": "main"})
        headers = {"X-Requested-With": "XMLHttpRequest", "X-CSRF-Token": token, "Accept": "application/json"}
        return Request(f"{response.url.rstrip('/')}/phones?{told}", headers=headers) if token else None

    def parse_telephones(self, response: TextResponse) -> list[str]:
        return numbers_in(at(decoded(response.body), "phones"))

"""bina.az: searches are GraphQL, requested by the hash of a query that the site knows (`SearchItems`); a listing's page
contains the item in `__NEXT_DATA__` (`currentItemData`, or Apollo's cache) and shorter JSON-LD; older pages are HTML.

A search is named by the URL of its web page; `search_request` turns it into the request and refuses filters that are
not known. The hash changes when the site is deployed: then every search fails with `PersistedQueryNotFound`, and
`BINA_QUERY_HASH` has to be set to the hash that the site's own pages send. The cursor of a page is on the page before
it, so large searches are split by price. The period of a rent is only on search pages and on old pages. A place's pin
is not the home's, and a firm's pin even less. The contact's name is a person's, even for an agent, and is not read: the
name of the firm is `business.name`.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any
from urllib.parse import urlencode, urlsplit
from zoneinfo import ZoneInfo

from scrapy import Request
from scrapy.http import TextResponse

from realestate.crawling import (
    GONE_STATUSES,
    Band,
    BrokenPage,
    Cursors,
    Found,
    OldPage,
    PortalSpider,
    Results,
    Scope,
    absolute,
    city_key,
    graphql_data,
    number_on_old_page,
    numbers_in,
    persisted_query_request,
    read_paths,
    read_rows,
    results_of_connection,
    view_count,
)
from realestate.items import Listing
from realestate.parsing import dates, html, jsonld, prices
from realestate.parsing.embedded import at, decoded
from realestate.parsing.text import line
from realestate.spiders import bina_words as words

#: With more results per page, the query is over the site's limit of complexity.
PAGE_SIZE = 16


class BinaSpider(PortalSpider):
    name = "bina"
    allowed_domains = [
        "bina.az",
        "bina.azstatic.com",  # its sitemaps
    ]
    site = "https://bina.az"
    searches = ("/items/all",)
    listing_path = re.compile(r"^/items/(?P<ref>\d{1,9})/?$")
    item_form = "/items/{ref}"
    country = "AZ"
    currency = "AZN"
    timezone = ZoneInfo("Asia/Baku")
    terms = "https://bina.az/pages/terms_and_conditions"
    checked_on = date(2026, 11, 15)
    parser_version = 2
    rate_limit = 0.5
    paging = Cursors("cursor", part=500)
    newest_first = "date"
    axes = (Band("price_from", "price_to"),)
    handle_httpstatus_list: Sequence[int] = (
        *GONE_STATUSES,
        400,  # some servers use it for a query that they do not know
    )
    fields = {
        "rooms": "rooms",
        "floor": "floor",
        "floors_total": "floors",
        "has_deed": "hasBillOfSale",
        "has_mortgage": "hasMortgage",
        "updated_at": "updatedAt",
    }
    old_rows = {
        "rooms": "Otaq sayı",
        "floor": "Mərtəbə",
        "has_deed": "Çıxarış",
        "has_mortgage": "İpoteka",
    }

    @classmethod
    def site_filters(cls) -> frozenset[str]:
        return frozenset({"operation", "type", "city"})

    @classmethod
    def searches_for(cls, scope: Scope) -> list[str]:
        """`/baki/alqi-satqi/menziller`: the site has no search for one type or city of both operations."""
        if scope.city and city_key(scope.city) not in words.CITIES:
            raise ValueError(f"bina can search these cities: {', '.join(words.CITIES)}")
        if scope.type and scope.type not in words.TYPE_PATHS:
            raise ValueError(f"bina has these types: {', '.join(words.TYPE_PATHS)}")
        city = f"/{city_key(scope.city)}" if scope.city else ""
        kind = f"/{words.TYPE_PATHS[scope.type]}" if scope.type else ""
        operations = [scope.operation] if scope.operation else list(words.OPERATION_PATHS)
        return [f"{city}/{words.OPERATION_PATHS[each]}{kind}" for each in operations]

    @classmethod
    def search_from_browser(cls, url: str) -> str:
        words.filter_of(url)
        return url

    def search_request(self, search: str) -> Request:
        if urlsplit(search).path.endswith((".xml", ".xml.gz")):
            return Request(search)
        variables = {
            "first": PAGE_SIZE,
            "filter": words.filter_of(search),
            "sort": "BUMPED_AT_DESC",
        }
        cursor = words.cursor_of(search)
        if cursor is not None:
            variables["cursor"] = cursor
        hash = self.crawler.settings["BINA_QUERY_HASH"]
        return persisted_query_request(f"{self.site}/graphql", "SearchItems", hash, variables)

    def parse_search(self, response: TextResponse) -> Results:
        items = at(graphql_data(response), "itemsConnection")
        results = results_of_connection(items, self._found, is_first=self.is_first(response))
        if results.total is None:
            raise BrokenPage("no count of items")
        return results

    def _found(self, node: Any) -> Found | None:
        ref = line(at(node, "id")) or ""
        if not ref.isdecimal():
            return None
        return self.found(
            self.url_of(ref),
            words.price_of(node, self.currency),
            words.period_of(node),
            dated=dates.iso(at(node, "updatedAt"), self.timezone),
            is_promoted=any(at(node, name) is True for name in words.PROMOTED),
            city=line(at(node, "city.name")),
            shown=[at(node, path) for path in words.CARD],
        )

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing]:
        if response.status != 200:
            raise BrokenPage(f"status {response.status}")
        item = words.item_of(response, self.ref_of(self.shown_at(response)) or "")
        values = self._old_page(OldPage(response)) if item is None else self._new_page(response, item)
        values["rent_period"] = values["rent_period"] or hints.get("rent_period")
        yield self.listing(response, **words.fields_of(**values))

    def _new_page(self, response: TextResponse, item: dict[str, Any]) -> dict[str, Any]:
        linked = jsonld.first(response.text, "Product") or {}
        values = read_paths(item, self.fields, self.timezone)
        values.update(words.item_values(item, linked, self.currency))
        values["photos"] = absolute(response, words.photos_of(item, linked))
        return values

    def _old_page(self, page: OldPage) -> dict[str, Any]:
        if not page.rows:
            raise BrokenPage("neither an item nor an old page")
        price = prices.parse(page.price, self.currency)
        values = page.fields(self.timezone)
        values.update(words.old_values(page))
        if page.number:
            values["ref"] = page.number
        values.update(read_rows(page.rows, self.old_rows))
        values["price"] = price
        values["rent_period"] = price.period
        values["extra"] = {**page.rows, **view_count(page.views)}
        return values

    def ref_in(self, document: str) -> str | None:
        return words.item_id(document) or number_on_old_page(html.Page(document))

    def telephone_request(self, response: TextResponse) -> Request | None:
        """Only old pages have the token. How new pages request telephones is not known."""
        token = html.attribute(html.Page(response.text), "meta[name=csrf-token]", "content")
        if not token:
            return None
        parameters = urlencode({"source_link": response.url, "trigger_button": "main"})
        headers = {
            "X-Requested-With": "XMLHttpRequest",
            "X-CSRF-Token": token,
            "Accept": "application/json",
        }
        return Request(f"{response.url.rstrip('/')}/phones?{parameters}", headers=headers)

    def parse_telephones(self, response: TextResponse) -> list[str]:
        return numbers_in(at(decoded(response.body), "phones"))

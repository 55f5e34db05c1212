"""tap.az: searches are GraphQL (`POST /graphql`); a listing's page contains Apollo's cache in `__NEXT_DATA__`.

A search is named by the URL of its web page; `search_request` turns it into the query and refuses filters that are not
known. The cursor of a page is on the page before it, so large searches are split by price. Only `source: DESKTOP` finds
everything. `totalCount` was seen in one source only: if the portal does not know it, every response is an error that
says so. The cache contains similar adverts too: the page's own is recognised by its number. Older pages are HTML with
label/value rows; their dates are "bugün" (today) and "dünən" (yesterday). No page says when an advert was posted, and
search pages do not have the period of a rent. The only information about the seller is whether there is a shop; a
contact is a person's and is not read.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from scrapy import Request
from scrapy.http import TextResponse

from realestate.crawling import (
    Band,
    BrokenPage,
    Cursors,
    Found,
    ListingGone,
    OldPage,
    PortalSpider,
    Results,
    absolute,
    graphql_data,
    graphql_request,
    numbers_in,
    place_fields,
    read_paths,
    read_rows,
    results_of_connection,
    view_count,
)
from realestate.items import Listing
from realestate.parsing import apollo, azerbaijani_addresses, dates, numbers, prices, rows
from realestate.parsing.embedded import at, listed
from realestate.parsing.text import line
from realestate.spiders import tap_words as words

PAGE_SIZE = 50


class Advert(NamedTuple):
    """The values of a listing's page, in its new form or its old one."""

    price: prices.Price
    fields: dict[str, Any]
    rows: rows.Rows
    views: int | None


class TapSpider(PortalSpider):
    name = "tap"
    allowed_domains = ["tap.az"]
    site = "https://tap.az"
    searches = (
        "/elanlar/dasinmaz-emlak/menziller",
        "/elanlar/dasinmaz-emlak/heyet-evleri",
        "/elanlar/dasinmaz-emlak/torpaq-sahesi",
        "/elanlar/dasinmaz-emlak/obyektler-ve-ofisler",
        "/elanlar/dasinmaz-emlak/qarajlar",
    )
    listing_path = re.compile(r"^/elanlar/(?:[^/]+/){1,3}(?P<ref>\d{5,10})/?$")
    item_form = "/elanlar/dasinmaz-emlak/{ref}"
    country = "AZ"
    currency = "AZN"
    timezone = ZoneInfo("Asia/Baku")
    terms = "https://tap.az/pages/terms_and_conditions"
    checked_on = date(2026, 11, 15)
    paging = Cursors("cursor", part=250)
    newest_first = "date"
    axes = (Band("price_from", "price_to"),)
    search_words = words.SEARCH_WORDS
    fields = {
        "title": "title",
        "description": "body",
        "city": "region",
        "agency_name": "shop.name",
        "updated_at": "updatedAt",
    }
    rows = {
        "rooms": "Otaq sayı",
        "floors_total": "Mərtəbə sayı",
        "floor": "Mərtəbə",
    }

    @classmethod
    def search_from_browser(cls, url: str) -> str:
        words.query_variables(url)
        return url

    def search_request(self, search: str) -> Request:
        variables = words.query_variables(search)
        variables["first"] = PAGE_SIZE
        return graphql_request(f"{self.site}/graphql", words.SEARCH, variables)

    def parse_search(self, response: TextResponse) -> Results:
        ads = at(graphql_data(response), "adSearch.ads")
        return results_of_connection(ads, self._found, is_first=self.is_first(response))

    def _found(self, node: Any) -> Found | None:
        path = line(at(node, "path")) or ""
        if self.ref_of(path) is None:
            return None
        price = prices.from_json(
            node.get("price", ""), self.currency
        )  # null means on request; without the key, no price
        return self.found(path, price, dated=dates.iso(at(node, "updatedAt")))

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing]:
        ref = self.ref_of(self.shown_at(response)) or ""
        ad = words.own_advert(words.cache_of(response.text), ref)
        advert = self._new_page(response, ad) if ad else self._old_page(response)
        fields = advert.fields
        if not fields["title"] or not advert.rows:
            raise BrokenPage("no advert of this number, or an empty one")
        category = fields["url"].rstrip("/").split("/")[-2]
        place = place_fields(azerbaijani_addresses.parse(line(advert.rows.take("Yerləşmə yeri"))))
        city = line(advert.rows.take("Şəhər")) or fields.pop("city", None) or place["city"]
        yield self.listing(
            response,
            advert.price,
            **{**fields, **place, "city": city},
            **words.type_fields(advert.rows, category),
            **words.operation_fields(advert.rows, category),
            **words.size_fields(advert.rows, category),
            **read_rows(advert.rows, self.rows),
            seller_type="agency" if fields["agency_name"] else None,
            extra={**advert.rows, **view_count(advert.views)},
        )

    def telephone_request(self, response: TextResponse) -> Request | None:
        """The portal counts this request as a call."""
        ref = self.ref_of(self.shown_at(response))
        if not ref:
            return None
        return graphql_request(f"{self.site}/graphql", words.CALL, {"adId": words.global_id("Ad", ref)})

    def parse_telephones(self, response: TextResponse) -> list[str]:
        return numbers_in(at(graphql_data(response), "createCall.entity"))

    def ref_in(self, document: str) -> str | None:
        ad = apollo.fullest(words.cache_of(document), "Ad")
        return line(at(ad, "legacyResourceId")) or self.ref_of(line(at(ad, "path")) or "")

    def _new_page(self, response: TextResponse, ad: Any) -> Advert:
        if line(ad.get("status")) in words.OVER:
            raise ListingGone(f"the page says that the advert is {ad['status']}")
        path = line(ad.get("path")) or ""
        if self.ref_of(path) != self.ref_of(self.shown_at(response)):
            path = urlsplit(response.url).path
        photos = [line(at(photo, "url")) for photo in listed(apollo.field(ad, "photos"))]
        fields = read_paths(ad, self.fields, self.timezone)
        fields["url"] = response.urljoin(path)
        fields["photos"] = absolute(response, [url for url in photos if url])
        return Advert(
            price=prices.from_json(ad.get("price", ""), self.currency),
            fields=fields,
            rows=rows.of(apollo.field(ad, "properties") or apollo.field(ad, "azProperties")),
            views=numbers.whole(ad.get("hits")),
        )

    def _old_page(self, response: TextResponse) -> Advert:
        page = OldPage(response)
        fields = page.fields(self.timezone)
        fields["url"] = response.urljoin(urlsplit(response.url).path)
        fields["agency_name"] = page.shop
        return Advert(
            price=prices.parse(page.price, self.currency),
            fields=fields,
            rows=page.rows,
            views=page.views,
        )

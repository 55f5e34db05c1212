"""tap.az: searches are GraphQL (`POST /graphql`); a listing's page carries Apollo's cache in `__NEXT_DATA__`.

A search is kept as the address of its web page, of which `ask` makes the query; a filter that it does not know is
refused. Each cursor is told by the page before it, so long searches are split by price. Only `source: DESKTOP` finds
everything. `totalCount` has one witness: should the portal not know it, every answer is an error that says so.
The cache holds similar adverts too: the page's own is told by its number. Older pages are HTML with label/value rows,
whose dates are "bugün" and "dünən". No page tells when an advert was posted, and search pages not what a rent pays for.
That somebody has a shop is the only word of who sells; a contact is a person's and is not read.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from scrapy import Request
from scrapy.http import TextResponse

from realestate.crawling import graphql, reading
from realestate.crawling.base import PortalSpider
from realestate.crawling.old_markup import OldPage
from realestate.crawling.outcomes import BrokenPage, ListingGone
from realestate.crawling.paging import Cursors
from realestate.crawling.planning import Band
from realestate.crawling.results import Found, Results
from realestate.crawling.telephones import numbers_in
from realestate.items import Listing
from realestate.parsing import apollo, azerbaijani_addresses, dates, numbers, prices, rows
from realestate.parsing.embedded import at, listed
from realestate.parsing.text import line
from realestate.spiders import tap_words as words

PAGE_SIZE = 50
#: What a page says, in its new form or its old one: the price, fields, rows, and how many have looked at it.
Told = tuple[prices.Price, dict[str, Any], rows.Rows, int | None]


class TapSpider(PortalSpider):
    name = "tap"
    allowed_domains = ["tap.az"]  # noqa: RUF012
    site = "https://tap.az"
    searches = tuple(f"/elanlar/{words.ROOT}/{category}" for category in words.CATEGORIES)
    listing_path = re.compile(r"^/elanlar/(?:[^/]+/){1,3}(?P<ref>\d{5,10})/?$")
    item_form = "/elanlar/dasinmaz-emlak/{ref}"
    country, currency, timezone = "AZ", "AZN", ZoneInfo("Asia/Baku")
    terms, checked_on = "https://tap.az/pages/terms_and_conditions", date(2026, 11, 15)
    paging, newest_first = Cursors("cursor", part=250), "date"
    axes = (Band("price_from", "price_to"),)
    fields = reading.paths("title description=body city=region agency_name=shop.name updated_at=updatedAt")
    rows = {"rooms": "Otaq sayı", "floors_total": "Mərtəbə sayı", "floor": "Mərtəbə"}  # noqa: RUF012

    def ask(self, search: str) -> Request:
        return graphql.request(f"{self.site}/graphql", words.SEARCH, {**words.asked_by(search), "first": PAGE_SIZE})

    def parse_search(self, response: TextResponse) -> Results:
        ads = at(graphql.answer(response), "adSearch.ads")
        return graphql.results(ads, self._found, is_first=self.is_first(response))

    def _found(self, node: Any) -> Found | None:
        path = line(at(node, "path")) or ""
        if self.ref_of(path) is None:
            return None
        price = prices.from_json(node.get("price", ""), self.currency)  # null is one on request, nothing told is none
        return self.found(path, price, dated=dates.iso(at(node, "updatedAt")))

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing]:
        ad = words.own_advert(words.cache_of(response.text), self.ref_of(self.shown_at(response)) or "")
        price, told, facts, views = self._newer(response, ad) if ad else self._older(response)
        if not told["title"] or not facts:
            raise BrokenPage("no advert of this number, or nothing told of it")
        category = told["url"].rstrip("/").split("/")[-2]
        place = reading.located(azerbaijani_addresses.parse(line(facts.take("Yerləşmə yeri"))))
        city = line(facts.take("Şəhər")) or told.pop("city", None) or place["city"]
        yield self.listing(
            response,
            price,
            **{**told, **place, "city": city},
            **words.kind_of(facts, category),
            **words.deal_of(facts, category),
            **words.sizes_of(facts, category),
            **reading.in_rows(facts, self.rows),
            seller_type="agency" if told["agency_name"] else None,
            extra={**facts, **reading.counted(views)},
        )

    def ask_telephones(self, response: TextResponse) -> Request | None:
        """The portal counts it as a call."""
        ref = self.ref_of(self.shown_at(response))
        asked = {"adId": words.global_id("Ad", ref)}
        return graphql.request(f"{self.site}/graphql", words.CALL, asked) if ref else None

    def parse_telephones(self, response: TextResponse) -> list[str]:
        return numbers_in(at(graphql.answer(response), "createCall.entity"))

    def ref_in(self, document: str) -> str | None:
        ad = apollo.fullest(words.cache_of(document), "Ad")
        return line(at(ad, "legacyResourceId")) or self.ref_of(line(at(ad, "path")) or "")

    def _newer(self, response: TextResponse, ad: Any) -> Told:
        """Of today's pages."""
        if line(ad.get("status")) in words.OVER:
            raise ListingGone(f"the page says that the advert is {ad['status']}")
        path, photos = line(ad.get("path")) or "", listed(apollo.field(ad, "photos"))
        is_own = self.ref_of(path) == self.ref_of(self.shown_at(response))
        told = reading.at_paths(ad, self.fields, self.timezone) | {
            "url": response.urljoin(path if is_own else urlsplit(response.url).path),
            "photos": reading.absolute(response, filter(None, (line(at(each, "url")) for each in photos))),
        }
        facts = rows.of(apollo.field(ad, "properties") or apollo.field(ad, "azProperties"))
        return prices.from_json(ad.get("price", ""), self.currency), told, facts, numbers.whole(ad.get("hits"))

    def _older(self, response: TextResponse) -> Told:
        page = OldPage(response)
        told = page.fields(self.timezone) | {
            "url": response.urljoin(urlsplit(response.url).path),
            "agency_name": page.shop,
        }
        return prices.parse(page.price, self.currency), told, page.rows, page.views

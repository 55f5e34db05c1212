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
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from scrapy import Request
from scrapy.http import TextResponse

from realestate.items import Listing
from realestate.parsing import apollo, dates, floors, html, numbers, places, prices, rows
from realestate.parsing.embedded import at, listed
from realestate.parsing.text import line
from realestate.spiders import graphql, old_markup
from realestate.spiders.base import PortalSpider
from realestate.spiders.moments import served_at
from realestate.spiders.outcomes import BrokenPage, ListingGone
from realestate.spiders.paging import Cursors
from realestate.spiders.planning import Band
from realestate.spiders.results import Found, Results
from realestate.spiders.words import tap as words

PAGE_SIZE = 50

#: Of the older pages; cards beside the advert have prices too.
PRICE = ":is(.price-val, .price-cur):not(.products-i *)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a page says, in its new form or its old one."""

    title: str | None
    price: prices.Price
    rows: rows.Rows
    region: str | None
    description: str | None
    photos: list[str]
    shop: str | None
    updated_at: datetime | None
    views: int | None
    path: str


class TapSpider(PortalSpider):
    name = "tap"
    allowed_domains = ["tap.az"]  # noqa: RUF012
    site = "https://tap.az"
    searches = tuple(f"/elanlar/{words.ROOT}/{category}" for category in words.CATEGORIES)
    listing_path = re.compile(r"^/elanlar/(?:[^/]+/){1,3}(?P<ref>\d{5,10})/?$")
    item_form = "/elanlar/dasinmaz-emlak/{ref}"
    country = "AZ"
    currency = "AZN"
    timezone = ZoneInfo("Asia/Baku")
    terms = "https://tap.az/pages/terms_and_conditions"
    checked_on = date(2026, 11, 15)
    paging = Cursors("cursor", part=250)
    axes = (Band("price_from", "price_to"),)
    newest_first = "date"

    def ask(self, search: str) -> Request:
        return graphql.request(f"{self.site}/graphql", words.SEARCH, {**words.asked_by(search), "first": PAGE_SIZE})

    def parse_search(self, response: TextResponse) -> Results:
        ads = at(graphql.answer(response), "adSearch.ads")
        nodes, total = at(ads, "nodes"), numbers.whole(at(ads, "totalCount"))
        more, cursor = at(ads, "pageInfo.hasNextPage"), line(at(ads, "pageInfo.endCursor"))
        if not isinstance(nodes, list) or not isinstance(more, bool) or (more and not cursor):
            raise BrokenPage("no results, or no word of the next page")
        if not nodes and (total or more):
            raise BrokenPage("no results on a page within the total")
        found = [each for node in nodes if (each := self._found(node))]
        if nodes and not found:
            raise BrokenPage("no result that can be read")
        return Results(found, total, after=cursor if more else None, is_last=not more)

    def _found(self, node: Any) -> Found | None:
        path = line(at(node, "path"))
        if path is None or not self.listing_path.search(path):
            self.crawler.stats.inc_value("search/result/unreadable")
            return None
        return self.found(path, self._price(node), dated=dates.iso(at(node, "updatedAt")))

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing]:
        ref = self.ref_of(self.shown_at(response)) or ""
        told = self._newer(response, ref) or self._older(response)
        if told is None or not told.title or not told.rows:
            raise BrokenPage("no advert of this number, or nothing told of it")
        category = told.path.rstrip("/").split("/")[-2]
        _, usual = words.CATEGORIES.get(category, (None, None if category == words.ROOT else "other"))
        kind, subtype, is_new = words.kind_of(told.rows) or (usual, None, None)
        operation, period = words.deal_of(told.rows, category)
        area, plot = words.sizes_of(told.rows)
        floor = floors.parse(told.rows.take("Mərtəbə"))
        place = places.parse(line(told.rows.take("Yerləşmə yeri")))
        yield self.listing(
            response,
            told.price,
            url=response.urljoin(told.path),
            operation=operation,
            rent_period=period,
            property_type=kind,
            subtype=subtype,
            is_new_building=is_new,
            area_m2=area,
            plot_m2=plot,
            rooms=numbers.whole(told.rows.take("Otaq sayı")),
            floor=floor.floor,
            floors_total=floor.total or numbers.whole(told.rows.take("Mərtəbə sayı")),
            city=line(told.rows.take("Şəhər")) or told.region or place.city,
            district=place.district or place.settlement,
            metro_station=place.metro_station,
            street=place.street,
            title=told.title,
            description=told.description,
            photos=[response.urljoin(photo) for photo in told.photos],
            seller_type="agency" if told.shop else None,
            agency_name=told.shop,
            updated_at=told.updated_at,
            extra={**told.rows, **({} if told.views is None else {"views": told.views})},
        )

    def ask_telephones(self, response: TextResponse) -> Request | None:
        """The portal counts it as a call."""
        ref = self.ref_of(self.shown_at(response))
        asked = {"adId": words.global_id("Ad", ref)}
        return graphql.request(f"{self.site}/graphql", words.CALL, asked) if ref else None

    def parse_telephones(self, response: TextResponse) -> list[str]:
        told = at(graphql.answer(response), "createCall.entity")
        if not isinstance(told, list):
            raise BrokenPage("no telephones in the answer")
        return [number for each in told if (number := line(at(each, "number") if isinstance(each, dict) else each))]

    def ref_in(self, document: str) -> str | None:
        ad = apollo.fullest(words.cache_of(document), "Ad")
        return line(at(ad, "legacyResourceId")) or self.ref_of(line(at(ad, "path")) or "")

    def _price(self, ad: Any) -> prices.Price:
        """Null is a price on request; nothing told is none."""
        told = ad.get("price", "")
        return prices.parse(told, self.currency) if isinstance(told, str) else prices.of(told, self.currency)

    def _newer(self, response: TextResponse, ref: str) -> Told | None:
        """Of today's pages."""
        ad = words.own_advert(words.cache_of(response.text), ref)
        if ad is None:
            return None
        if line(ad.get("status")) in words.OVER:
            raise ListingGone(f"the page says that the advert is {ad['status']}")
        path = line(ad.get("path")) or ""
        return Told(
            title=line(ad.get("title")),
            price=self._price(ad),
            rows=rows.of(apollo.field(ad, "properties") or apollo.field(ad, "azProperties")),
            region=line(ad.get("region")),
            description=words.text_of(ad.get("body")),
            photos=[url for each in listed(apollo.field(ad, "photos")) if (url := line(at(each, "url")))],
            shop=line(at(ad, "shop.name")),
            updated_at=dates.iso(ad.get("updatedAt")),
            views=numbers.whole(ad.get("hits")),
            path=path if self.ref_of(path) == ref else urlsplit(response.url).path,
        )

    def _older(self, response: TextResponse) -> Told | None:
        """Of the older pages."""
        page = html.Page(response.text)
        told = old_markup.read(page)
        return Told(
            title=told.title,
            price=prices.parse(html.texts(page, PRICE), self.currency),
            rows=told.rows,
            region=None,
            description=told.description,
            photos=told.photos,
            shop=html.text(page, '[class*=product-shop] a[href^="/shops/"]'),
            updated_at=dates.parse(told.updated, self.timezone, served_at(response)),
            views=told.views,
            path=urlsplit(response.url).path,
        )

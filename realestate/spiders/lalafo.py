"""lalafo.az: a JSON API, `/api/search/v3/feed/`; the site's pages contain the same responses in `__NEXT_DATA__`.

The API needs the headers of its own application: without `device` its status is 417; `language` decides the names of
params. A listing is shown at /{city}/ads/{slug}-id-{id} and read at `feed/details/{id}`, because the feed has only a
few params. A page of the feed may have more results than requested: paid adverts ignore the search. A page past the end
is filled with adverts of any kind. About 10,000 results of a search can be read; its total may be no greater. The
category says what is offered. Adverts of people who look for a home are left out. The ids of categories and params are
those of the same platform in Kyrgyzstan: if the parts of a search have fewer results than its total, a category is
missing here.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from scrapy import Request
from scrapy.http import TextResponse

from realestate.crawling import (
    Band,
    BrokenPage,
    Choice,
    Found,
    ListingGone,
    Numbers,
    PortalSpider,
    Results,
    parameters,
    point_fields,
    read_paths,
)
from realestate.items import Listing
from realestate.parsing import coordinates, dates, numbers, periods
from realestate.parsing.embedded import at, listed
from realestate.parsing.text import line
from realestate.spiders import lalafo_words as words

FEED = "/api/search/v3/feed"
HEADERS = {
    "device": "pc",
    "country-id": "13",
    "language": "az_AZ",
    "Accept": "application/json, text/html;q=0.5",
}


class LalafoSpider(PortalSpider):
    name = "lalafo"
    allowed_domains = ["lalafo.az"]
    site = "https://lalafo.az"
    searches = (f"{FEED}/search?category_id={words.ROOT}&expand=url&page=1&per-page=40&sort_by=newest",)
    listing_path = re.compile(r"^(?:/[^/]+/ads/(?:[^/]*-)?id-|/api/search/v3/feed/details/)(?P<ref>\d{1,12})/?$")
    item_form = "/azerbaijan/ads/id-{ref}"
    country = "AZ"
    currency = "AZN"
    timezone = ZoneInfo("Asia/Baku")
    terms = "https://lalafo.az/"
    checked_on = date(2026, 11, 15)
    paging: ClassVar[Numbers] = Numbers("page", size=40, most=9_000)
    axes = (
        Choice("category_id", words.SEARCHED_CATEGORIES, whole=words.ROOT),
        Band("price[from]", "price[to]"),
    )
    newest_first = "date"
    fields = {
        "title": "title",
        "description": "description",
        "city": "city",
        "posted_at": "created_time",
        "updated_at": "updated_time",
    }

    def search_request(self, search: str) -> Request:
        return Request(search, headers=HEADERS)

    def listing_request(self, url: str) -> Request:
        return Request(f"{self.site}{FEED}/details/{self.ref_of(url)}?expand=url", headers=HEADERS)

    def parse_search(self, response: TextResponse) -> Results:
        page = words.feed_in(response.text)
        if page is None:
            raise BrokenPage("no feed")
        items = page["items"]
        meta = page["_meta"]
        is_filler = self._is_past_the_end(meta)
        if meta["totalCount"] and not items and not is_filler:
            raise BrokenPage("no results on a page within the total")
        adverts = [item for item in items if isinstance(at(item, "id"), int)]
        wanted = parameters(response.url)
        found = []
        if not is_filler:
            found = [self._found(item) for item in adverts if words.is_in_search(item, wanted)]
        return Results(
            found,
            # without a total, pages are read one by one: needed if they have another size than we expect
            total=meta["totalCount"] if meta.get("perPage") == self.paging.size else None,
            is_last=is_filler or at(page, "_links.next") is None,
            unreadable=len(items) - len(adverts),
        )

    def _is_past_the_end(self, meta: Any) -> bool:
        number = numbers.whole(meta.get("currentPage")) or 1
        pages = numbers.whole(meta.get("pageCount"))
        return pages is not None and number > max(pages, 1)

    def _found(self, item: Any) -> Found:
        category = words.CATEGORIES.get(words.category_of(item))
        label = line(item.get("ad_label"))
        hints: dict[str, Any] = {"label": label} if category is None and label else {}
        period = (category.rent_period if category else None) or periods.parse(label)
        return self.found(
            self._page(item),
            words.price_of(item),
            period,
            dated=dates.stamp(item.get("created_time")),
            modified=dates.stamp(item.get("updated_time")),
            is_promoted=words.is_paid(item),
            shown=[item.get(name) for name in ("title", "description")],
            **hints,
        )

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing]:
        ad = words.advert_in(response.text)
        if not isinstance(at(ad, "id"), int) or self.ref_of(response.url) not in (None, str(ad["id"])):
            raise BrokenPage("no advert, or the advert of another id")
        status = ad.get("status_id")
        if isinstance(status, int) and status != words.ACTIVE:
            raise ListingGone(f"status_id {status}")
        if words.category_of(ad) in words.WANTED:
            raise BrokenPage("the advert looks for a home and offers none")
        params, rest = words.read_params(listed(ad["params"]))
        category = words.category_or_guess(ad, hints.get("label"))
        features = words.features_of(params, rest)
        yield self.listing(
            response,
            words.price_of(ad),
            **read_paths(ad, self.fields, self.timezone),
            **point_fields(coordinates.of(ad.get("lat"), ad.get("lng")), "approximate"),
            **words.rent_fields(category, params, hints.get("rent_period")),
            **words.type_fields(category, params),
            **words.size_fields(category, params),
            **words.seller_fields(ad, params),
            **{name: params.get(name) for name in words.FIELDS},
            ref=str(ad["id"]),
            url=response.urljoin(self._page(ad, self.shown_at(response))),
            country=words.COUNTRIES.get(str(ad.get("country_id")), self.country),
            features=features,
            district=params.get("district") or params.get("settlement"),
            photos=words.photos_of(ad.get("images")),
            extra={**rest, **words.extra_of(ad)},
        )

    def ref_in(self, document: str) -> str | None:
        return line(at(words.advert_in(document), "id"))

    def _page(self, ad: Any, shown_at: str | None = None) -> str:
        """The URL at which visitors see the advert. It is not the URL of the API."""
        ref = str(ad["id"])
        city = line(ad.get("city_alias"))
        candidates = [line(ad.get("url")), shown_at]
        if city:
            candidates.append(f"/{city}/ads/id-{ref}")
        for url in candidates:
            if url and self.ref_of(url) == ref and FEED not in url:
                return url
        return self.url_of(ref)

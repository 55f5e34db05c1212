"""lalafo.az: a JSON API, `/api/search/v3/feed/`; the site's pages contain the same responses in `__NEXT_DATA__`.

The API needs the headers of its own application: without `device` its status is 417; `language` decides the names of
params. A listing is shown at /{city}/ads/{slug}-id-{id} and read at `feed/details/{id}`, because the feed has only a
few params. A page of the feed may have more results than requested: paid adverts ignore the search. A page past the end
is filled with adverts of any kind. About 10,000 results of a search can be read; its total may be no greater. The
category says what is offered: see lalafo_category_words. A search of everything that is too large is split by the
site's tree of categories. Adverts of people who look for a home are left out.
"""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, ClassVar
from urllib.parse import urldefrag
from zoneinfo import ZoneInfo

from scrapy import Request
from scrapy.http import Response, TextResponse

from realestate.crawling import (
    GONE_STATUSES,
    Axis,
    Band,
    BrokenPage,
    Found,
    ListingGone,
    Numbers,
    PortalSpider,
    Results,
    parameters,
    point_fields,
    read_paths,
    with_parameters,
)
from realestate.items import Listing
from realestate.parsing import coordinates, dates, numbers, periods
from realestate.parsing.embedded import at, listed
from realestate.parsing.text import line
from realestate.spiders import lalafo_category_words as categories
from realestate.spiders import lalafo_words as words

FEED = "/api/search/v3/feed"
HEADERS = {
    "device": "pc",
    "country-id": "13",
    "language": "az_AZ",
    "Accept": "application/json, text/html;q=0.5",
}


@dataclass(frozen=True)
class Tree(Axis):
    """A search of everything is split by the site's tree of categories, which is one more request."""

    def split(self, search: str, parts: int, sample: Sequence[int]) -> list[str]:
        if parameters(search).get("category_id") != categories.ROOT:
            return []
        return [with_parameters(search, {}).replace(f"{FEED}/search", categories.TREE)]


class LalafoSpider(PortalSpider):
    name = "lalafo"
    allowed_domains = ["lalafo.az"]
    site = "https://lalafo.az"
    searches = (f"{FEED}/search?category_id={categories.ROOT}&expand=url&page=1&per-page=40&sort_by=newest",)
    listing_path = re.compile(r"^(?:/[^/]+/ads/(?:[^/]*-)?id-|/api/search/v3/feed/details/)(?P<ref>\d{1,12})/?$")
    item_form = "/azerbaijan/ads/id-{ref}"
    country = "AZ"
    currency = "AZN"
    timezone = ZoneInfo("Asia/Baku")
    terms = "https://lalafo.az/"
    checked_on = date(2026, 11, 15)
    parser_version = 2
    paging: ClassVar[Numbers] = Numbers("page", size=40, most=9_000)
    axes = (
        Tree(),
        Band("price[from]", "price[to]"),
    )
    newest_first = "date"
    search_path = re.compile(r"^/(?:api/(?:search|proxy/catalog)/|(?!api/)[a-z-]+/[a-z-]+)")
    fields = {
        "title": "title",
        "description": "description",
        "city": "city",
        "posted_at": "created_time",
        "updated_at": "updated_time",
    }

    def search_request(self, search: str) -> Request:
        url = search.partition("?")[0] if categories.is_tree(search) else urldefrag(search).url
        return Request(url, headers=HEADERS)

    async def read_search(self, response: Response) -> AsyncIterator[Any]:
        """A site without the tree is read by the table of categories."""
        if response.status in GONE_STATUSES and categories.is_tree(response.url):
            response = response.replace(status=200, body=b"")
        async for each in super().read_search(response):
            yield each

    def listing_request(self, url: str) -> Request:
        return Request(f"{self.site}{FEED}/details/{self.ref_of(url)}?expand=url", headers=HEADERS)

    def parse_search(self, response: TextResponse) -> Results:
        search = self.search_of(response)
        if categories.is_tree(search):
            root = search.replace(categories.TREE, f"{FEED}/search")
            return Results(searches=categories.searches_of_tree(response.text, root))
        page = words.feed_in(response.text)
        if page is None:
            raise BrokenPage("no feed")
        items = page["items"]
        meta = page["_meta"]
        is_filler = self._is_past_the_end(meta)
        if meta["totalCount"] and not items and not is_filler:
            raise BrokenPage("no results on a page within the total")
        adverts = [item for item in items if isinstance(at(item, "id"), int)]
        found = []
        if not is_filler:
            found = [self._found(item, search) for item in adverts if words.is_in_search(item, search)]
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

    def _found(self, item: Any, search: str) -> Found:
        names = categories.of_search(item, search)
        label = line(item.get("ad_label"))
        category = categories.by_names(names) or categories.by_number(categories.number_of(item))
        hints: dict[str, Any] = {}
        if names:
            hints["category"] = names
        elif category is None and label:
            hints["label"] = label
        period = (category.rent_period if category else None) or periods.parse(label)
        return self.found(
            self._page(item),
            words.price_of(item),
            period,
            dated=dates.stamp(item.get("created_time")),
            modified=dates.stamp(item.get("updated_time")),
            is_promoted=words.is_paid(item),
            city=line(item.get("city")),
            shown=[item.get(name) for name in ("title", "description")],
            **hints,
        )

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing]:
        ad = words.advert_in(response.text)
        if not isinstance(at(ad, "id"), int):
            raise BrokenPage("no advert")
        status = ad.get("status_id")
        if isinstance(status, int) and status != words.ACTIVE:
            raise ListingGone(f"status_id {status}")
        if categories.is_wanted(categories.number_of(ad), hints.get("category")):
            raise BrokenPage("the advert looks for a home and offers none")
        params, rest = words.read_params(listed(ad["params"]))
        category, flags = categories.of_advert(ad, params, rest, hints.get("category"), hints.get("label"))
        features = words.features_of(params, rest)
        yield self.listing(
            response,
            words.price_of(ad),
            **read_paths(ad, self.fields, self.timezone),
            **point_fields(coordinates.of(ad.get("lat"), ad.get("lng")), "approximate"),
            **words.rent_fields(category, params, hints.get("rent_period"), flags),
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

"""lalafo.az: a JSON API, `/api/search/v3/feed/`; the site's pages carry the same answers in `__NEXT_DATA__`.

The API wants the headers of its own application: without `device` it answers 417; `language` decides how params are
called. A listing is shown at /{city}/ads/{slug}-id-{id} and read at `feed/details/{id}`, for the feed leaves out most
params. A page of the feed may be longer than was asked for, by paid adverts that ignore the search; one past the end is
filled with adverts of any kind. Some 10,000 rows of a query can be read, and its total need not tell of more.
The category tells what is offered; adverts of those who seek a home are left out. The ids of categories and params are
those of the same platform in Kyrgyzstan: a total that its parts do not reach means that a leaf is missing here.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from scrapy import Request
from scrapy.http import TextResponse

from realestate.crawling import reading
from realestate.crawling.base import PortalSpider
from realestate.crawling.outcomes import BrokenPage, ListingGone
from realestate.crawling.paging import Numbers
from realestate.crawling.planning import Band, Choice
from realestate.crawling.results import Found, Results
from realestate.crawling.searches import parameters
from realestate.items import Listing
from realestate.parsing import coordinates, dates, numbers, periods
from realestate.parsing.embedded import at, listed
from realestate.parsing.text import line
from realestate.spiders import lalafo_words as words

FEED = "/api/search/v3/feed"
HEADERS = {"device": "pc", "country-id": "13", "language": "az_AZ", "Accept": "application/json, text/html;q=0.5"}


class LalafoSpider(PortalSpider):
    name = "lalafo"
    allowed_domains = ["lalafo.az"]  # noqa: RUF012
    site = "https://lalafo.az"
    searches = (f"{FEED}/search?category_id={words.ROOT}&expand=url&page=1&per-page=40&sort_by=newest",)
    listing_path = re.compile(r"^(?:/[^/]+/ads/(?:[^/]*-)?id-|/api/search/v3/feed/details/)(?P<ref>\d{1,12})/?$")
    item_form = "/azerbaijan/ads/id-{ref}"
    country, currency, timezone = "AZ", "AZN", ZoneInfo("Asia/Baku")
    terms, checked_on = "https://lalafo.az/", date(2026, 11, 15)
    paging: ClassVar[Numbers] = Numbers("page", size=40, most=9_000)
    axes = (Choice("category_id", words.CATEGORIES, whole=words.ROOT), Band("price[from]", "price[to]"))
    newest_first = "date"
    fields = reading.paths("title description city posted_at=created_time updated_at=updated_time")

    def ask(self, search: str) -> Request:
        return Request(search, headers=HEADERS)

    def ask_listing(self, url: str) -> Request:
        return Request(f"{self.site}{FEED}/details/{self.ref_of(url)}?expand=url", headers=HEADERS)

    def parse_search(self, response: TextResponse) -> Results:
        if (page := words.feed_in(response.text)) is None:
            raise BrokenPage("no feed")
        items, meta = page["items"], page["_meta"]
        number, pages = numbers.whole(meta.get("currentPage")) or 1, numbers.whole(meta.get("pageCount"))
        is_filler = pages is not None and number > max(pages, 1)
        if meta["totalCount"] and not items and not is_filler:
            raise BrokenPage("no results on a page within the total")
        adverts, asked = [item for item in items if isinstance(at(item, "id"), int)], parameters(response.url)
        return Results(
            [] if is_filler else [self._found(item) for item in adverts if words.is_asked_for(item, asked)],
            # pages of another size than we count by are followed one by one
            total=meta["totalCount"] if meta.get("perPage") == self.paging.size else None,
            is_last=is_filler or at(page, "_links.next") is None,
            unreadable=len(items) - len(adverts),
        )

    def _found(self, item: Any) -> Found:
        leaf, label = words.LEAVES.get(words.category_of(item)), line(item.get("ad_label"))
        hints: dict[str, Any] = {"label": label} if leaf is None and label else {}
        hints |= {"dated": dates.stamp(item.get("created_time")), "is_promoted": words.is_paid(item)}
        period = (leaf.rent_period if leaf else None) or periods.parse(label)
        return self.found(self._page(item), words.asked_price(item), period, **hints)

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing]:
        ad = words.advert_in(response.text)
        if not isinstance(at(ad, "id"), int) or self.ref_of(response.url) not in (None, str(ad["id"])):
            raise BrokenPage("no advert, or another one")
        if isinstance(status := ad.get("status_id"), int) and status != words.ACTIVE:
            raise ListingGone(f"status_id {status}")
        if words.category_of(ad) in words.SEEKING:
            raise BrokenPage("somebody who seeks a home, and offers none")
        told, rest = words.understood(listed(ad["params"]))
        leaf = words.leaf_of(ad, hints.get("label"))
        yield self.listing(
            response,
            words.asked_price(ad),
            **reading.at_paths(ad, self.fields, self.timezone),
            **reading.placed(coordinates.of(ad.get("lat"), ad.get("lng")), "approximate"),
            **words.let_for(leaf, told, hints.get("rent_period")),
            **words.kind_of(leaf, told),
            **words.sizes_of(leaf, told),
            **words.seller_of(ad, told),
            **{name: told.get(name) for name in words.PLAIN},
            ref=str(ad["id"]),
            url=response.urljoin(self._page(ad, self.shown_at(response))),
            country=words.COUNTRIES.get(str(ad.get("country_id")), self.country),
            features=frozenset(words.features(told, rest)),
            district=told.get("district") or told.get("settlement"),
            photos=words.photos_of(ad.get("images")),
            extra={**rest, **words.beside(ad)},
        )

    def ref_in(self, document: str) -> str | None:
        return line(at(words.advert_in(document), "id"))

    def _page(self, ad: Any, shown_at: str | None = None) -> str:
        """Where visitors see it, which is not where the API tells of it."""
        ref, city = str(ad["id"]), line(ad.get("city_alias"))
        known = (line(ad.get("url")), shown_at, f"/{city}/ads/id-{ref}" if city else None)
        own = (url for url in known if url and self.ref_of(url) == ref and FEED not in url)
        return next(own, self.url_of(ref))

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

from realestate.items import Listing, RentPeriod
from realestate.parsing import coordinates, dates, numbers, periods
from realestate.parsing.embedded import at, decoded, next_data
from realestate.parsing.text import line, missing, paragraphs
from realestate.spiders.base import PortalSpider
from realestate.spiders.outcomes import BrokenPage, ListingGone
from realestate.spiders.paging import Numbers
from realestate.spiders.planning import Band, Choice
from realestate.spiders.results import Found, Results
from realestate.spiders.searches import parameters
from realestate.spiders.words import lalafo as words

FEED = "/api/search/v3/feed"
HEADERS = {"device": "pc", "country-id": "13", "language": "az_AZ", "Accept": "application/json, text/html;q=0.5"}


class LalafoSpider(PortalSpider):
    name = "lalafo"
    allowed_domains = ["lalafo.az"]  # noqa: RUF012
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
        Choice("category_id", tuple(map(str, sorted({*words.LEAVES, *words.SEEKING}))), whole=words.ROOT),
        Band("price[from]", "price[to]"),
    )
    newest_first = "date"

    def ask(self, search: str) -> Request:
        return Request(search, headers=HEADERS)

    def ask_listing(self, url: str) -> Request:
        return Request(f"{self.site}{FEED}/details/{self.ref_of(url)}?expand=url", headers=HEADERS)

    def parse_search(self, response: TextResponse) -> Results:
        feeds = (each for each in _answers(response.text) if isinstance(at(each, "items"), list))
        page: Any = next((each for each in feeds if isinstance(at(each, "_meta.totalCount"), int)), None)
        if page is None:
            raise BrokenPage("no feed")
        items, meta = page["items"], page["_meta"]
        number, pages = numbers.whole(meta.get("currentPage")) or 1, numbers.whole(meta.get("pageCount"))
        is_filler = pages is not None and number > max(pages, 1)
        if meta["totalCount"] and not items and not is_filler:
            raise BrokenPage("no results on a page within the total")
        asked = parameters(response.url)
        adverts = [item for item in items if isinstance(at(item, "id"), int)]
        return Results(
            [] if is_filler else [self._found(item) for item in adverts if words.is_asked_for(item, asked)],
            # pages of another size than we count by are followed one by one
            total=meta["totalCount"] if meta.get("perPage") == self.paging.size else None,
            is_last=is_filler or at(page, "_links.next") is None,
            unreadable=len(items) - len(adverts),
        )

    def _found(self, item: Any) -> Found:
        number, leaf, label = item["id"], words.LEAVES.get(words.category_of(item)), line(item.get("ad_label"))
        hints: dict[str, Any] = {"label": label} if leaf is None and label else {}
        url = line(item.get("url"))
        if not url or self.ref_of(url) != str(number):
            url = f"/{city}/ads/id-{number}" if (city := line(item.get("city_alias"))) else None
        return self.found(
            url or self.url_of(str(number)),
            words.asked_price(item),
            (leaf.rent_period if leaf else None) or periods.parse(label),
            dated=dates.stamp(item.get("created_time")),
            is_promoted=words.is_paid(item),
            **hints,
        )

    def parse_listing(
        self, response: TextResponse, label: str | None = None, rent_period: RentPeriod | None = None, **hints: Any
    ) -> Iterator[Listing]:
        ad = _advert(response.text)
        asked = self.ref_of(response.url)
        if not isinstance(at(ad, "id"), int) or asked not in (None, str(ad["id"])):
            raise BrokenPage("no advert, or another one")
        if isinstance(status := ad.get("status_id"), int) and status != words.ACTIVE:
            raise ListingGone(f"status_id {status}")
        if words.category_of(ad) in words.SEEKING:
            raise BrokenPage("somebody who seeks a home, and offers none")
        told, rest = words.understood(ad["params"])
        by_words = words.offered(label) or words.offered(line(ad.get("title")))
        leaf = words.LEAVES.get(words.category_of(ad)) or by_words or words.Leaf()
        is_rent, period = leaf.operation == "rent", leaf.rent_period or told.get("period") or rent_period
        area, plot, is_new = told.get("area"), told.get("plot"), told.get("is_new")
        if area and (area.is_land or leaf.property_type == "land"):
            area, plot = None, plot or area
        elif leaf.property_type is None and told.get("rooms") is None:
            area = None  # of a home or of a plot: nobody knows
        latitude, longitude = coordinates.of(ad.get("lat"), ad.get("lng"))
        is_firm = at(ad, "user.pro") is True
        yield self.listing(
            response,
            words.asked_price(ad),
            ref=str(ad["id"]),
            url=self._page(ad, response),
            country=words.COUNTRIES.get(str(ad.get("country_id")), self.country),
            operation=leaf.operation,
            # what is no home is let by the month, unless somebody says otherwise
            rent_period=(period or ("month" if leaf.property_type else None)) if is_rent else None,
            quality_flags=frozenset({"rent_period_assumed"} if is_rent and not period and leaf.property_type else ()),
            property_type=leaf.property_type,
            subtype=leaf.subtype or {True: "new_building", False: "old_building", None: None}[is_new],
            is_new_building=is_new,
            area_m2=area.m2 if area else None,
            plot_m2=plot.m2 if plot else None,
            rooms=told.get("rooms"),
            floor=told.get("floor"),
            floors_total=told.get("floors"),
            year_built=told.get("year"),
            condition=told.get("condition"),
            has_deed=told.get("deed"),
            features=frozenset(words.features(told, rest)),
            city=line(ad.get("city")),
            district=told.get("district") or told.get("settlement"),
            metro_station=told.get("metro"),
            latitude=latitude,
            longitude=longitude,
            geo_precision="approximate" if latitude is not None else None,
            title=line(ad.get("title")),
            description=paragraphs(ad["description"]) if isinstance(ad.get("description"), str) else None,
            photos=words.photos_of(ad.get("images")),
            seller_type=told.get("seller") or ("agency" if is_firm else None),
            agency_name=line(at(ad, "user.business.features.company_name")) if is_firm else None,
            posted_at=dates.stamp(ad.get("created_time")),
            updated_at=dates.stamp(ad.get("updated_time")),
            extra={**rest, **{name: ad[name] for name in words.BESIDE if ad.get(name) and not missing(ad[name])}},
        )

    def ref_in(self, document: str) -> str | None:
        return line(at(_advert(document), "id"))

    def _page(self, ad: Any, response: TextResponse) -> str:
        """Where visitors see it, which is not where the API tells of it."""
        ref = str(ad["id"])
        for url in (line(ad.get("url")), self.shown_at(response)):
            if url and self.ref_of(url) == ref and FEED not in url:
                return response.urljoin(url)
        return self.url_of(ref)


def _advert(document: str) -> Any:
    return next((each for each in _answers(document) if isinstance(at(each, "params"), list)), None)


def _answers(document: str) -> list[Any]:
    """What the API told: the document itself, or what a page of the site was made of."""
    if document.lstrip("\ufeff \t\r\n")[:1] == "{":
        return [decoded(document)]
    queries = next_data(document, "props.pageProps.dehydratedState.queries")
    told = [at(query, "state.data") for query in queries] if isinstance(queries, list) else []
    return told + [page for each in told if isinstance(at(each, "pages"), list) for page in each["pages"]]

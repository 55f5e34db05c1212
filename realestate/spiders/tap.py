"""tap.az: searches are GraphQL (`POST /graphql`); a listing's page carries Apollo's cache in `__NEXT_DATA__`.

A search is kept as the address of its web page, of which `ask` makes the query; a filter that it does not know is
refused. Each cursor is told by the page before it, so long searches are split by price. Only `source: DESKTOP` finds
everything. `totalCount` has one witness: should the portal not know it, every answer is an error that says so.
The cache holds similar adverts too: the page's own is told by its number. Older pages are HTML with label/value rows,
whose dates are "bugün" and "dünən". No page tells when an advert was posted, and search pages not what a rent pays for.
That somebody has a shop is the only word of who sells; a contact is a person's and is not read.
"""

import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from zoneinfo import ZoneInfo

from scrapy import Request
from scrapy.http import TextResponse

from realestate.items import Listing, Operation, PropertyType
from realestate.parsing import apollo, areas, dates, floors, html, numbers, places, prices, rows
from realestate.parsing.embedded import at, decoded, next_data
from realestate.parsing.text import fold, line, paragraphs
from realestate.parsing.words import folded, meaning
from realestate.spiders import graphql
from realestate.spiders.base import PortalSpider
from realestate.spiders.moments import served_at
from realestate.spiders.outcomes import BrokenPage, ListingGone
from realestate.spiders.paging import Cursors
from realestate.spiders.planning import Band
from realestate.spiders.results import Found, Results

PAGE_SIZE = 50
SEARCH = """
query Search($filters: AdFilterInput, $keywords: String, $first: Int, $after: String) {
  adSearch(filters: $filters, keywords: $keywords, source: DESKTOP) {
    ads(first: $first, after: $after) {
      totalCount
      nodes { path price updatedAt }
      pageInfo { endCursor hasNextPage }
    }
  }
}"""
CALL = "mutation Call($adId: ID) { createCall(adId: $adId, source: DESKTOP) { entity } }"

ROOT = "dasinmaz-emlak"
#: Categories by the last word of their address: the portal's number, and what they hold.
CATEGORIES: dict[str, tuple[int, PropertyType]] = {
    "menziller": (635, "apartment"),
    "heyet-evleri": (601, "house"),
    "torpaq-sahesi": (602, "land"),
    "obyektler-ve-ofisler": (605, "commercial"),
    "qarajlar": (603, "garage"),
}
DEAL = ("Elanın tipi", "Elanın növü", "Elan növü")
#: They have no word for sale or rent unless it is a rent.
FOR_SALE = ("torpaq-sahesi", "qarajlar")
#: The building's own word -> type, subtype, is it new?
KINDS: dict[str, tuple[PropertyType, str | None, bool | None]] = folded(
    {
        "Yeni tikili": ("apartment", "new_building", True),
        "Köhnə tikili": ("apartment", "old_building", False),
        "Həyət evi": ("house", "yard_house", None),
        "Bağ evi": ("house", "garden_house", None),
        "Villa": ("house", "villa", None),
        "Ofis": ("office", None, None),
        "Obyekt": ("commercial", None, None),
        "Qaraj": ("garage", None, None),
    }
)
#: Of the older pages; cards beside the advert have prices too.
PRICE = ":is(.price-val, .price-cur):not(.products-i *)"
OVER = frozenset({"EXPIRED", "ARCHIVED", "DELETED", "REMOVED"})


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
    searches = tuple(f"/elanlar/{ROOT}/{category}" for category in CATEGORIES)
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
        return graphql.request(f"{self.site}/graphql", SEARCH, {**_asked(search), "first": PAGE_SIZE})

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
        _, usual = CATEGORIES.get(category, (None, None if category == ROOT else "other"))
        kind, subtype, is_new = _taken(told.rows, "Binanın tipi", "Əmlakın növü", "Obyektin növü") or (
            usual,
            None,
            None,
        )
        operation, period = _deal(told.rows, category)
        area, plot = _sizes(told.rows)
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
        return graphql.request(f"{self.site}/graphql", CALL, {"adId": _global_id("Ad", ref)}) if ref else None

    def parse_telephones(self, response: TextResponse) -> list[str]:
        told = at(graphql.answer(response), "createCall.entity")
        if not isinstance(told, list):
            raise BrokenPage("no telephones in the answer")
        return [number for each in told if (number := line(at(each, "number") if isinstance(each, dict) else each))]

    def ref_in(self, document: str) -> str | None:
        ad = apollo.fullest(_cache(document), "Ad")
        return line(at(ad, "legacyResourceId")) or self.ref_of(line(at(ad, "path")) or "")

    def _price(self, ad: Any) -> prices.Price:
        """Null is a price on request; nothing told is none."""
        told = ad.get("price", "")
        return prices.parse(told, self.currency) if isinstance(told, str) else prices.of(told, self.currency)

    def _newer(self, response: TextResponse, ref: str) -> Told | None:
        """Of today's pages."""
        ad = _own(_cache(response.text), ref)
        if ad is None:
            return None
        if line(ad.get("status")) in OVER:
            raise ListingGone(f"the page says that the advert is {ad['status']}")
        path = line(ad.get("path")) or ""
        return Told(
            title=line(ad.get("title")),
            price=self._price(ad),
            rows=rows.of(apollo.field(ad, "properties") or apollo.field(ad, "azProperties")),
            region=line(ad.get("region")),
            description=_text(ad.get("body")),
            photos=[url for each in _list(apollo.field(ad, "photos")) if (url := line(at(each, "url")))],
            shop=line(at(ad, "shop.name")),
            updated_at=dates.iso(ad.get("updatedAt")),
            views=numbers.whole(ad.get("hits")),
            path=path if self.ref_of(path) == ref else urlsplit(response.url).path,
        )

    def _older(self, response: TextResponse) -> Told | None:
        """Of the older pages."""
        page = html.Page(response.text)
        told = html.rows(page, ".product-properties__i", "[class$=i-name]", "[class$=i-value]")
        counted = [each.text() for each in page.css(".product-info__statistics__i-text")]
        updated = next((each for each in counted if fold("Yeniləndi") in fold(each)), None)
        return Told(
            title=html.text(page, "h1.product-title"),
            price=prices.parse(html.texts(page, PRICE), self.currency),
            rows=told,
            region=None,
            description=html.texts(page, ".product-description__content"),
            photos=html.attributes(page, ".product-photos__slider-top img", "src"),
            shop=html.text(page, '[class*=product-shop] a[href^="/shops/"]'),
            updated_at=dates.parse(updated, self.timezone, served_at(response)),
            views=next((numbers.whole(each) for each in counted if fold("Baxış") in fold(each)), None),
            path=urlsplit(response.url).path,
        )


def _asked(search: str) -> dict[str, Any]:
    """A web page's address as the query's variables."""
    parts = urlsplit(search)
    category = parts.path.rstrip("/").rpartition("/")[2]
    if category not in CATEGORIES:
        raise ValueError(f"no category of tap.az that we know: {parts.path}")
    filters: dict[str, Any] = {"categoryId": _global_id("Category", CATEGORIES[category][0])}
    asked: dict[str, Any] = {"filters": filters}
    least: list[int | None] = []
    most: list[int | None] = []
    options = []
    ends = iter((least, most))
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name == "q[price][]":
            next(ends, most).append(numbers.whole(value))
        elif name in ("price_from", "price_to"):
            (least if name == "price_from" else most).append(numbers.whole(value))
        elif name == "q[region_id]" and value:
            filters["regionId"] = _global_id("Region", value)
        elif option := re.fullmatch(r"p\[(\d+)\](?:\[\])?", name):
            options.append({"legacyId": int(option[1]), "value": value})
        elif name in ("cursor", "q[keywords]"):
            asked["after" if name == "cursor" else "keywords"] = value or None
        elif name.startswith(("q[", "p[")) and value:
            raise ValueError(f"cannot search tap.az by {name}")
    if least or most:
        filters["price"] = {"from": max(filter(None, least), default=None), "to": min(filter(None, most), default=None)}
    if options:
        filters["propertyOptions"] = {"collection": options}
    return asked


def _global_id(kind: str, number: object) -> str:
    return b64encode(f"gid://tap/{kind}/{number}".encode()).decode().rstrip("=")


def _cache(document: str) -> Any:
    return decoded(at(next_data(document), "apolloState"))


def _own(cache: Any, ref: str) -> Any:
    """The advert of this number; the cache holds similar ones too."""
    for key, ad in cache.items() if isinstance(cache, dict) else ():
        if key.startswith("Ad:") and isinstance(ad, dict):
            names = {
                line(ad.get("legacyResourceId")),
                key[3:].rstrip("="),
                (line(ad.get("path")) or "").rpartition("/")[2],
            }
            if names & {ref, _global_id("Ad", ref), f"gid://tap/Ad/{ref}"}:
                return apollo.resolved(cache, {"__ref": key})
    return None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(body: Any) -> str | None:
    """Plain, or HTML of paragraphs and line breaks."""
    if not isinstance(body, str) or "<" not in body:
        return paragraphs(body if isinstance(body, str) else None)
    return html.texts(html.Page(f"<body>{body.replace('</p>', '<br></p>')}"), "body")


def _taken(told: rows.Rows, *labels: str) -> tuple[PropertyType, str | None, bool | None] | None:
    """What the row's word means; a word we do not know stays among the rows, and so in `extra`."""
    known = meaning(told.told(*labels), KINDS)
    if known:
        told.take(*labels)
    return known


def _deal(told: rows.Rows, category: str) -> tuple[Operation | None, prices.Period | None]:
    word = fold(line(told.told(*DEAL)) or "")
    lasts = prices.period(line(told.told("Kirayə müddəti")) or word)
    operation: Operation | None = None
    if word.startswith(("kirayə", "icarə")) or (not word and lasts):
        operation = "rent"
    elif word.startswith(("satılır", "satış")) or (not word and category in FOR_SALE):
        operation = "sale"
    if operation:
        told.take(*DEAL)
    if lasts:
        told.take("Kirayə müddəti")
    return operation, lasts if operation == "rent" else None


def _sizes(told: rows.Rows) -> tuple[float | None, float | None]:
    """Of the home and of its land; a label may name the unit: "Sahə, m²", "Sahə, sot"."""
    area = plot = None
    for label in [label for label in told if label.startswith(("sahə", "torpaq"))]:
        size = areas.parse(line(told[label]), label.rpartition(",")[2])
        if size and (size.is_land or label.startswith("torpaq")):
            plot = plot or size.m2
        elif size:
            area = area or size.m2
        if size:
            del told[label]
    return area, plot

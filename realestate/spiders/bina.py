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
from urllib.parse import parse_qsl, urlencode, urlsplit
from zoneinfo import ZoneInfo

from scrapy import Request
from scrapy.http import TextResponse

from realestate.items import Listing, PropertyType, RentPeriod, SellerType
from realestate.parsing import apollo, areas, coordinates, dates, floors, html, jsonld, numbers, places, prices
from realestate.parsing.currencies import code
from realestate.parsing.embedded import at, decoded, next_data
from realestate.parsing.text import fold, line, paragraphs
from realestate.parsing.words import folded, meaning, truth
from realestate.spiders import graphql
from realestate.spiders.base import PortalSpider
from realestate.spiders.moments import served_at
from realestate.spiders.outcomes import GONE_STATUSES, BrokenPage
from realestate.spiders.paging import Cursors
from realestate.spiders.planning import Band
from realestate.spiders.results import Found, Results
from realestate.spiders.seeds import BadSeed

Kind = tuple[PropertyType | None, str | None, bool | None]

#: More are over the query's limit of complexity.
PAGE_SIZE = 16
#: Words of a search's address -> its filter. The numbers of other cities are not known, nor those of new and old
#: buildings apart.
CITIES = {"baki": "1"}
DEALS: dict[str, dict[str, Any]] = {
    "alqi-satqi": {"leased": False},
    "kiraye": {"leased": True},
    "gunluk-kiraye": {"leased": True, "paidDaily": True},
}
CATEGORIES = {"menziller": "1", "heyet-evleri": "5", "ofisler": "7", "qarajlar": "8", "torpaq": "9", "obyektler": "10"}
NUMBERS = {"price_from": "priceFrom", "price_to": "priceTo", "area_from": "areaFrom", "area_to": "areaTo"}
LISTS = {"room_ids[]": "roomIds", "location_ids[]": "locationIds"}
SWITCHES = {name: re.sub("_(.)", lambda found: found[1].upper(), name) for name in ("has_bill_of_sale", "has_mortgage")}
#: A category's name -> type, subtype, is it a new building?
KINDS: dict[str, Kind] = folded(
    {
        "Yeni tikili": ("apartment", "new_building", True),
        "Köhnə tikili": ("apartment", "old_building", False),
        **dict.fromkeys(("Mənzil", "Mənzillər"), ("apartment", None, None)),
        **dict.fromkeys(
            ("Həyət evi/Bağ evi", "Həyət evi", "Bağ evi", "Həyət evləri"), ("house", "yard_or_garden_house", None)
        ),
        "Villa": ("house", "villa", None),
        **dict.fromkeys(("Ofis", "Ofislər"), ("office", None, None)),
        **dict.fromkeys(("Qaraj", "Qarajlar"), ("garage", None, None)),
        "Torpaq": ("land", None, None),
        **dict.fromkeys(("Obyekt", "Obyektlər"), ("commercial", None, None)),
    }
)
#: Whether it is a rent.
DEAL_WORDS = folded({"Satış": False, "Alqı-satqı": False, "Satılır": False, "Kirayə": True, "Kirayə verilir": True})
SELLERS: dict[str, SellerType] = folded({"vasitəçi (agent)": "agency", "mülkiyyətçi": "owner", "sahibi": "owner"})
#: What the item tells that no field takes.
MORE = ("views", "expiresAt", "hasInternalLoan", "isVipped", "isFeatured")


class BinaSpider(PortalSpider):
    name = "bina"
    allowed_domains = ["bina.az", "bina.azstatic.com"]  # noqa: RUF012 - its sitemaps are on the second
    site = "https://bina.az"
    searches = ("/items/all",)
    listing_path = re.compile(r"^/items/(?P<ref>\d{1,9})/?$")
    item_form = "/items/{ref}"
    country = "AZ"
    currency = "AZN"
    timezone = ZoneInfo("Asia/Baku")
    terms = "https://bina.az/pages/terms_and_conditions"
    checked_on = date(2026, 11, 15)
    pace = 0.5
    paging = Cursors("cursor", part=500)
    axes = (Band("price_from", "price_to"),)
    newest_first = "date"
    handle_httpstatus_list: Sequence[int] = (*GONE_STATUSES, 400)  # what some answer to a query they do not know

    # ----- searches

    def ask(self, search: str) -> Request:
        if urlsplit(search).path.endswith((".xml", ".xml.gz")):
            return Request(search)
        filter, cursor = _asked(search)
        variables = {"first": PAGE_SIZE, "filter": filter, "sort": "BUMPED_AT_DESC", **cursor}
        hash = self.crawler.settings["BINA_QUERY_HASH"]
        return graphql.persisted(f"{self.site}/graphql", "SearchItems", hash, variables)

    def parse_search(self, response: TextResponse) -> Results:
        items = at(graphql.answer(response), "itemsConnection")
        edges, total = at(items, "edges"), numbers.whole(at(items, "totalCount"))
        if response.status != 200 or not isinstance(edges, list) or total is None:
            raise BrokenPage("no list of items")
        has_more, cursor = at(items, "pageInfo.hasNextPage"), line(at(items, "pageInfo.endCursor"))
        is_first = self.paging.is_first(str(response.meta.get("search", response.url)))
        if (has_more and not (edges and cursor)) or (total and is_first and not edges):
            raise BrokenPage("no items on a page within the total")
        found = [each for edge in edges if (each := self._found(at(edge, "node")))]
        after, unreadable = cursor if has_more else None, len(edges) - len(found)
        return Results(found, total, after, is_last=not has_more, unreadable=unreadable)

    def _found(self, node: Any) -> Found | None:
        ref = line(at(node, "id"))
        if ref is None or not ref.isdecimal():
            return None
        is_promoted = any(at(node, name) is True for name in ("vipped", "isVipped", "featured", "isFeatured"))
        dated = dates.iso(at(node, "updatedAt"), self.timezone)
        return self.found(f"/items/{ref}", self._price(node), _period(node), dated=dated, is_promoted=is_promoted)

    # ----- listings

    def parse_listing(
        self, response: TextResponse, rent_period: RentPeriod | None = None, **hints: Any
    ) -> Iterator[Listing]:
        if response.status != 200:
            raise BrokenPage(f"status {response.status}")
        ref = self.ref_of(self.shown_at(response)) or ""
        if (item := _item(response, ref)) is not None:
            yield self.listing(response, **_fields(**self._new(response, item, rent_period)))
        elif (page := html.Page(response.text)).css_first(".product-properties__i") is not None:
            yield self.listing(response, **_fields(**self._old(response, page, rent_period)))
        else:
            raise BrokenPage("neither an item nor a page of the old form")

    def _new(self, response: TextResponse, item: dict[str, Any], rent_period: RentPeriod | None) -> dict[str, Any]:
        linked = jsonld.first(response.text, "Product") or {}
        named = [at(item, "location.fullName"), *(at(each, "fullName") for each in _list(item.get("nearestLocations")))]
        home, near = (coordinates.of(at(item, f"{of}latitude"), at(item, f"{of}longitude")) for of in ("", "location."))
        firm = line(at(item, "company.name"))
        return {
            "price": self._price(item),
            "is_rent": truth(_first(item, "isLeased", "leased")),
            "rent_period": _period(item, rent_period),
            "kinds": (at(item, "category.name"), item.get("buildingTypeName")),
            "sizes": (areas.of(at(item, "area.value"), at(item, "area.units")), _plot(item, linked)),
            "named": [line(each) for each in named],
            "city": line(at(item, "city.name")),
            "point": home if home.latitude is not None else near,
            "is_near": home.latitude is None,
            "is_renovated": item.get("hasRepair"),
            "rooms": numbers.whole(item.get("rooms")),
            "floor": floors.parse(item.get("floor")).floor,
            "floors_total": numbers.whole(item.get("floors")),
            "has_deed": truth(item.get("hasBillOfSale")),
            "has_mortgage": truth(item.get("hasMortgage")),
            "street": _street(item.get("address")),
            "title": line(linked.get("name")) or line(item.get("title")) or line(at(item, "metaTags.title")),
            "description": next(filter(None, map(_text, (item, linked))), None),
            "photos": [response.urljoin(url) for url in _photos(item, linked)],
            "seller_type": "agency" if firm else meaning(item.get("contactTypeName"), SELLERS),
            "agency_name": firm,
            "updated_at": dates.iso(item.get("updatedAt"), self.timezone),
            "extra": {name: item[name] for name in MORE if item.get(name) not in (None, False)},
        }

    def _old(self, response: TextResponse, page: html.Page, rent_period: RentPeriod | None) -> dict[str, Any]:
        told = html.rows(page, ".product-properties__i", ".product-properties__i-name", ".product-properties__i-value")
        crumbs = [each.text() for each in page.css(".product-breadcrumbs__i-link")] or [""]
        price = prices.parse(html.text(page, ".product-price__i--bold"), self.currency)
        floor = floors.parse(told.take("Mərtəbə"))
        named = [each.text() for each in page.css("a[data-stat=product-locations], .product-extras__i a")]
        address = (html.text(page, ".product-map__left__address") or "").removeprefix("Ünvan:")
        photos = html.attributes(page, ".product-photos__slider-top img", "src")
        statistics = [line(each.text()) or "" for each in page.css(".product-statistics__i-text")]
        renewed, views = (
            next((each for each in statistics if fold(each).startswith(word)), None)
            for word in ("yeniləndi", "baxışların sayı")
        )
        land = areas.parse(told.take("Torpaq sahəsi"))
        return {
            "price": price,
            "is_rent": meaning(crumbs[0], DEAL_WORDS),
            "rent_period": price.period or rent_period,
            "kinds": (told.take("Kateqoriya"), *crumbs[1:][-1:]),  # the first crumb is the deal
            "sizes": (areas.parse(told.take("Sahə")), land.m2 if land else None),
            "named": [*named, address],
            "point": coordinates.of(*(html.attribute(page, "#item_map", f"data-{name}") for name in ("lat", "lng"))),
            "is_renovated": told.take("Təmir"),
            "rooms": numbers.whole(told.take("Otaq sayı")),
            "floor": floor.floor,
            "floors_total": floor.total,
            "has_deed": truth(told.take("Çıxarış")),
            "has_mortgage": truth(told.take("İpoteka")),
            "title": html.text(page, "h1.product-title"),
            "description": html.texts(page, ".product-description__content"),
            "photos": [response.urljoin(src) for src in photos if not src.endswith("load.gif")],
            "seller_type": meaning(html.text(page, ".product-owner__info-region"), SELLERS),
            "updated_at": dates.parse(renewed, self.timezone, served_at(response)),
            "extra": {**told, **({"views": count} if (count := numbers.whole(views)) is not None else {})},
        }

    def ref_in(self, document: str) -> str | None:
        props = next_data(document)
        caches = props.values() if isinstance(props, dict) else ()
        items = (at(props, "currentItemData"), *(apollo.fullest(cache, "Item") for cache in caches))
        told = next((ref for item in items if (ref := line(at(item, "id")))), None)
        return told or re.sub(r"\D", "", html.text(html.Page(document), ".product-actions__id") or "") or None

    def _price(self, item: Any) -> prices.Price:
        """ "total" or "value", as the query calls it. Null is a price on request; what is not there tells nothing."""
        told = at(item, "price")
        currency = code(line(at(told, "currency")) or self.currency, self.currency)
        if currency is None or not isinstance(told, dict) or told.keys().isdisjoint(("total", "value")):
            return prices.Price()
        return prices.of(_first(told, "total", "value"), currency)

    # ----- telephones; how today's pages ask for them is not known

    def ask_telephones(self, response: TextResponse) -> Request | None:
        token = html.attribute(html.Page(response.text), "meta[name=csrf-token]", "content")
        if token is None:
            return None
        told = urlencode({"source_link": response.url, "trigger_button": "main"})
        headers = {"X-Requested-With": "XMLHttpRequest", "X-CSRF-Token": token, "Accept": "application/json"}
        return Request(f"{response.url.rstrip('/')}/phones?{told}", headers=headers)

    def parse_telephones(self, response: TextResponse) -> list[str]:
        phones = at(decoded(response.body), "phones")
        if not isinstance(phones, list):
            raise BrokenPage("no list of telephones")
        return [number for each in phones if (number := line(each))]


def _asked(search: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The filter and the cursor of a search's address. What is not known cannot be left out: it would find more."""
    parts = urlsplit(search)
    told = {} if parts.path == "/items/all" else _of_path(parts.path)
    cursor = {}
    for name, value in parse_qsl(parts.query):
        if name == "cursor":
            cursor = {"cursor": value}
        elif name in NUMBERS and value.isascii() and value.isdecimal():
            told[NUMBERS[name]] = int(value)
        elif name in LISTS:
            told.setdefault(LISTS[name], []).append(value)
        elif name in SWITCHES and value == "true":
            told[SWITCHES[name]] = True
        elif name != "page":
            raise BadSeed(f"bina: the filter {name}={value[:50]} is not known")
    return told, cursor


def _of_path(path: str) -> dict[str, Any]:
    """`/baki/alqi-satqi/menziller`; the city and the category may be missing."""
    found = re.fullmatch(r"(?:/([a-z-]+?))?/(alqi-satqi|kiraye|gunluk-kiraye)(?:/([a-z-]+))?/?", path)
    city, deal, category = found.groups() if found else (None, None, None)
    if deal and (city is None or city in CITIES) and (category is None or category in CATEGORIES):
        told = {"cityId": CITIES.get(city or ""), "categoryId": CATEGORIES.get(category or ""), **DEALS[deal]}
        return {name: value for name, value in told.items() if value is not None}
    raise BadSeed(f"bina: what {path[:100]!r} finds is not known")


def _item(response: TextResponse, ref: str) -> dict[str, Any] | None:
    """The page's own item, and no similar one: by its id. Of a bare JSON document too."""
    told = decoded(response.text) if response.text.lstrip()[:1] == "{" else {"pageProps": next_data(response.text)}
    props = at(told, "pageProps")
    given = (at(props, "currentItemData"), at(told, "currentItemData"), at(told, "data.item"), told)
    cached = (apollo.first(cache, "Item", ref) for cache in (props.values() if isinstance(props, dict) else ()))
    for item in (*given, *cached):
        if isinstance(item, dict) and line(item.get("id")) == ref:
            return {name.partition("(")[0]: value for name, value in item.items()}
    return None


def _period(item: Any, hint: RentPeriod | None = None) -> RentPeriod | None:
    if _first(item, "isLeased", "leased") is not True:
        return None
    is_daily = _first(item, "isPaidDaily", "paidDaily")
    return hint if is_daily is None else "day" if is_daily else "month"


def _plot(item: Any, linked: Any) -> float | None:
    """The item's own has no unit in some queries: then JSON-LD's, which has."""
    told, beside = at(item, "landArea"), at(linked, "offers.itemOffered.landArea")
    area = areas.of(at(told, "value"), at(told, "units")) or areas.of(at(beside, "value"), at(beside, "unitCode"))
    return area.m2 if area else None


def _fields(
    *,
    is_rent: bool | None,
    rent_period: RentPeriod | None,
    kinds: Sequence[Any],
    sizes: tuple[areas.Area | None, float | None],
    named: Sequence[str | None],
    point: coordinates.Point,
    is_near: bool = False,
    is_renovated: Any,
    **fields: Any,
) -> dict[str, Any]:
    """Fields of a listing, of what both forms of a page tell. The finer of two names for its kind counts."""
    unknown: Kind = ("other" if any(map(line, kinds)) else None, None, None)
    known = [kind for name in kinds if (kind := meaning(name, KINDS))]
    property_type, subtype, is_new = next((each for each in known if each[1]), known[0] if known else unknown)
    area, plot = sizes
    place = places.parse(", ".join(filter(None, named)))
    renovated = truth(is_renovated)
    return {
        "operation": None if is_rent is None else "rent" if is_rent else "sale",
        "rent_period": rent_period if is_rent else None,
        "property_type": property_type,
        "subtype": subtype,
        "is_new_building": is_new,
        "area_m2": area.m2 if area and not area.is_land else None,
        "plot_m2": area.m2 if area and area.is_land else plot,
        "condition": None if renovated is None else "renovated" if renovated else "unrenovated",
        "city": place.city,
        "district": place.district or place.settlement,
        "metro_station": place.metro_station,
        "street": place.street,
        "latitude": point.latitude,
        "longitude": point.longitude,
        "geo_precision": None if point.latitude is None else "approximate" if is_near else "exact",
        **fields,
    }


def _street(address: Any) -> str | None:
    """One text, or an object."""
    return line(_first(address, "street", "streetAddress", "address") if isinstance(address, dict) else address)


def _text(told: dict[str, Any]) -> str | None:
    text = told.get("description")
    return paragraphs(text) if isinstance(text, str) else None


def _photos(item: Any, linked: Any) -> list[str]:
    told = [_first(photo, "full", "large", "url") for photo in _list(item.get("photos"))]
    beside = linked.get("image")
    return [url for url in (told or _list(beside) or [beside]) if isinstance(url, str) and url]


def _first(value: Any, *names: str) -> Any:
    return next((told for name in names if (told := at(value, name)) is not None), None)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []

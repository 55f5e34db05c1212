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
from typing import Any, ClassVar, NamedTuple
from zoneinfo import ZoneInfo

from scrapy import Request
from scrapy.http import TextResponse

from realestate.items import Listing, Operation, PropertyType, RentPeriod, SellerType
from realestate.parsing import areas, coordinates, dates, floors, numbers, periods, places, prices
from realestate.parsing.embedded import at, decoded, next_data
from realestate.parsing.text import fold, line, missing, paragraphs
from realestate.parsing.words import folded, meaning
from realestate.spiders.base import PortalSpider
from realestate.spiders.outcomes import BrokenPage, ListingGone
from realestate.spiders.paging import Numbers
from realestate.spiders.planning import Band, Choice
from realestate.spiders.results import Found, Results
from realestate.spiders.searches import parameters

FEED = "/api/search/v3/feed"
HEADERS = {"device": "pc", "country-id": "13", "language": "az_AZ", "Accept": "application/json, text/html;q=0.5"}
COUNTRIES = {13: "AZ", 12: "KG", 11: "RS"}
ROOT, ACTIVE = "2029", 2


class Leaf(NamedTuple):
    """What a category offers."""

    property_type: PropertyType | None = None
    operation: Operation | None = None
    rent_period: RentPeriod | None = None
    subtype: str | None = None


_LEAVES: dict[Leaf, tuple[int, ...]] = {
    Leaf("apartment", "sale"): (2046,),
    Leaf("apartment", "sale", None, "new_building"): (4560,),
    Leaf("apartment", "rent", "month"): (2044,),
    Leaf("apartment", "rent", "day"): (2045, 12767),
    Leaf("house", "sale"): (12188, 12189, 12193, 12194, 12205),
    Leaf("house", "sale", None, "townhouse"): (12190,),
    Leaf("house", "sale", None, "garden_house"): (12191,),
    Leaf("house", "rent", "month"): (2033,),
    Leaf("house", "rent", "day"): (2034, 12743, 12771),
    Leaf("room", "sale"): (2050,),
    Leaf("room", "rent", "month"): (2052,),
    Leaf("room", "rent", "day"): (2053, 12666, 12792, 12798),
    Leaf("land", "sale"): (2038,),
    Leaf("land", "rent", "month"): (2039,),
    Leaf("garage", "sale"): (5301,),
    Leaf("garage", "rent", "month"): (5299,),
    Leaf("garage"): (5302, 5303, 5314),
    Leaf("office", "sale"): (2056,),
    Leaf("office", "rent", "month"): (2068, 8041),
    Leaf("building", "sale"): (2061,),
    Leaf("building", "rent", "month"): (2070,),
    Leaf("commercial", "sale", None, "shop"): (2057, 6041),
    Leaf("commercial", "rent", "month", "shop"): (2066, 7248),
    Leaf("commercial", "sale", None, "restaurant"): (2058,),
    Leaf("commercial", "rent", "month", "restaurant"): (2067,),
    Leaf("commercial", "sale", None, "warehouse"): (2059,),
    Leaf("commercial", "rent", "month", "warehouse"): (2065,),
    Leaf("commercial", "sale"): (2060, 2062, 2063, 6039, 6040, 6042, 7090, 7091, 7092, 7093, 8149),
    Leaf("commercial", "rent", "month"): (2069, 2071, 2072, 7249, 8036, 8037, 8038, 8039, 8040, 8042, 8150),
    Leaf("other", "rent", "day"): (12769, 12791, 12885),
}
LEAVES = {number: leaf for leaf, those in _LEAVES.items() for number in those}
SEEKING = frozenset({2035, 2036, 2041, 2042, 2048, 2049, 5294, 5298, 5300, 8151})
#: For a category we do not know, by the first of these words in the feed's label or the title.
OFFERS: dict[str, tuple[Operation, RentPeriod | None]] = {
    **dict.fromkeys(("günlük", "sutkalıq", "посуточн", "daily"), ("rent", "day")),
    **dict.fromkeys(("kirayə", "icarə", "аренд", "сда", "rent"), ("rent", None)),
    **dict.fromkeys(("satılır", "satış", "прода", "sale", "selling"), ("sale", None)),
}
#: What we call a param: its names, which depend on the language, and then its ids.
_PARAMS = {
    "rooms": ("Otaqların sayı", "Otaq sayı", "Количество комнат", "Number of rooms", "69"),
    "area": ("Sahə (m2)", "Sahə (m²)", "Sahə", "Площадь (м2)", "Area (m2)", "70"),
    "plot": ("Torpaq sahəsi (Sot)", "Площадь участка (сотка)", "Площадь участка (в сотках)", "71"),
    "floor": ("Mərtəbə", "Этаж", "Floor", "Floor number", "226", "3299"),
    "floors": ("Mərtəbələrin sayı", "Mərtəbə sayı", "Количество этажей", "Number of floors", "3509"),
    "repair": ("Təmir", "Təmiri", "Ремонт", "Состояние", "872"),
    "deed": ("Sənəd", "Sənədin tipi", "Sənədin növü", "Правоустанавливающие документы", "868"),
    "district": ("İnzibati rayonlar", "Rayon", "Район", "Район Бишкека", "District", "357"),
    "metro": ("Metro stansiyası", "Metro", "Станция метро", "Metro station"),
    "settlement": ("Qəsəbə", "Qəsəbələr", "Посёлок", "Поселок"),
    "amenities": ("Əlavə", "Əlavə məlumat", "Дополнительно", "878", "3278"),
    "offerer": ("Təklifin növü", "Тип предложения", "Кто предлагает", "Offer type", "2149"),
    "period": ("İcarə növü", "Тип аренды", "3295"),
    "building": ("Tikilinin növü", "Binanın növü", "Tikili növü", "Тип строения", "3296"),
    "year": ("Tikilmə ili", "İnşaat ili", "Год постройки", "Year built", "874"),
}
PARAMS = {fold(label): name for name, labels in _PARAMS.items() for label in labels}
CONDITIONS = folded(
    {
        **dict.fromkeys(("Təmirsiz", "Без ремонта"), "unrenovated"),
        **dict.fromkeys(("Orta təmir", "Orta təmirli"), "average"),
        **dict.fromkeys(("Yaxşı təmir", "Yaxşı təmirli", "Хороший ремонт"), "good"),
        **dict.fromkeys(("Əla təmir", "Əla təmirli", "Евроремонт"), "excellent"),
    }
)
DEEDS = folded({**dict.fromkeys(("Kupça", "Çıxarış", "Çıxarış (Kupça)", "Kupça (Çıxarış)"), True), "Müqavilə": False})
BUILDINGS = folded({"Yeni tikili": True, "Köhnə tikili": False, "Новостройка": True, "Вторичка": False})
SELLERS: dict[str, SellerType] = folded(
    {
        **dict.fromkeys(("Mülkiyyətçi", "Собственник", "Owner"), "owner"),
        **dict.fromkeys(("Vasitəçi", "Agentlik", "Риэлтор", "Агентство недвижимости", "Real estate agency"), "agency"),
        **dict.fromkeys(("Tikinti şirkəti", "Застройщик", "Developer"), "developer"),
    }
)
FEATURES = folded(
    {"Lift": "lift", "Balkon": "balcony", "Kondisioner": "air_conditioning", "Hovuz": "swimming_pool"}
    | {"Parkinq": "parking", "Qaraj": "garage", "Mebel": "furnished", "Mebelli": "furnished", "Zirzəmi": "basement"}
)
#: Told beside what fields take; everything about persons is left alone.
BESIDE = ("category_id", "old_price", "is_negotiable", "price_type", "views", "impressions", "favorite_count")


class LalafoSpider(PortalSpider):
    name = "lalafo"
    allowed_domains = ["lalafo.az"]  # noqa: RUF012
    site = "https://lalafo.az"
    searches = (f"{FEED}/search?category_id={ROOT}&expand=url&page=1&per-page=40&sort_by=newest&with_feed_banner=true",)
    listing_path = re.compile(r"^(?:/[^/]+/ads/(?:[^/]*-)?id-|/api/search/v3/feed/details/)(?P<ref>\d{1,12})/?$")
    country = "AZ"
    currency = "AZN"
    timezone = ZoneInfo("Asia/Baku")
    terms = "https://lalafo.az/terms-of-use"
    checked_on = date(2026, 11, 15)
    paging: ClassVar[Numbers] = Numbers("page", size=40, most=9_000)
    axes = (
        Choice("category_id", tuple(str(number) for number in sorted({*LEAVES, *SEEKING})), whole=ROOT),
        Band("price[from]", "price[to]"),
    )
    newest_first = "date"

    def ask(self, search: str) -> Request:
        return Request(search, headers=HEADERS)

    def ask_listing(self, url: str) -> Request:
        return Request(f"{self.site}{FEED}/details/{self.ref_of(url)}?expand=url", headers=HEADERS)

    def parse_search(self, response: TextResponse) -> Results:
        feeds = (each for each in _answers(response) if isinstance(at(each, "items"), list))
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
            [] if is_filler else [self._found(item) for item in adverts if _is_asked_for(item, asked)],
            # pages of another size than we count by are followed one by one
            total=meta["totalCount"] if meta.get("perPage") == self.paging.size else None,
            is_last=is_filler or at(page, "_links.next") is None,
            unreadable=len(items) - len(adverts),
        )

    def _found(self, item: Any) -> Found:
        number, category, label = item["id"], item.get("category_id"), line(item.get("ad_label"))
        hints: dict[str, Any] = {} if category in LEAVES or not label else {"label": label}
        url = line(item.get("url"))
        if not url or self.ref_of(url) != str(number):
            url = f"/{line(item.get('city_alias')) or 'azerbaijan'}/ads/id-{number}"
        return self.found(
            url,
            self._price(item),
            LEAVES.get(category, Leaf()).rent_period,
            dated=dates.stamp(item.get("created_time")),
            is_promoted=_is_paid(item),
            **hints,
        )

    def parse_listing(self, response: TextResponse, label: str | None = None, **hints: Any) -> Iterator[Listing]:
        ad: Any = next((each for each in _answers(response) if isinstance(at(each, "params"), list)), None)
        asked = self.ref_of(response.url)
        if not isinstance(at(ad, "id"), int) or asked not in (None, str(ad["id"])):
            raise BrokenPage("no advert, or another one")
        if ad.get("status_id") not in (None, ACTIVE):
            raise ListingGone(f"status_id {ad['status_id']}")
        if ad.get("category_id") in SEEKING:
            raise BrokenPage("somebody who seeks a home, and offers none")
        told, rest = _params(ad["params"])
        leaf = _leaf(ad, label, told)
        area, plot = areas.parse(line(told.get("area")), "m2"), areas.parse(line(told.get("plot")), "sot")
        if area and (area.is_land or leaf.property_type == "land"):
            area, plot = None, plot or area
        is_new = meaning(told.get("building"), BUILDINGS)
        latitude, longitude = coordinates.of(ad.get("lat"), ad.get("lng"))
        is_firm = at(ad, "user.pro") is True
        yield self.listing(
            response,
            self._price(ad),
            ref=str(ad["id"]),
            url=response.urljoin(line(ad.get("url")) or self.shown_at(response)),
            country=COUNTRIES.get(ad.get("country_id"), self.country),
            operation=leaf.operation,
            rent_period=leaf.rent_period,
            property_type=leaf.property_type,
            subtype=leaf.subtype or {True: "new_building", False: "old_building", None: None}[is_new],
            is_new_building=is_new,
            area_m2=area.m2 if area else None,
            plot_m2=plot.m2 if plot else None,
            rooms=numbers.whole(told.get("rooms")),
            floor=floors.parse(told.get("floor")).floor,
            floors_total=numbers.whole(told.get("floors")),
            year_built=numbers.whole(told.get("year")),
            condition=meaning(told.get("repair"), CONDITIONS),
            has_deed=meaning(told.get("deed"), DEEDS),
            features=_features(told.get("amenities")),
            city=line(ad.get("city")),
            district=_place(told.get("district"), "district") or _place(told.get("settlement"), "settlement"),
            metro_station=_place(told.get("metro"), "metro_station"),
            latitude=latitude,
            longitude=longitude,
            geo_precision="approximate" if latitude is not None else None,
            title=line(ad.get("title")),
            description=paragraphs(ad["description"]) if isinstance(ad.get("description"), str) else None,
            photos=_photos(ad.get("images")),
            seller_type=meaning(told.get("offerer"), SELLERS) or ("agency" if is_firm else None),
            agency_name=line(at(ad, "user.business.features.company_name")) if is_firm else None,
            posted_at=dates.stamp(ad.get("created_time")),
            updated_at=dates.stamp(ad.get("updated_time")),
            extra={**rest, **{name: ad[name] for name in BESIDE if not missing(ad.get(name))}},
        )

    def _price(self, ad: Any) -> prices.Price:
        """In the currency the seller chose; `national_price` is the same in manats."""
        currency = at(ad, "currency")
        is_code = isinstance(currency, str) and re.fullmatch("[A-Z]{3}", currency)
        return prices.of(at(ad, "price"), currency if is_code else self.currency)


def _answers(response: TextResponse) -> list[Any]:
    """What the API told: the response itself, or what a page of the site was made of."""
    if response.text.lstrip("\ufeff \t\r\n")[:1] == "{":
        return [decoded(response.text)]
    queries = next_data(response.text, "props.pageProps.dehydratedState.queries")
    told = [at(query, "state.data") for query in queries] if isinstance(queries, list) else []
    return told + [page for each in told if isinstance(at(each, "pages"), list) for page in each["pages"]]


def _is_paid(item: Any) -> bool:
    return any(at(item, flag) is True for flag in ("is_ppv", "is_vip", "is_premium"))


def _is_asked_for(item: Any, asked: dict[str, str]) -> bool:
    """Who pays is shown in any search. An advert of a leaf we do not know is one of the search if nobody paid."""
    category, wanted = item.get("category_id"), asked.get("category_id", ROOT)
    if category in SEEKING:
        return False
    is_within = category in LEAVES if wanted == ROOT else str(category) == wanted
    is_there = asked.get("city_id") in (None, str(item.get("city_id")))
    return (is_within and is_there) or not _is_paid(item)


def _params(params: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Those we know by our names for them, and the others by their own."""
    told: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for param in params:
        label, value = line(at(param, "name")), at(param, "value")
        known = PARAMS.get(fold(label or "")) or PARAMS.get(str(at(param, "id")))
        if not missing(value):
            (told if known else rest).setdefault(known or label or str(at(param, "id")), value)
    return told, rest


def _leaf(ad: Any, label: str | None, told: dict[str, Any]) -> Leaf:
    """What is offered, by its category; a param may say that what most rent by the month is rented by the day."""
    leaf = LEAVES.get(ad.get("category_id"))
    if leaf is None:
        words = fold(f"{label or ''} {line(ad.get('title')) or ''}")
        operation, period = next((offer for word, offer in OFFERS.items() if word in words), (None, None))
        leaf = Leaf(None, operation, period)
    if leaf.operation != "rent" or leaf.rent_period == "day":
        return leaf
    return leaf._replace(rent_period=periods.parse(line(told.get("period"))) or leaf.rent_period)


def _place(value: Any, kind: str) -> str | None:
    """ "Nəsimi r." and "28 May m." without their endings."""
    return getattr(places.parse(line(value)), kind) or line(value)


def _features(value: Any) -> frozenset[str]:
    words = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    return frozenset(known for each in words if (known := meaning(each, FEATURES)))


def _photos(images: Any) -> list[str]:
    urls = [at(image, "original_url") for image in images] if isinstance(images, list) else []
    return [url for url in urls if isinstance(url, str) and re.match("https?://", url)]

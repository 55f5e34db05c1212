"""What lalafo's categories and params mean. The ids are those of the same platform in Kyrgyzstan, the names are told in
the language that is asked for."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from realestate.items import Operation, PropertyType, RentPeriod, SellerType
from realestate.parsing import areas, azerbaijani_addresses, floors, numbers, periods, prices
from realestate.parsing.embedded import at, decoded, next_data
from realestate.parsing.text import fold, line, missing
from realestate.parsing.words import folded, meaning

T = TypeVar("T")

COUNTRIES = {"13": "AZ", "12": "KG", "11": "RS"}
ROOT, ACTIVE = "2029", 2
#: Told beside what fields take; everything about persons is left alone.
BESIDE = ("category_id", "old_price", "is_negotiable", "price_type", "views", "impressions", "favorite_count")


class Leaf(NamedTuple):
    """What a category offers. Only homes have a leaf for rents by the month and one for those by the day."""

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
    Leaf("land", "rent"): (2039,),
    Leaf("garage", "sale"): (5301,),
    Leaf("garage", "rent"): (5299,),
    Leaf("garage"): (5302, 5303, 5314),
    Leaf("office", "sale"): (2056,),
    Leaf("office", "rent"): (2068, 8041),
    Leaf("building", "sale"): (2061,),
    Leaf("building", "rent"): (2070,),
    Leaf("commercial", "sale", None, "shop"): (2057, 6041),
    Leaf("commercial", "rent", None, "shop"): (2066, 7248),
    Leaf("commercial", "sale", None, "restaurant"): (2058,),
    Leaf("commercial", "rent", None, "restaurant"): (2067,),
    Leaf("commercial", "sale", None, "warehouse"): (2059,),
    Leaf("commercial", "rent", None, "warehouse"): (2065,),
    Leaf("commercial", "sale"): (2060, 2062, 2063, 6039, 6040, 6042, 7090, 7091, 7092, 7093, 8149),
    Leaf("commercial", "rent"): (2069, 2071, 2072, 7249, 8036, 8037, 8038, 8039, 8040, 8042, 8150),
    Leaf("other", "rent", "day"): (12769, 12791, 12885),
}
LEAVES = {number: leaf for leaf, those in _LEAVES.items() for number in those}
SEEKING = frozenset({2035, 2036, 2041, 2042, 2048, 2049, 5294, 5298, 5300, 8151})
#: All into which a search of the root is cut.
CATEGORIES = tuple(map(str, sorted({*LEAVES, *SEEKING})))
#: Beginnings of words that tell an offer of a category we do not know.
_OFFERS: dict[Operation, re.Pattern[str]] = {
    "rent": re.compile(r"\b(?:kirayə|icarə|günlük|sutkalıq|аренд|сда[её]т|посуточн|rent|daily)"),
    "sale": re.compile(r"\b(?:satıl|satış|прода|sale\b|selling)"),
}
_CONDITIONS = {
    **dict.fromkeys(("Təmirsiz", "Без ремонта"), "unrenovated"),
    **dict.fromkeys(("Orta təmir", "Orta təmirli"), "average"),
    **dict.fromkeys(("Yaxşı təmir", "Yaxşı təmirli", "Хороший ремонт"), "good"),
    **dict.fromkeys(("Əla təmir", "Əla təmirli", "Евроремонт"), "excellent"),
}
_DEEDS = {**dict.fromkeys(("Kupça", "Çıxarış", "Çıxarış (Kupça)", "Kupça (Çıxarış)"), True), "Müqavilə": False}
_BUILDINGS = {"Yeni tikili": True, "Köhnə tikili": False, "Новостройка": True, "Вторичка": False}
_SELLERS: dict[str, SellerType] = {
    **dict.fromkeys(("Mülkiyyətçi", "Собственник", "Owner"), "owner"),
    **dict.fromkeys(("Vasitəçi", "Agentlik", "Риэлтор", "Агентство недвижимости", "Real estate agency"), "agency"),
    **dict.fromkeys(("Tikinti şirkəti", "Застройщик", "Developer"), "developer"),
}
FEATURES = folded(
    {"Lift": "lift", "Balkon": "balcony", "Kondisioner": "air_conditioning", "Hovuz": "swimming_pool"}
    | {"Parkinq": "parking", "Qaraj": "garage", "Mebel": "furnished", "Mebelli": "furnished", "Zirzəmi": "basement"}
)
#: "6+" and "5 və daha çox" count no rooms.
ROOMS = re.compile(r"(\d{1,2})(?: ?(?:otaq\w{0,4}|комнат\w{0,3}|rooms?))?", re.IGNORECASE)


def _rooms(value: Any) -> int | None:
    found = ROOMS.fullmatch(line(value) or "")
    return int(found[1]) if found else None


def _year(value: Any) -> int | None:
    year = numbers.whole(value)
    return year if year is not None and 1800 <= year <= 2100 else None


def _by(meanings: Mapping[str, T]) -> Callable[[Any], T | None]:
    table = folded(meanings)
    return lambda value: meaning(value, table)


def _without_ending(kind: str) -> Callable[[Any], str | None]:
    """ "Nəsimi r." and "28 May m." are names with a word for what they name."""
    return lambda value: getattr(azerbaijani_addresses.parse(line(value)), kind) or line(value)


#: What we call a param: how its value is read, its names, which depend on the language, and its ids.
_PARAMS: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "rooms": (_rooms, ("Otaqların sayı", "Otaq sayı", "Количество комнат", "Number of rooms", "69")),
    "area": (
        lambda value: areas.parse(line(value), "m2"),
        ("Sahə (m2)", "Sahə (m²)", "Sahə", "Площадь (м2)", "Area (m2)", "70"),
    ),
    "plot": (
        lambda value: areas.parse(line(value), "sot"),
        ("Torpaq sahəsi (Sot)", "Площадь участка (сотка)", "Площадь участка (в сотках)", "71"),
    ),
    "floor": (lambda value: floors.parse(value).floor, ("Mərtəbə", "Этаж", "Floor", "Floor number", "226", "3299")),
    "floors_total": (
        numbers.whole,
        ("Mərtəbələrin sayı", "Mərtəbə sayı", "Количество этажей", "Number of floors", "3509"),
    ),
    "year_built": (_year, ("Tikilmə ili", "İnşaat ili", "Год постройки", "Year built", "874")),
    "condition": (_by(_CONDITIONS), ("Təmir", "Təmiri", "Ремонт", "Состояние", "872")),
    "has_deed": (_by(_DEEDS), ("Sənəd", "Sənədin tipi", "Sənədin növü", "Правоустанавливающие документы", "868")),
    "is_new": (_by(_BUILDINGS), ("Tikilinin növü", "Binanın növü", "Tikili növü", "Тип строения", "3296")),
    "seller": (_by(_SELLERS), ("Təklifin növü", "Тип предложения", "Кто предлагает", "Offer type", "2149")),
    "period": (lambda value: periods.parse(line(value)), ("İcarə növü", "Тип аренды", "3295")),
    "district": (
        _without_ending("district"),
        ("İnzibati rayonlar", "Rayon", "Район", "Район Бишкека", "District", "357"),
    ),
    "settlement": (_without_ending("settlement"), ("Qəsəbə", "Qəsəbələr", "Посёлок", "Поселок")),
    "metro_station": (
        _without_ending("metro_station"),
        ("Metro stansiyası", "Metro", "Станция метро", "Metro station"),
    ),
    "amenities": (line, ("Əlavə", "Əlavə məlumat", "Дополнительно", "878", "3278")),
}
#: Params that are fields as they are.
PLAIN = ("rooms", "floor", "floors_total", "year_built", "condition", "has_deed", "metro_station")
PARAMS = {fold(label): name for name, (_, labels) in _PARAMS.items() for label in labels}


def offered(text: str | None) -> Leaf | None:
    """By words, if they are of one mind."""
    words = fold(text or "")
    operations = [operation for operation, form in _OFFERS.items() if form.search(words)]
    if len(operations) != 1:
        return None
    return Leaf(None, operations[0], periods.parse(words) if operations[0] == "rent" else None)


def leaf_of(ad: Any, label: str | None) -> Leaf:
    """By its category, else by the words of its label or its title."""
    return LEAVES.get(category_of(ad)) or offered(label) or offered(line(ad.get("title"))) or Leaf()


def let_for(leaf: Leaf, told: dict[str, Any], hint: RentPeriod | None) -> dict[str, Any]:
    """What is no home is let by the month, unless somebody says otherwise."""
    period = leaf.rent_period or told.get("period") or hint
    if leaf.operation != "rent" or period or not leaf.property_type:
        return {"rent_period": period if leaf.operation == "rent" else None}
    return {"rent_period": "month", "quality_flags": frozenset({"rent_period_assumed"})}


def kind_of(leaf: Leaf, told: dict[str, Any]) -> dict[str, Any]:
    is_new = told.get("is_new")
    subtype = leaf.subtype or {True: "new_building", False: "old_building", None: None}[is_new]
    known = {"operation": leaf.operation, "property_type": leaf.property_type}
    return known | {"subtype": subtype, "is_new_building": is_new}


def sizes_of(leaf: Leaf, told: dict[str, Any]) -> dict[str, float | None]:
    area, plot = told.get("area"), told.get("plot")
    if area and (area.is_land or leaf.property_type == "land"):
        area, plot = None, plot or area
    elif leaf.property_type is None and told.get("rooms") is None:
        area = None  # of a home or of a plot: nobody knows
    return {"area_m2": area.m2 if area else None, "plot_m2": plot.m2 if plot else None}


def seller_of(ad: Any, told: dict[str, Any]) -> dict[str, Any]:
    """A name that is told is a firm's only where the seller is one."""
    is_firm = at(ad, "user.pro") is True
    return {
        "seller_type": told.get("seller") or ("agency" if is_firm else None),
        "agency_name": line(at(ad, "user.business.features.company_name")) if is_firm else None,
    }


def understood(params: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What we understand, by our names, and the rest by the portal's."""
    told: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for param in params:
        label, value, number = line(at(param, "name")), at(param, "value"), str(at(param, "id"))
        if missing(value):
            continue
        known = PARAMS.get(fold(label or "")) or PARAMS.get(number)
        read = _PARAMS[known][0](value) if known else None
        if known and read is not None:
            told.setdefault(known, read)
        else:
            rest[label or number] = value
    return told, rest


def features(told: dict[str, Any], rest: dict[str, Any]) -> Iterator[str]:
    """Those we have a word for; the others stay with the rest."""
    words = [each.strip() for each in told.get("amenities", "").split(",")]
    yield from (known for each in words if (known := meaning(each, FEATURES)))
    if others := [each for each in words if each and not meaning(each, FEATURES)]:
        rest["amenities"] = others


def asked_price(ad: Any) -> prices.Price:
    """In the currency the seller chose, and without one none: "$" is the sign of several; `national_price` is in
    manats. Null and 0 are a price on request."""
    if "price" in ad and ad["price"] in (None, 0):
        return prices.Price(basis="on_request")
    currency = line(ad.get("currency")) or ""
    if not re.fullmatch("[A-Z]{3}", currency) or numbers.positive(ad.get("price")) is None:
        return prices.Price()
    return prices.of(ad["price"], currency)


def is_paid(item: Any) -> bool:
    return any(at(item, flag) is True for flag in ("is_ppv", "is_vip", "is_premium"))


def is_asked_for(item: Any, asked: dict[str, str]) -> bool:
    """Who pays is shown in any search. An advert of a leaf we do not know is one of the search if nobody paid."""
    category, wanted = category_of(item), asked.get("category_id", ROOT)
    if category in SEEKING:
        return False
    is_within = category in LEAVES if wanted == ROOT else str(category) == wanted
    is_there = asked.get("city_id") in (None, str(item.get("city_id")))
    return (is_within and is_there) or not is_paid(item)


def category_of(ad: Any) -> int:
    return numbers.whole(ad.get("category_id")) or 0


def photos_of(images: Any) -> list[str]:
    urls = [at(image, "original_url") for image in images] if isinstance(images, list) else []
    return [url for url in urls if isinstance(url, str) and re.match("https?://", url)]


def beside(ad: Any) -> dict[str, Any]:
    return {name: ad[name] for name in BESIDE if ad.get(name) and not missing(ad[name])}


def feed_in(document: str) -> Any:
    """A page of results with its count."""
    feeds = (each for each in answers_in(document) if isinstance(at(each, "items"), list))
    return next((each for each in feeds if isinstance(at(each, "_meta.totalCount"), int)), None)


def advert_in(document: str) -> Any:
    """What has params; or, of an advert that has none, at least a category and a title."""
    told = [each for each in answers_in(document) if isinstance(at(each, "id"), int)]
    bare = (each for each in told if each.get("params", 0) is None and category_of(each) and line(each.get("title")))
    return next((each for each in told if isinstance(each.get("params"), list)), None) or next(bare, None)


def answers_in(document: str) -> list[Any]:
    """What the API told: the document itself, or what a page of the site was made of."""
    if document.lstrip("\ufeff \t\r\n")[:1] == "{":
        return [decoded(document)]
    queries = next_data(document, "props.pageProps.dehydratedState.queries")
    told = [at(query, "state.data") for query in queries] if isinstance(queries, list) else []
    return told + [page for each in told if isinstance(at(each, "pages"), list) for page in each["pages"]]

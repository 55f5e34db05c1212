"""The meaning of lalafo's categories and params.

The ids are those of the same platform in Kyrgyzstan. The names depend on the language of the request.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from realestate.items import Operation, PropertyType, RentPeriod, SellerType
from realestate.parsing import areas, azerbaijani_addresses, floors, numbers, periods, prices
from realestate.parsing.embedded import at, decoded, next_data
from realestate.parsing.text import fold, line, missing
from realestate.parsing.words import folded, meaning

T = TypeVar("T")

COUNTRIES = {"13": "AZ", "12": "KG", "11": "RS"}
#: The category of all real estate.
ROOT = "2029"
#: The `status_id` of an advert that is shown.
ACTIVE = 2
#: Values of an advert that go into `extra`. Values about persons are not read.
EXTRA = (
    "category_id",
    "old_price",
    "is_negotiable",
    "price_type",
    "views",
    "impressions",
    "favorite_count",
)


class Category(NamedTuple):
    """What a category offers. Only homes have separate categories for rents by the month and by the day."""

    property_type: PropertyType | None = None
    operation: Operation | None = None
    rent_period: RentPeriod | None = None
    subtype: str | None = None


_CATEGORIES: dict[Category, tuple[int, ...]] = {
    Category("apartment", "sale"): (2046,),
    Category("apartment", "sale", None, "new_building"): (4560,),
    Category("apartment", "rent", "month"): (2044,),
    Category("apartment", "rent", "day"): (2045, 12767),
    Category("house", "sale"): (12188, 12189, 12193, 12194, 12205),
    Category("house", "sale", None, "townhouse"): (12190,),
    Category("house", "sale", None, "garden_house"): (12191,),
    Category("house", "rent", "month"): (2033,),
    Category("house", "rent", "day"): (2034, 12743, 12771),
    Category("room", "sale"): (2050,),
    Category("room", "rent", "month"): (2052,),
    Category("room", "rent", "day"): (2053, 12666, 12792, 12798),
    Category("land", "sale"): (2038,),
    Category("land", "rent"): (2039,),
    Category("garage", "sale"): (5301,),
    Category("garage", "rent"): (5299,),
    Category("garage"): (5302, 5303, 5314),
    Category("office", "sale"): (2056,),
    Category("office", "rent"): (2068, 8041),
    Category("building", "sale"): (2061,),
    Category("building", "rent"): (2070,),
    Category("commercial", "sale", None, "shop"): (2057, 6041),
    Category("commercial", "rent", None, "shop"): (2066, 7248),
    Category("commercial", "sale", None, "restaurant"): (2058,),
    Category("commercial", "rent", None, "restaurant"): (2067,),
    Category("commercial", "sale", None, "warehouse"): (2059,),
    Category("commercial", "rent", None, "warehouse"): (2065,),
    Category("commercial", "sale"): (2060, 2062, 2063, 6039, 6040, 6042, 7090, 7091, 7092, 7093, 8149),
    Category("commercial", "rent"): (2069, 2071, 2072, 7249, 8036, 8037, 8038, 8039, 8040, 8042, 8150),
    Category("other", "rent", "day"): (12769, 12791, 12885),
}
CATEGORIES = {number: category for category, numbers_of in _CATEGORIES.items() for number in numbers_of}
#: Categories of people who look for a home.
WANTED = frozenset({2035, 2036, 2041, 2042, 2048, 2049, 5294, 5298, 5300, 8151})
#: The parts into which a search of the root is split.
SEARCHED_CATEGORIES = tuple(str(number) for number in sorted({*CATEGORIES, *WANTED}))
#: Words that name the operation, for adverts of a category that is not known.
_OFFERS: dict[Operation, re.Pattern[str]] = {
    "rent": re.compile(r"\b(?:kirayə|icarə|günlük|sutkalıq|аренд|сда[её]т|посуточн|rent|daily)"),
    "sale": re.compile(r"\b(?:satıl|satış|прода|sale\b|selling)"),
}
_CONDITIONS = {
    "Təmirsiz": "unrenovated",
    "Без ремонта": "unrenovated",
    "Orta təmir": "average",
    "Orta təmirli": "average",
    "Yaxşı təmir": "good",
    "Yaxşı təmirli": "good",
    "Хороший ремонт": "good",
    "Əla təmir": "excellent",
    "Əla təmirli": "excellent",
    "Евроремонт": "excellent",
}
_DEEDS = {
    "Kupça": True,
    "Çıxarış": True,
    "Çıxarış (Kupça)": True,
    "Kupça (Çıxarış)": True,
    "Müqavilə": False,
}
_BUILDINGS = {
    "Yeni tikili": True,
    "Köhnə tikili": False,
    "Новостройка": True,
    "Вторичка": False,
}
_SELLERS: dict[str, SellerType] = {
    "Mülkiyyətçi": "owner",
    "Собственник": "owner",
    "Owner": "owner",
    "Vasitəçi": "agency",
    "Agentlik": "agency",
    "Риэлтор": "agency",
    "Агентство недвижимости": "agency",
    "Real estate agency": "agency",
    "Tikinti şirkəti": "developer",
    "Застройщик": "developer",
    "Developer": "developer",
}
FEATURES = folded(
    {
        "Lift": "lift",
        "Balkon": "balcony",
        "Kondisioner": "air_conditioning",
        "Hovuz": "swimming_pool",
        "Parkinq": "parking",
        "Qaraj": "garage",
        "Mebel": "furnished",
        "Mebelli": "furnished",
        "Zirzəmi": "basement",
    }
)
#: "6+" and "5 və daha çox" (5 and more) are not a number of rooms.
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
    """A reader that removes the abbreviation behind a name: "Nəsimi r." (district), "28 May m." (metro station)."""
    return lambda value: getattr(azerbaijani_addresses.parse(line(value)), kind) or line(value)


#: Our name of a param -> how its value is read, and the portal's names and ids of it.
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
#: Params with the name of a field.
FIELDS = (
    "rooms",
    "floor",
    "floors_total",
    "year_built",
    "condition",
    "has_deed",
    "metro_station",
)
#: A name or id of a param -> our name.
PARAMS = {fold(label): name for name, (_, labels) in _PARAMS.items() for label in labels}


def _category_by_words(text: str | None) -> Category | None:
    """The operation by the words of a text; None if they name none or both."""
    words = fold(text or "")
    operations = [operation for operation, form in _OFFERS.items() if form.search(words)]
    if len(operations) != 1:
        return None
    period = periods.parse(words) if operations[0] == "rent" else None
    return Category(None, operations[0], period)


def category_or_guess(ad: Any, label: str | None) -> Category:
    """The advert's category; if it is not known, what the words of its label or title say."""
    known = CATEGORIES.get(category_of(ad))
    return known or _category_by_words(label) or _category_by_words(line(ad.get("title"))) or Category()


def rent_fields(category: Category, params: dict[str, Any], hint: RentPeriod | None) -> dict[str, Any]:
    """The period of a rent. If the type is known and no period is named, it is assumed to be the month."""
    if category.operation != "rent":
        return {"rent_period": None}
    period = category.rent_period or params.get("period") or hint
    if period or not category.property_type:
        return {"rent_period": period}
    return {"rent_period": "month", "quality_flags": frozenset({"rent_period_assumed"})}


def type_fields(category: Category, params: dict[str, Any]) -> dict[str, Any]:
    """The operation and the type of the home."""
    is_new = params.get("is_new")
    subtype = category.subtype
    if subtype is None and is_new is not None:
        subtype = "new_building" if is_new else "old_building"
    return {
        "operation": category.operation,
        "property_type": category.property_type,
        "subtype": subtype,
        "is_new_building": is_new,
    }


def size_fields(category: Category, params: dict[str, Any]) -> dict[str, float | None]:
    """The areas of the home and of its land."""
    area = params.get("area")
    plot = params.get("plot")
    if area and (area.is_land or category.property_type == "land"):
        plot = plot or area
        area = None
    elif category.property_type is None and params.get("rooms") is None:
        area = None  # it may be the size of a home or of land
    return {"area_m2": area.m2 if area else None, "plot_m2": plot.m2 if plot else None}


def seller_fields(ad: Any, params: dict[str, Any]) -> dict[str, Any]:
    """The seller. The name is read only if the seller is a firm."""
    is_firm = at(ad, "user.pro") is True
    return {
        "seller_type": params.get("seller") or ("agency" if is_firm else None),
        "agency_name": line(at(ad, "user.business.features.company_name")) if is_firm else None,
    }


def read_params(params: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The params that are known, by our names, and the rest, by the portal's names."""
    known: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for param in params:
        label = line(at(param, "name"))
        number = str(at(param, "id"))
        value = at(param, "value")
        if missing(value):
            continue
        name = PARAMS.get(fold(label or "")) or PARAMS.get(number)
        parsed = _PARAMS[name][0](value) if name else None
        if name and parsed is not None:
            known.setdefault(name, parsed)
        else:
            rest[label or number] = value
    return known, rest


def features_of(params: dict[str, Any], rest: dict[str, Any]) -> frozenset[str]:
    """The features that are known, by our names. The others are added to `rest`."""
    features = set()
    others = []
    for amenity in params.get("amenities", "").split(","):
        feature = meaning(amenity.strip(), FEATURES)
        if feature:
            features.add(feature)
        elif amenity.strip():
            others.append(amenity.strip())
    if others:
        rest["amenities"] = others
    return frozenset(features)


def price_of(ad: Any) -> prices.Price:
    """The price in the currency that the seller chose. Without a currency code there is none: "$" is the sign of
    several, and `national_price` is in manats. Null and 0 mean a price on request."""
    if "price" in ad and ad["price"] in (None, 0):
        return prices.Price(basis="on_request")
    currency = line(ad.get("currency")) or ""
    if not re.fullmatch("[A-Z]{3}", currency) or numbers.positive(ad.get("price")) is None:
        return prices.Price()
    return prices.of(ad["price"], currency)


def is_paid(item: Any) -> bool:
    """Whether somebody paid for the place of this result."""
    return any(at(item, flag) is True for flag in ("is_ppv", "is_vip", "is_premium"))


def is_in_search(item: Any, wanted: dict[str, str]) -> bool:
    """Whether a result belongs to the search. Paid adverts are shown in any search. An advert of a category that is
    not known belongs to the search unless it is paid."""
    category = category_of(item)
    wanted_category = wanted.get("category_id", ROOT)
    if category in WANTED:
        return False
    is_within = category in CATEGORIES if wanted_category == ROOT else str(category) == wanted_category
    is_there = wanted.get("city_id") in (None, str(item.get("city_id")))
    return (is_within and is_there) or not is_paid(item)


def category_of(ad: Any) -> int:
    """The number of the advert's category; 0 if it has none."""
    return numbers.whole(ad.get("category_id")) or 0


def photos_of(images: Any) -> list[str]:
    urls = [at(image, "original_url") for image in images] if isinstance(images, list) else []
    return [url for url in urls if isinstance(url, str) and re.match("https?://", url)]


def extra_of(ad: Any) -> dict[str, Any]:
    """For `extra`: values that no field has."""
    return {name: ad[name] for name in EXTRA if ad.get(name) and not missing(ad[name])}


def feed_in(document: str) -> Any:
    """The results of a search page, with their total; None if there are none."""
    for each in api_documents(document):
        if isinstance(at(each, "items"), list) and isinstance(at(each, "_meta.totalCount"), int):
            return each
    return None


def advert_in(document: str) -> Any:
    """The advert of a page: the document with params; if `params` is null, with at least a category and a title."""
    adverts = [each for each in api_documents(document) if isinstance(at(each, "id"), int)]
    for each in adverts:
        if isinstance(each.get("params"), list):
            return each
    for each in adverts:
        if each.get("params", 0) is None and category_of(each) and line(each.get("title")):
            return each
    return None


def api_documents(document: str) -> list[Any]:
    """The API's responses: the document itself, or those that a page of the site contains."""
    if document.lstrip("\ufeff \t\r\n")[:1] == "{":
        return [decoded(document)]
    queries = next_data(document, "props.pageProps.dehydratedState.queries")
    responses = [at(query, "state.data") for query in queries] if isinstance(queries, list) else []
    pages = []
    for response in responses:
        if isinstance(at(response, "pages"), list):
            pages.extend(response["pages"])
    return responses + pages

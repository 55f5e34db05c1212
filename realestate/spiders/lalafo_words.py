"""The meaning of lalafo's params. Their names depend on the language of the request, their ids on the country."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from realestate.crawling import parameters
from realestate.items import RentPeriod, SellerType
from realestate.parsing import areas, azerbaijani_addresses, floors, numbers, periods, prices
from realestate.parsing.embedded import at, decoded, next_data
from realestate.parsing.text import fold, line, missing
from realestate.parsing.words import folded, meaning
from realestate.spiders import lalafo_category_words as categories

T = TypeVar("T")

COUNTRIES = {"13": "AZ", "12": "KG", "11": "RS"}
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
    "Yeni təmirli": "newly_renovated",
    "Yeni təmir": "newly_renovated",
    "Podmayak": "shell",
}
#: Documents of a home: whether they are its title deed. None: the document says nothing about that.
_DEEDS: dict[str, bool | None] = {
    "Kupça": True,
    "Çıxarış": True,
    "Çıxarış (Kupça)": True,
    "Kupça (Çıxarış)": True,
    "Müqavilə": False,
    "Bələdiyyə": False,
    "Bələdiyyə sənədi": False,
    "Texniki pasport": None,
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
    "Makler": "agency",
    "Rieltor": "agency",
    "Əmlak agentliyi": "agency",
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


def _deed(value: Any) -> bool | None:
    """Whether one of the documents is the title deed. A value may name several, separated by commas."""
    table = folded(_DEEDS)
    deeds = [table.get(fold(each)) for each in (line(value) or "").split(",")]
    return True if True in deeds else False if False in deeds else None


def _seller(value: Any) -> SellerType | None:
    """The seller. The value may also say whom the seller does not want: "Maklerlər narahat etməsin" (no agents)."""
    table = folded(_SELLERS)
    sellers = {seller for each in (line(value) or "").split(",") if (seller := table.get(fold(each)))}
    return sellers.pop() if len(sellers) == 1 else None


def _without_mark(kind: str, mark: str) -> Callable[[Any], str | None]:
    """Like `_without_ending`, for names that may begin with the abbreviation: "m. 28 May"."""
    without_ending = _without_ending(kind)
    begin = re.compile(rf"{mark}\.?\s+", re.IGNORECASE)
    return lambda value: without_ending(begin.sub("", line(value) or "", count=1))


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
        ("Mərtəbələrin sayı", "Mərtəbə sayı", "Количество этажей", "Number of floors", "229", "3509"),
    ),
    "year_built": (_year, ("Tikilmə ili", "İnşaat ili", "Год постройки", "Year built", "874")),
    "condition": (_by(_CONDITIONS), ("Təmir", "Təmiri", "Ремонт", "Состояние", "352", "872")),
    "has_deed": (
        _deed,
        ("Sənədlər", "Sənəd", "Sənədin tipi", "Sənədin növü", "Правоустанавливающие документы", "868", "888"),
    ),
    "is_new": (_by(_BUILDINGS), ("Tikilinin növü", "Binanın növü", "Tikili növü", "Тип строения", "3296")),
    "seller": (_seller, ("Təklifin növü", "Тип предложения", "Кто предлагает", "Offer type", "256", "2149")),
    "period": (lambda value: periods.parse(line(value)), ("İcarə növü", "Тип аренды", "3295")),
    "district": (
        _without_ending("district"),
        ("İnzibati rayonlar", "Rayon", "Район", "Район Бишкека", "District", "357"),
    ),
    "settlement": (_without_ending("settlement"), ("Qəsəbə", "Qəsəbələr", "Посёлок", "Поселок")),
    "metro_station": (
        _without_mark("metro_station", r"m(?:etro)?"),
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


def rent_fields(
    category: categories.Category, params: dict[str, Any], hint: RentPeriod | None, flags: frozenset[str]
) -> dict[str, Any]:
    """The period of a rent. If the type is known and no period is named, it is assumed to be the month."""
    if category.operation != "rent":
        return {"rent_period": None, "quality_flags": flags}
    period = category.rent_period or params.get("period") or hint
    if period or not category.property_type:
        return {"rent_period": period, "quality_flags": flags}
    return {"rent_period": "month", "quality_flags": flags | {"rent_period_assumed"}}


def type_fields(category: categories.Category, params: dict[str, Any]) -> dict[str, Any]:
    """The operation and the type of the home."""
    is_new = params.get("is_new")
    subtype = category.subtype
    if is_new is None and category.property_type == "apartment":
        is_new = {"new_building": True, "old_building": False}.get(subtype or "")
    if subtype is None and is_new is not None:
        subtype = "new_building" if is_new else "old_building"
    return {
        "operation": category.operation,
        "property_type": category.property_type,
        "subtype": subtype,
        "is_new_building": is_new,
    }


def size_fields(category: categories.Category, params: dict[str, Any]) -> dict[str, float | None]:
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


def is_in_search(item: Any, search: str) -> bool:
    """Whether a result belongs to the search. Paid adverts are shown in any search. A paid advert of a category that is
    not known belongs to the search of everything if its words are those of a home."""
    wanted = parameters(search)
    category = categories.number_of(item)
    wanted_category = wanted.get("category_id", categories.ROOT)
    if categories.is_wanted(category, categories.of_search(item, search)):
        return False
    if not is_paid(item):
        return True
    is_within = str(category) == wanted_category
    if wanted_category == categories.ROOT:
        is_within = category in categories.CATEGORIES or categories.looks_like_a_home(item)
    return is_within and wanted.get("city_id") in (None, str(item.get("city_id")))


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
        if each.get("params", 0) is None and categories.number_of(each) and line(each.get("title")):
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

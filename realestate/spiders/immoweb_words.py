"""The meaning of the words that immoweb.be uses, and where its objects have their values."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from realestate.crawling import BadSeed, Covers, parameters, point_fields
from realestate.items import GeoPrecision, Operation, PropertyType, RentPeriod, SellerType, Status
from realestate.parsing import coordinates, html, numbers, prices
from realestate.parsing.embedded import at, decoded, listed
from realestate.parsing.text import line, word

T = TypeVar("T")

#: Parts of a search's path -> what such a search shows.
SEARCH_WORDS: dict[str, Covers] = {
    "/for-sale": Covers(operation="sale"),
    "/for-rent": Covers(operation="rent"),
    "/house-and-apartment/": Covers(types=("house", "apartment", "building", "other")),
    "/office/": Covers(types=("office",)),
    "/business/": Covers(types=("commercial", "building", "other")),
    "/industry/": Covers(types=("commercial", "building", "other")),
    "/land/": Covers(types=("land",)),
    "/garage/": Covers(types=("garage",)),
    "/kot/": Covers(types=("room",)),
}
#: The path of a search in the browser: /en/search/house/for-sale/gent/9000
_BROWSER_PATH = re.compile(
    r"^/(?:en|fr|nl|de)/(?:search|search-results|zoeken|recherche)/(?P<type>[a-z-]+)/(?P<deal>[a-z-]+)"
    r"(?:/(?P<place>[^/]+)/(?P<level>[^/]+))?/?$"
)
#: Words of the other languages -> those of the English pages.
_ENGLISH_TYPES = {
    "huis": "house",
    "maison": "house",
    "appartement": "apartment",
    "huis-en-appartement": "house-and-apartment",
    "maison-et-appartement": "house-and-apartment",
    "kantoor": "office",
    "bureau": "office",
    "handelszaak": "business",
    "commerce": "business",
    "industrie": "industry",
    "grond": "land",
    "terrain": "land",
}
_ENGLISH_DEALS = {
    "te-koop": "for-sale",
    "a-vendre": "for-sale",
    "te-huur": "for-rent",
    "a-louer": "for-rent",
}
TYPES_OF_SEARCHES = frozenset(
    {"house", "apartment", "house-and-apartment", "kot", "office", "business", "industry", "land", "garage"}
    | {"new-real-estate-project-houses", "new-real-estate-project-apartments", "project-construction-houses"}
    | {"exceptional-property", "public-sale"}
)


def search_from_browser(url: str) -> str:
    """The search with JSON results that shows the same as a search in the browser. Raises BadSeed."""
    parts = urlsplit(url)
    found = _BROWSER_PATH.match(parts.path)
    if found is None:
        raise BadSeed("not a search")
    kind = _ENGLISH_TYPES.get(found["type"], found["type"])
    deal = _ENGLISH_DEALS.get(found["deal"], found["deal"])
    if kind not in TYPES_OF_SEARCHES or deal not in ("for-sale", "for-rent"):
        raise BadSeed(f"an unknown kind of search: {found['type']}/{found['deal']}")
    query = parts.query
    if found["level"] and not found["level"].isdecimal():
        raise BadSeed(f"its place {found['place']!r} has no postal code; use /{found['place']}/<postal code> or --city")
    if found["level"]:
        query = f"{query}&postalCodes={found['level']}".lstrip("&")
    if "countries=" not in query:
        query = f"{query}&countries=BE".lstrip("&")
    return parts._replace(path=f"/en/search-results/{kind}/{deal}", query=query, fragment="").geturl()


PROPERTY_TYPES: dict[str, PropertyType] = {
    "HOUSE": "house",
    "HOUSE_GROUP": "house",
    "APARTMENT": "apartment",
    "APARTMENT_GROUP": "apartment",
    "LAND": "land",
    "GARAGE": "garage",
    "OFFICE": "office",
    "KOT": "room",
    "BUSINESS": "commercial",
    "INDUSTRY": "commercial",
}
OPERATIONS: dict[str, Operation] = {"FOR_SALE": "sale", "FOR_RENT": "rent"}
DEALS = {"FOR_SALE": "for-sale", "FOR_RENT": "for-rent"}
SELLERS: dict[str, SellerType] = {
    "AGENCY": "agency",
    "NOTARY": "agency",
    "PRIVATE": "owner",
    "DEVELOPER": "developer",
}
#: Path of a feature's flag below `property` -> feature. Only true counts.
FEATURES = {
    "hasGarden": "garden",
    "hasTerrace": "terrace",
    "hasBalcony": "balcony",
    "hasSwimmingPool": "swimming_pool",
    "hasLift": "lift",
    "fireplaceExists": "fireplace",
    "hasAirConditioning": "air_conditioning",
    "hasBasement": "basement",
    "hasArmoredDoor": "armored_door",
    "energy.hasDoubleGlazing": "double_glazing",
    "energy.hasHeatPump": "heat_pump",
    "energy.hasPhotovoltaicPanels": "photovoltaic_panels",
}
MONTHLY_RENT = "transaction.rental.monthlyRentalPrice"
YEARLY_RENT = "transaction.rental.yearlyRentalPrice"
#: Paths of the price. The first that has a value is used.
PRICES = (
    "price.mainValue",
    "transaction.sale.price",
    MONTHLY_RENT,
    YEARLY_RENT,
)
PARKING = ("parkingCountIndoor", "parkingCountOutdoor", "parkingCountClosedBox")
#: A country is named in the page's language. A listing with a name that is not here goes to quarantine.
COUNTRIES = {
    "Belgium": "BE",
    "België": "BE",
    "Belgique": "BE",
    "Belgien": "BE",
    "Luxembourg": "LU",
    "Luxemburg": "LU",
    "France": "FR",
    "Frankrijk": "FR",
    "Frankreich": "FR",
    "Netherlands": "NL",
    "Nederland": "NL",
    "Pays-Bas": "NL",
    "Niederlande": "NL",
    "Germany": "DE",
    "Duitsland": "DE",
    "Allemagne": "DE",
    "Deutschland": "DE",
    "Spain": "ES",
    "Spanje": "ES",
    "Espagne": "ES",
    "Spanien": "ES",
    "Italy": "IT",
    "Italië": "IT",
    "Italie": "IT",
    "Italien": "IT",
    "Portugal": "PT",
    "Switzerland": "CH",
    "Zwitserland": "CH",
    "Suisse": "CH",
    "Schweiz": "CH",
    "Austria": "AT",
    "Oostenrijk": "AT",
    "Autriche": "AT",
    "Österreich": "AT",
    "Greece": "GR",
    "Griekenland": "GR",
    "Grèce": "GR",
    "Griechenland": "GR",
    "Croatia": "HR",
    "Kroatië": "HR",
    "Croatie": "HR",
    "Kroatien": "HR",
    "Bulgaria": "BG",
    "Bulgarije": "BG",
    "Bulgarie": "BG",
    "Bulgarien": "BG",
    "Turkey": "TR",
    "Turkije": "TR",
    "Turquie": "TR",
    "Türkei": "TR",
    "Morocco": "MA",
    "Marokko": "MA",
    "Maroc": "MA",
}
#: Flags of a price that is not the price of a usual sale -> quality flag.
UNUSUAL = {"flags.isLifeAnnuitySale": "life_annuity", "flags.isPublicSale": "public_sale"}
NOTHING: tuple[Any, ...] = ("", False, -1, [])
#: Paths that are read into fields, or must not be stored. All other values of the page go into `extra`.
TAKEN = frozenset(
    {
        "id",
        "cluster.units",
        "customers",
        "premiumProjectPage",
        "media",
        "hasSectionsArray",
        "displayFlags",
        "externalReference",
        "isBookmarked",
        "flags.isNewlyBuilt",
        "flags.isSoldOrRented",
        "flags.isUnderOption",
        "price.mainValue",
        "price.additionalValue",
        "price.language",
        "property.type",
        "property.subtype",
        "property.title",
        "property.description",
        "property.land.surface",
        "property.netHabitableSurface",
        "property.roomCount",
        "property.bedroomCount",
        "property.bathroomCount",
        "property.building.condition",
        "property.building.constructionYear",
        "property.building.facadeCount",
        "property.building.floorCount",
        "property.energy.heatingType",
        "property.location.country",
        "property.location.region",
        "property.location.district",
        "property.location.locality",
        "property.location.postalCode",
        "property.location.street",
        "property.location.number",
        "property.location.floor",
        "property.location.latitude",
        "property.location.longitude",
        "publication.creationDate",
        "publication.lastModificationDate",
        "transaction.type",
        "transaction.certificates.epcScore",
        "transaction.certificates.primaryEnergyConsumptionPerSqm",
        *(f"property.{path}" for path in FEATURES),
    }
)


def _by_object(paths: Iterable[str]) -> dict[str, set[str]]:
    """ "property.location.country" as "property.location." -> {"country"}."""
    names: dict[str, set[str]] = {}
    for path in paths:
        above, dot, name = path.rpartition(".")
        names.setdefault(above + dot, set()).add(name)
    return names


_TAKEN_FROM = _by_object(TAKEN)


def is_in_search(result: Any, search: str) -> bool:
    """Whether a result belongs to the search. A paid one is shown in any search, whatever its operation, price or
    place."""
    deal = at(result, "transaction.type")
    if isinstance(deal, str) and DEALS.get(deal, "") not in search:
        return False
    wanted = parameters(search)
    price = numbers.positive(at(result, "price.mainValue"))
    least = numbers.positive(wanted.get("minPrice"))
    most = numbers.positive(wanted.get("maxPrice"))
    if price is not None and not (least or 0) <= price <= (most or price):
        return False
    places = wanted.get("postalCodes")
    postal_code = line(at(result, "property.location.postalCode"))
    return not places or postal_code is None or postal_code in re.findall(r"\d+", places)


def path_of(result: Any) -> str | None:
    """The path of a result's page, made of its parts. The site redirects a wrong path to the right one."""
    if not isinstance(at(result, "id"), int):
        return None
    parts = (
        (word(at(result, "property.subtype")) or "").replace("_", "-"),
        word_in(DEALS, at(result, "transaction.type")) or "",
        (line(at(result, "property.location.locality")) or "").lower().replace(" ", "-"),
        line(at(result, "property.location.postalCode")) or "",
    )
    known = quote("/".join(parts)) + "/" if all(parts) else ""
    return f"/en/classified/{known}{result['id']}"


def price_of(ad: Any, currency: str) -> prices.Price:
    """The price: the main value, or else the transaction's. The price range of a project is not a price."""
    for path in PRICES:
        if numbers.positive(at(ad, path)) is not None:
            return prices.of(at(ad, path), currency)
    return prices.Price(basis="on_request")


def shows_price(result: Any) -> bool:
    """Whether a result of a search has a block of prices. Without it, nothing is known about the price."""
    price = at(result, "price")
    return isinstance(price, dict) and "mainValue" in price


def period_of(ad: Any) -> RentPeriod | None:
    """The period of the main value. The transaction may have the rent of a month and that of a year."""
    price = numbers.positive(at(ad, "price.mainValue"))
    monthly = numbers.positive(at(ad, MONTHLY_RENT))
    yearly = numbers.positive(at(ad, YEARLY_RENT))
    if monthly is not None and price in (None, monthly):
        return "month"
    if yearly is not None and price in (None, yearly):
        return "year"
    kind = line(at(ad, "price.type")) or ""
    if "yearly" in kind:
        return "year"
    return "month" if "monthly" in kind else None


def floor_of(value: Any) -> int | None:
    """The floor. It may be negative."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    number = numbers.first(str(value))
    return int(number) if number is not None else None


def rest_of(ad: Any) -> dict[str, Any]:
    """For `extra`: all values that no field has, without persons and pictures. False is left out, as null is."""
    rest: dict[str, Any] = {}

    def collect(part: dict[str, Any], path: str) -> None:
        taken = _TAKEN_FROM.get(path, ())
        for name, each in part.items():
            if each is None or each is False or name in taken:  # most are
                continue
            if isinstance(each, dict):
                collect(each, f"{path}{name}.")
            elif each not in NOTHING:
                rest[path + name] = each

    collect(ad, "")
    return rest


def first_of(values: Any) -> Any:
    """The first of a list; None if there is none."""
    return next(iter(listed(values)), None)


def features_of(ad: Any, home: Any) -> frozenset[str]:
    """The features of the home, by our names."""
    features = {feature for path, feature in FEATURES.items() if at(home, path) is True}
    if any(numbers.positive(home.get(name)) for name in PARKING):
        features.add("parking")
    if at(ad, "transaction.sale.isFurnished") is True or at(ad, "transaction.rental.isFurnished") is True:
        features.add("furnished")
    return frozenset(features)


def place_of(place: Any, country: str) -> dict[str, Any]:
    """The place of the home, not of its agency."""
    abroad = line(at(place, "country"))
    point = coordinates.of(at(place, "latitude"), at(place, "longitude"))
    fields = {
        "country": COUNTRIES.get(abroad, abroad) if abroad else country,
        "floor": floor_of(at(place, "floor")),
        "street": street_of(place),
    }
    return fields | point_fields(point, precision_of(place))


def precision_of(place: Any) -> GeoPrecision | None:
    """Whether the point is exact. Null means that it is; a page without `approximated` does not say."""
    if not isinstance(place, dict) or "approximated" not in place:
        return None
    if place["approximated"] is True:
        return "approximate"
    return "exact" if place["approximated"] in (False, None) else None


def seller_of(ad: Any) -> dict[str, Any]:
    """The seller. The name of a private person is not read."""
    seller = first_of(ad.get("customers"))
    kind = at(seller, "type")
    return {
        "seller_type": word_in(SELLERS, kind),
        "agency_name": None if kind == "PRIVATE" else line(at(seller, "name")),
    }


def type_of(ad: Any) -> PropertyType | None:
    kind = line(at(ad, "property.type"))
    return PROPERTY_TYPES.get(kind, "other") if kind else None


def units_of(ad: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The number and the values of each home of a project. They stand in groups, or alone."""
    for group in listed(at(ad, "cluster.units")):
        for unit in (*listed(at(group, "items")), group):
            number = line(at(unit, "id")) or ""
            if re.fullmatch(r"\d{6,9}", number, re.ASCII):
                yield number, unit


def in_attribute(document: str) -> Any:
    """The same object, where pages of 2024 have it."""
    if "iw-load-advertisements" not in document:
        return None
    return html.attribute_json(html.Page(document), "iw-load-advertisements", ":classified")


def object_in(document: bytes) -> Any:
    """The object of `window.classified`, if a document is one or contains one."""
    value = decoded(document) if document.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") else None
    for ad in (first_of(value), at(value, "classified"), value):
        if at(ad, "id") and isinstance(at(ad, "property"), dict):
            return ad
    return None


def word_in(table: Mapping[str, T], word: Any) -> T | None:
    """The meaning of a word; None if it is not a known text."""
    return table.get(word) if isinstance(word, str) else None


def street_of(place: Any) -> str | None:
    """The street with its number. Some adverts have the number in the street already."""
    street = line(at(place, "street"))
    number = line(at(place, "number"))
    if street and number and not street.endswith(f" {number}"):
        return f"{street} {number}"
    return street


def status_of(ad: Any, is_rent: bool) -> Status:
    if at(ad, "flags.isSoldOrRented"):
        return "rented" if is_rent else "sold"
    return "reserved" if at(ad, "flags.isUnderOption") else "active"


#: Values of a result that change when the advert does.
CARD = (
    "property.title",
    "property.bedroomCount",
    "property.roomCount",
    "property.netHabitableSurface",
    "property.landSurface",
    "price.additionalValue",  # the charges of a rent
)
#: The same of a home on the page of its project.
UNIT_CARD = ("subtype", "bedroomCount", "surface", "floor")
SALE_STATUSES: dict[str, Status] = {"AVAILABLE": "active", "UNDER_OPTION": "reserved", "SOLD": "sold"}
#: Labels of a result -> the status that they mean.
_LABELS: dict[str, Status] = {"under_option": "reserved", "sold": "sold", "rented": "rented"}


def shown_status(result: Any) -> Status | None:
    """The status of a result of a search: by its labels, of which the first is the main one. None if it has no field
    for labels."""
    flags = at(result, "flags")
    if not isinstance(flags, dict) or "main" not in flags:
        return None
    labels = [flags["main"], *listed(flags.get("secondary"))]
    return next((_LABELS[label] for label in labels if label in _LABELS), "active")

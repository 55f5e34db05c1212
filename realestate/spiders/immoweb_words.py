"""What immoweb's words mean, and where in its objects a value stands."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from realestate.crawling.reading import placed
from realestate.crawling.searches import parameters
from realestate.items import GeoPrecision, Operation, PropertyType, RentPeriod, SellerType, Status
from realestate.parsing import coordinates, html, numbers, prices
from realestate.parsing.embedded import at, decoded, listed
from realestate.parsing.text import line, word

T = TypeVar("T")

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
#: Where a feature's flag stands below `property`; true counts, false and null do not.
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
RENTS = ("monthly", "yearly")
#: Where a price may stand, the best first.
PRICES = ("price.mainValue", "transaction.sale.price", *(f"transaction.rental.{each}RentalPrice" for each in RENTS))
PARKING = ("parkingCountIndoor", "parkingCountOutdoor", "parkingCountClosedBox")
#: The page's language decides how a country is called. One that is not here goes to quarantine by its name.
COUNTRIES = {
    name: code
    for code, names in {
        "BE": "Belgium België Belgique Belgien",
        "LU": "Luxembourg Luxemburg",
        "FR": "France Frankrijk Frankreich",
        "NL": "Netherlands Nederland Pays-Bas Niederlande",
        "DE": "Germany Duitsland Allemagne Deutschland",
        "ES": "Spain Spanje Espagne Spanien",
        "IT": "Italy Italië Italie Italien",
        "PT": "Portugal",
        "CH": "Switzerland Zwitserland Suisse Schweiz",
        "AT": "Austria Oostenrijk Autriche Österreich",
        "GR": "Greece Griekenland Grèce Griechenland",
        "HR": "Croatia Kroatië Croatie Kroatien",
        "BG": "Bulgaria Bulgarije Bulgarie Bulgarien",
        "TR": "Turkey Turkije Turquie Türkei",
        "MA": "Morocco Marokko Maroc",
    }.items()
    for name in names.split()
}
#: Prices that are not what a home costs.
UNUSUAL = {"flags.isLifeAnnuitySale": "life_annuity", "flags.isPublicSale": "public_sale"}
NOTHING: tuple[Any, ...] = ("", False, -1, [])
#: Read into fields, or not ours to keep; the rest of the page goes into `extra`.
TAKEN = frozenset(
    {
        *("id", "cluster.units", "customers", "premiumProjectPage", "media", "hasSectionsArray", "displayFlags"),
        *("property.type", "property.subtype", "property.title", "property.description", "property.land.surface"),
        *("property.netHabitableSurface", "property.roomCount", "property.bedroomCount", "property.bathroomCount"),
        *(f"property.{path}" for path in FEATURES),
        *(f"property.building.{name}" for name in ("condition", "constructionYear", "facadeCount", "floorCount")),
        *(f"property.location.{name}" for name in ("country", "region", "district", "locality", "postalCode")),
        *(f"property.location.{name}" for name in ("street", "number", "floor", "latitude", "longitude")),
        *("property.energy.heatingType", "publication.creationDate", "publication.lastModificationDate"),
        *("transaction.type", "transaction.certificates.epcScore", "flags.isNewlyBuilt"),
        *("transaction.certificates.primaryEnergyConsumptionPerSqm", "price.mainValue", "price.additionalValue"),
        *("externalReference", "flags.isSoldOrRented", "flags.isUnderOption", "price.language", "isBookmarked"),
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


def is_asked_for(result: Any, search: str) -> bool:
    """Somebody may pay to be shown in any search: what is none of its results is told by its deal, price and place."""
    deal = at(result, "transaction.type")
    if isinstance(deal, str) and DEALS.get(deal, "") not in search:
        return False
    asked, price = parameters(search), numbers.positive(at(result, "price.mainValue"))
    least, most = (numbers.positive(asked.get(name)) for name in ("minPrice", "maxPrice"))
    if price is not None and not (least or 0) <= price <= (most or price):
        return False
    places, postal_code = asked.get("postalCodes"), line(at(result, "property.location.postalCode"))
    return not places or postal_code is None or postal_code in re.findall(r"\d+", places)


def path_of(result: Any) -> str | None:
    """The address of a result's page, from its parts; the site redirects a wrong one to the right one."""
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


def asked_price(ad: Any, currency: str) -> prices.Price:
    """Where no main value is told, the transaction may tell it; a project's range is no price."""
    for path in PRICES:
        if numbers.positive(at(ad, path)) is not None:
            return prices.of(at(ad, path), currency)
    return prices.Price(basis="on_request")


def period_of(ad: Any) -> RentPeriod | None:
    """The time the main value is for: the transaction may tell the rent of a month beside that of a year."""
    asked = numbers.positive(at(ad, "price.mainValue"))
    monthly, yearly = (numbers.positive(at(ad, f"transaction.rental.{each}RentalPrice")) for each in RENTS)
    if monthly is not None and asked in (None, monthly):
        return "month"
    if yearly is not None and asked in (None, yearly):
        return "year"
    kind = line(at(ad, "price.type")) or ""
    return "year" if "yearly" in kind else "month" if "monthly" in kind else None


def floor_of(value: Any) -> int | None:
    """A floor may be below the ground."""
    number = numbers.first(str(value)) if isinstance(value, (int, str)) and not isinstance(value, bool) else None
    return int(number) if number is not None else None


def rest_of(ad: Any) -> dict[str, Any]:
    """Everything the page tells that no field takes, but for persons and pictures. False says as little as null."""
    told: dict[str, Any] = {}

    def collect(part: dict[str, Any], path: str) -> None:
        taken = _TAKEN_FROM.get(path, ())
        for name, each in part.items():
            if each is None or each is False or name in taken:  # most are
                continue
            if isinstance(each, dict):
                collect(each, f"{path}{name}.")
            elif each not in NOTHING:
                told[path + name] = each

    collect(ad, "")
    return told


def first_of(values: Any) -> Any:
    return next(iter(listed(values)), None)


def features_of(ad: Any, home: Any) -> frozenset[str]:
    told = {feature for path, feature in FEATURES.items() if at(home, path) is True}
    if any(numbers.positive(home.get(name)) for name in PARKING):
        told.add("parking")
    if at(ad, "transaction.sale.isFurnished") is True or at(ad, "transaction.rental.isFurnished") is True:
        told.add("furnished")
    return frozenset(told)


def place_of(place: Any, country: str) -> dict[str, Any]:
    """Where the home is, never where its agency is."""
    abroad = line(at(place, "country"))
    point = coordinates.of(at(place, "latitude"), at(place, "longitude"))
    told = {
        "country": COUNTRIES.get(abroad, abroad) if abroad else country,
        "floor": floor_of(at(place, "floor")),
        "street": street_of(place),
    }
    return told | placed(point, precision_of(place))


def precision_of(place: Any) -> GeoPrecision | None:
    """Null is the portal's no; a page that does not speak of it says nothing."""
    told = place.get("approximated", "nothing") if isinstance(place, dict) else "nothing"
    return "approximate" if told is True else "exact" if told in (False, None) else None


def seller_of(ad: Any) -> dict[str, Any]:
    """A private person's name is not read."""
    seller = first_of(ad.get("customers"))
    kind = at(seller, "type")
    return {
        "seller_type": word_in(SELLERS, kind),
        "agency_name": None if kind == "PRIVATE" else line(at(seller, "name")),
    }


def type_of(ad: Any) -> PropertyType | None:
    kind = line(at(ad, "property.type"))
    return PROPERTY_TYPES.get(kind, "other") if kind else None


def units_of(ad: Any) -> Iterator[tuple[str, Any]]:
    """The flats or houses of a project: their numbers and prices. They come in groups, or bare."""
    for group in listed(at(ad, "cluster.units")):
        for unit in (*listed(at(group, "items")), group):
            number = line(at(unit, "id")) or ""
            if re.fullmatch(r"\d{6,9}", number, re.ASCII):
                yield number, at(unit, "price")


def in_attribute(document: str) -> Any:
    """Where pages of 2024 have the same object."""
    if "iw-load-advertisements" not in document:
        return None
    return html.attribute_json(html.Page(document), "iw-load-advertisements", ":classified")


def object_in(document: bytes) -> Any:
    """The bare object behind `window.classified`, if a document is one or holds one."""
    told = decoded(document) if document.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") else None
    candidates = (first_of(told), at(told, "classified"), told)
    return next((ad for ad in candidates if at(ad, "id") and isinstance(at(ad, "property"), dict)), None)


def word_in(table: Mapping[str, T], told: Any) -> T | None:
    return table.get(told) if isinstance(told, str) else None


def street_of(place: Any) -> str | None:
    """Some write the number behind the street as well."""
    street, number = line(at(place, "street")), line(at(place, "number"))
    return f"{street} {number}" if street and number and not street.endswith(f" {number}") else street


def status_of(ad: Any, is_rent: bool) -> Status:
    if at(ad, "flags.isSoldOrRented"):
        return "rented" if is_rent else "sold"
    return "reserved" if at(ad, "flags.isUnderOption") else "active"

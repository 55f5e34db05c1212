"""immoweb.be: search pages are JSON (`/en/search-results/…`); a listing's page assigns `window.classified`.

Thirty results a page and now and then a promoted one more, which may stand at its own place too; no more than
333 pages of one search. The list has no address of the listing, only what it is made of; any other spelling of
it is redirected to the right one. A page without `window.classified` is a wall or a changed layout. A project (a
result of type `…_GROUP`, without a price) is a listing of its own, and its page tells its homes (`cluster.units`).
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, TypeVar
from urllib.parse import quote
from zoneinfo import ZoneInfo

import msgspec
from scrapy.http import TextResponse

from realestate.items import GeoPrecision, Listing, Operation, PropertyType, RentPeriod, SellerType, Status
from realestate.parsing import coordinates, dates, html, numbers, prices, words
from realestate.parsing.embedded import assigned, at, decoded
from realestate.parsing.text import line, paragraphs, word
from realestate.spiders.base import PortalSpider
from realestate.spiders.outcomes import BrokenPage
from realestate.spiders.paging import Numbers
from realestate.spiders.planning import Band
from realestate.spiders.results import Found, Results
from realestate.spiders.searches import parameters

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


class ImmowebSpider(PortalSpider):
    name = "immoweb"
    allowed_domains = ["www.immoweb.be"]  # noqa: RUF012
    site = "https://www.immoweb.be"
    searches = tuple(
        f"/en/search-results/{kind}/{deal}?countries=BE&page=1&orderBy=newest"
        for kind in ("house-and-apartment", "office", "business", "industry", "land", "garage", "kot")
        for deal in ("for-sale", "for-rent")
    )
    listing_path = re.compile(r"/(?:classified|zoekertje|annonce)/(?:.*/)?(?P<ref>\d{6,9})/?$")
    item_form = "/en/classified/{ref}"
    country = "BE"
    currency = "EUR"
    timezone = ZoneInfo("Europe/Brussels")
    terms = "https://www.immoweb.be/en/page/terms-of-use"
    checked_on = date(2026, 11, 15)
    paging = Numbers("page", size=30, last=333)
    axes = (Band("minPrice", "maxPrice"), Band("minSurface", "maxSurface", top=1_000, is_price=False))
    newest_first = "date"

    def parse_search(self, response: TextResponse) -> Results:
        try:
            page = msgspec.json.decode(response.body)
            results, total, number = page["results"], page["totalItems"], page.get("currentPage", 1)
        except (msgspec.MsgspecError, TypeError, KeyError, AttributeError) as error:
            raise BrokenPage(f"no search results in JSON: {error}") from error
        if not results and total > (number - 1) * self.paging.size:
            raise BrokenPage("no results on a page within the total")
        read = [(each, _listing_path(each)) for each in results if _is_asked_for(each, response.url)]
        found = [self._result(each, path) for each, path in read if path]
        return Results(found, total, unreadable=len(read) - len(found))

    def _result(self, result: Any, path: str) -> Found:
        period = _rent_period(result) if at(result, "transaction.type") == "FOR_RENT" else None
        dated = dates.iso(at(result, "publication.lastModificationDate"))
        is_project = str(at(result, "property.type")).endswith("_GROUP")
        return self.found(path, _price(result, self.currency), period, dated=dated, shows_others=is_project)

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing | Found]:
        ad = assigned(response.text, "window.classified") or _in_attribute(response)
        if not at(ad, "id") or not isinstance(at(ad, "property"), dict):
            raise BrokenPage("no window.classified")
        home, place = ad["property"], at(ad, "property.location")
        is_rent = at(ad, "transaction.type") == "FOR_RENT"
        price = _price(ad, self.currency)
        point = coordinates.of(at(place, "latitude"), at(place, "longitude"))
        private = at(_first(ad.get("customers")), "type") == "PRIVATE"
        yield Listing(
            portal=self.name,
            ref=str(ad["id"]),
            url=response.url,
            country=COUNTRIES.get(abroad, abroad) if (abroad := line(at(place, "country"))) else self.country,
            operation=_word_in(OPERATIONS, at(ad, "transaction.type")),
            rent_period=_rent_period(ad) if is_rent else None,
            property_type=PROPERTY_TYPES.get(kind, "other") if (kind := line(home.get("type"))) else None,
            subtype=word(home.get("subtype")),
            is_new_building=words.truth(at(ad, "flags.isNewlyBuilt")),
            price=price.amount,
            currency=price.currency,
            price_basis=price.basis,
            charges=prices.of(at(ad, "price.additionalValue"), self.currency).amount if is_rent else None,
            area_m2=numbers.positive(home.get("netHabitableSurface")),
            plot_m2=numbers.positive(at(home, "land.surface")),
            rooms=numbers.whole(home.get("roomCount")),
            bedrooms=numbers.whole(home.get("bedroomCount")),
            bathrooms=numbers.whole(home.get("bathroomCount")),
            floor=_integer(at(place, "floor")),
            floors_total=numbers.whole(at(home, "building.floorCount")),
            year_built=numbers.whole(at(home, "building.constructionYear")) or None,
            condition=word(at(home, "building.condition")),
            energy_class=_energy_class(at(ad, "transaction.certificates.epcScore")),
            energy_kwh_m2=numbers.signed(at(ad, "transaction.certificates.primaryEnergyConsumptionPerSqm")),
            heating=word(at(home, "energy.heatingType")),
            facades=numbers.whole(at(home, "building.facadeCount")),
            features=_features(ad, home),
            region=line(at(place, "region")),
            city=line(at(place, "locality")),
            district=line(at(place, "district")),
            street=_street(place),
            postal_code=line(at(place, "postalCode")),
            latitude=point.latitude,
            longitude=point.longitude,
            geo_precision=None if point.latitude is None else _precision(place),
            title=line(home.get("title")) or _page_title(response),
            description=paragraphs(home.get("description")),
            photos=[url for picture in at(ad, "media.pictures") or () if (url := at(picture, "largeUrl"))],
            seller_type=_word_in(SELLERS, at(_first(ad.get("customers")), "type")),
            agency_name=None if private else line(at(_first(ad.get("customers")), "name")),
            agency_ref=line(ad.get("externalReference")),
            posted_at=dates.iso(at(ad, "publication.creationDate")),
            updated_at=dates.iso(at(ad, "publication.lastModificationDate")),
            status=_status(ad, is_rent),
            quality_flags=frozenset(flag for path, flag in UNUSUAL.items() if at(ad, path) is True),
            parser_version=self.parser_version,
            extra=_rest(ad),
        )
        yield from self._units(ad)

    def _units(self, ad: Any) -> Iterator[Found]:
        """The flats or houses of a project: each has its own page, and no search shows it."""
        for group in _list(at(ad, "cluster.units")):
            for unit in _list(at(group, "items")):
                if isinstance(at(unit, "id"), int):
                    yield self.found(f"/en/classified/{unit['id']}", prices.of(at(unit, "price"), self.currency))

    def wrapped(self, document: bytes) -> bytes:
        """The bare object behind `window.classified`, or one that holds it, in a page's script."""
        told = decoded(document) if document.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") else None
        for ad in (_first(told), at(told, "classified"), told):
            if at(ad, "id") and isinstance(at(ad, "property"), dict):
                return b"<script>window.classified = " + msgspec.json.encode(ad) + b";</script>"
        return document


def _is_asked_for(result: Any, search: str) -> bool:
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


def _listing_path(result: Any) -> str | None:
    """The address of a result's page, from its parts; the site redirects a wrong one to the right one."""
    if not isinstance(at(result, "id"), int):
        return None
    parts = (
        (word(at(result, "property.subtype")) or "").replace("_", "-"),
        _word_in(DEALS, at(result, "transaction.type")) or "",
        (line(at(result, "property.location.locality")) or "").lower().replace(" ", "-"),
        line(at(result, "property.location.postalCode")) or "",
    )
    known = "".join(quote(part) + "/" for part in parts) if all(parts) else ""
    return f"/en/classified/{known}{result['id']}"


def _price(ad: Any, currency: str) -> prices.Price:
    """Where no main value is told, the transaction may tell it; a project's range is no price."""
    for path in PRICES:
        if numbers.positive(at(ad, path)) is not None:
            return prices.of(at(ad, path), currency)
    return prices.Price(basis="on_request")


def _rent_period(ad: Any) -> RentPeriod | None:
    """The time the main value is for: the transaction may tell the rent of a month beside that of a year."""
    asked = numbers.positive(at(ad, "price.mainValue"))
    monthly, yearly = (numbers.positive(at(ad, f"transaction.rental.{each}RentalPrice")) for each in RENTS)
    if monthly is not None and asked in (None, monthly):
        return "month"
    if yearly is not None and asked in (None, yearly):
        return "year"
    kind = line(at(ad, "price.type")) or ""
    return "year" if "yearly" in kind else "month" if "monthly" in kind else None


def _energy_class(score: Any) -> str | None:
    """ "C"; Brussels and Flanders write a span such as "D_C", of which the worse counts."""
    found = re.match(r"[A-G]\+{0,2}(?=$|_)", (line(score) or "").upper())
    return found[0] if found else None


def _integer(value: Any) -> int | None:
    """A floor may be below the ground."""
    number = numbers.first(str(value)) if isinstance(value, int | str) and not isinstance(value, bool) else None
    return int(number) if number is not None else None


def _rest(ad: Any) -> dict[str, Any]:
    """Everything the page tells that no field takes, but for persons and pictures. False says as little as null."""
    told: dict[str, Any] = {}

    def collect(value: Any, path: str) -> None:
        if path in TAKEN:
            return
        if isinstance(value, dict):
            for name, each in value.items():
                collect(each, f"{path}.{name}" if path else name)
        elif value not in (None, "", False, -1, []):
            told[path] = value

    collect(ad, "")
    return told


def _first(values: Any) -> Any:
    return next(iter(_list(values)), None)


def _list(values: Any) -> list[Any]:
    return values if isinstance(values, list) else []


def _features(ad: Any, home: Any) -> frozenset[str]:
    told = {feature for path, feature in FEATURES.items() if at(home, path) is True}
    if any(numbers.positive(home.get(name)) for name in PARKING):
        told.add("parking")
    if at(ad, "transaction.sale.isFurnished") is True or at(ad, "transaction.rental.isFurnished") is True:
        told.add("furnished")
    return frozenset(told)


def _in_attribute(response: TextResponse) -> Any:
    """Where pages of 2024 have the same object."""
    return html.attribute_json(html.Page(response.text), "iw-load-advertisements", ":classified")


def _precision(place: Any) -> GeoPrecision | None:
    """Null is the portal's no; a page that does not speak of it says nothing."""
    told = place.get("approximated", "nothing")
    return "approximate" if told is True else "exact" if told in (False, None) else None


def _word_in(table: Mapping[str, T], told: Any) -> T | None:
    return table.get(told) if isinstance(told, str) else None


def _street(place: Any) -> str | None:
    """Some write the number behind the street as well."""
    street, number = line(at(place, "street")), line(at(place, "number"))
    return f"{street} {number}" if street and number and not street.endswith(f" {number}") else street


def _page_title(response: TextResponse) -> str | None:
    return html.attribute(html.Page(response.text), 'meta[property="og:title"]', "content")


def _status(ad: Any, is_rent: bool) -> Status:
    if at(ad, "flags.isSoldOrRented"):
        return "rented" if is_rent else "sold"
    return "reserved" if at(ad, "flags.isUnderOption") else "active"

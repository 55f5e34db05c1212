"""immoweb.be: search pages are JSON (`/en/search-results/…`); a listing's page assigns `window.classified`.

Thirty results a page and now and then a promoted one more, which may stand at its own place too; no more than
333 pages of one search. The list has no address of the listing, only what it is made of; any other spelling of
it is redirected to the right one. A page without `window.classified` is a wall or a changed layout.
"""

import re
from collections.abc import Iterator
from math import ceil
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit
from zoneinfo import ZoneInfo

import msgspec
from scrapy import Request
from scrapy.http import TextResponse

from realestate.items import Listing, PropertyType, SellerType, Status
from realestate.parsing import dates, html, numbers, prices
from realestate.parsing.embedded import assigned, at
from realestate.parsing.text import line, paragraphs, word
from realestate.spiders.base import BrokenPage, PortalSpider

PER_PAGE = 30
LAST_PAGE = 333

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
PARKING = ("parkingCountIndoor", "parkingCountOutdoor", "parkingCountClosedBox")
#: Told, and no field of ours takes it.
EXTRA = (
    "transaction.subtype",
    "transaction.sale.cadastralIncome",
    "property.location.province",
    "property.kitchen.type",
    "property.constructionPermit.floodZoneType",
    "price.oldValue",
    "price.minRangeValue",
    "price.maxRangeValue",
    "statistics.viewCount",
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
    country = "BE"
    currency = "EUR"
    timezone = ZoneInfo("Europe/Brussels")

    def parse_search(self, response: TextResponse) -> Iterator[Request]:
        try:
            found = msgspec.json.decode(response.body)
            results, total = found["results"], found["totalItems"]
        except (msgspec.MsgspecError, TypeError, KeyError) as error:
            raise BrokenPage(f"no search results in JSON: {error}") from error
        for result in results:
            yield self.listing(_listing_path(result))
        if found.get("currentPage") == 1:
            yield from self._further_pages(response.url, total)

    def _further_pages(self, url: str, total: int) -> Iterator[Request]:
        pages = ceil(total / PER_PAGE)
        if pages > LAST_PAGE:
            self.logger.warning("search/capped: %d results, %d can be read: %s", total, LAST_PAGE * PER_PAGE, url)
            self.crawler.stats.inc_value("search/capped")
        parts = urlsplit(url)
        for page in range(2, min(pages, LAST_PAGE) + 1):
            query = urlencode({**parse_qs(parts.query), "page": page}, doseq=True)
            yield self.search(parts._replace(query=query).geturl())

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing]:
        ad = assigned(response.text, "window.classified")
        if not at(ad, "id") or not isinstance(at(ad, "property"), dict):
            raise BrokenPage("no window.classified")
        home, place = ad["property"], at(ad, "property.location")
        is_rent = at(ad, "transaction.type") == "FOR_RENT"
        price = prices.of(at(ad, "price.mainValue"), self.currency)
        latitude, longitude = at(place, "latitude"), at(place, "longitude")
        private = at(_first(ad.get("customers")), "type") == "PRIVATE"
        yield Listing(
            portal=self.name,
            ref=str(ad["id"]),
            url=response.url,
            country=self.country,
            operation={"FOR_SALE": "sale", "FOR_RENT": "rent"}.get(at(ad, "transaction.type")),  # type: ignore[arg-type]
            rent_period="month" if is_rent else None,
            property_type=PROPERTY_TYPES.get(home.get("type"), "other"),
            subtype=word(home.get("subtype")),
            is_new_building=at(ad, "flags.isNewlyBuilt"),
            price=price.amount,
            currency=price.currency,
            price_basis=price.basis,
            charges=prices.of(at(ad, "price.additionalValue"), self.currency).amount if is_rent else None,
            area_m2=numbers.positive(home.get("netHabitableSurface")),
            plot_m2=numbers.positive(at(home, "land.surface")),
            rooms=numbers.whole(home.get("roomCount")),
            bedrooms=numbers.whole(home.get("bedroomCount")),
            bathrooms=numbers.whole(home.get("bathroomCount")),
            floor=at(place, "floor"),
            floors_total=numbers.whole(at(home, "building.floorCount")),
            year_built=numbers.whole(at(home, "building.constructionYear")),
            condition=word(at(home, "building.condition")),
            energy_class=line(at(ad, "transaction.certificates.epcScore")),
            energy_kwh_m2=at(ad, "transaction.certificates.primaryEnergyConsumptionPerSqm"),
            heating=word(at(home, "energy.heatingType")),
            facades=numbers.whole(at(home, "building.facadeCount")),
            features=_features(ad, home),
            region=line(at(place, "region")),
            city=line(at(place, "locality")),
            district=line(at(place, "district")),
            street=_street(place),
            postal_code=line(at(place, "postalCode")),
            latitude=latitude,
            longitude=longitude,
            geo_precision=None if latitude is None else "approximate" if at(place, "approximated") else "exact",
            title=line(home.get("title")) or _page_title(response),
            description=paragraphs(home.get("description")),
            photos=[url for picture in at(ad, "media.pictures") or () if (url := at(picture, "largeUrl"))],
            seller_type=SELLERS.get(at(_first(ad.get("customers")), "type")),
            agency_name=None if private else line(at(_first(ad.get("customers")), "name")),
            agency_ref=line(ad.get("externalReference")),
            posted_at=dates.iso(at(ad, "publication.creationDate")),
            updated_at=dates.iso(at(ad, "publication.lastModificationDate")),
            status=_status(ad, is_rent),
            parser_version=self.parser_version,
            extra={path: value for path in EXTRA if (value := at(ad, path)) is not None},
        )


def _listing_path(result: Any) -> str:
    """The address of a result's page, from its parts; the site redirects a wrong one to the right one."""
    if not isinstance(at(result, "id"), int):
        raise BrokenPage("a search result without an id")
    parts = (
        (word(at(result, "property.subtype")) or "").replace("_", "-"),
        {"FOR_SALE": "for-sale", "FOR_RENT": "for-rent"}.get(at(result, "transaction.type"), ""),
        (line(at(result, "property.location.locality")) or "").lower().replace(" ", "-"),
        line(at(result, "property.location.postalCode")) or "",
    )
    known = "".join(quote(part) + "/" for part in parts) if all(parts) else ""
    return f"/en/classified/{known}{result['id']}"


def _first(values: Any) -> Any:
    return values[0] if isinstance(values, list) and values else None


def _features(ad: Any, home: Any) -> frozenset[str]:
    told = {feature for path, feature in FEATURES.items() if at(home, path) is True}
    if any(numbers.positive(home.get(name)) for name in PARKING):
        told.add("parking")
    if at(ad, "transaction.sale.isFurnished") is True or at(ad, "transaction.rental.isFurnished") is True:
        told.add("furnished")
    return frozenset(told)


def _street(place: Any) -> str | None:
    street, number = line(at(place, "street")), line(at(place, "number"))
    return f"{street} {number}" if street and number else street


def _page_title(response: TextResponse) -> str | None:
    return html.attribute(html.Page(response.text), 'meta[property="og:title"]', "content")


def _status(ad: Any, is_rent: bool) -> Status:
    if at(ad, "flags.isSoldOrRented"):
        return "rented" if is_rent else "sold"
    return "reserved" if at(ad, "flags.isUnderOption") else "active"

"""immoweb.be: search pages are JSON (`/en/search-results/…`); a listing's page assigns `window.classified`.

Thirty results a page and now and then a promoted one more, which may stand at its own place too; no more than
333 pages of one search. The list has no address of the listing, only what it is made of; any other spelling of
it is redirected to the right one. A page without `window.classified` is a wall or a changed layout. A project (a
result of type `…_GROUP`, without a price) is a listing of its own, and its page tells its homes (`cluster.units`).
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
from scrapy.http import TextResponse

from realestate.items import Listing
from realestate.parsing import coordinates, dates, html, numbers, prices
from realestate.parsing.embedded import assigned, at, decoded, listed
from realestate.parsing.text import line, paragraphs, word
from realestate.parsing.words import truth
from realestate.spiders.base import PortalSpider
from realestate.spiders.outcomes import BrokenPage
from realestate.spiders.paging import Numbers
from realestate.spiders.planning import Band
from realestate.spiders.results import Found, Results
from realestate.spiders.words import immoweb as words


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
        read = [(each, words.path_of(each)) for each in results if words.is_asked_for(each, response.url)]
        found = [self._result(each, path) for each, path in read if path]
        return Results(found, total, unreadable=len(read) - len(found))

    def _result(self, result: Any, path: str) -> Found:
        period = words.period_of(result) if at(result, "transaction.type") == "FOR_RENT" else None
        dated = dates.iso(at(result, "publication.lastModificationDate"))
        is_project = str(at(result, "property.type")).endswith("_GROUP")
        return self.found(path, words.asked_price(result, self.currency), period, dated=dated, shows_others=is_project)

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing | Found]:
        ad = assigned(response.text, "window.classified") or _in_attribute(response)
        if not at(ad, "id") or not isinstance(at(ad, "property"), dict):
            raise BrokenPage("no window.classified")
        home, place = ad["property"], at(ad, "property.location")
        is_rent = at(ad, "transaction.type") == "FOR_RENT"
        price = words.asked_price(ad, self.currency)
        point = coordinates.of(at(place, "latitude"), at(place, "longitude"))
        private = at(words.first_of(ad.get("customers")), "type") == "PRIVATE"
        yield Listing(
            portal=self.name,
            ref=str(ad["id"]),
            url=response.url,
            country=words.COUNTRIES.get(abroad, abroad) if (abroad := line(at(place, "country"))) else self.country,
            operation=words.word_in(words.OPERATIONS, at(ad, "transaction.type")),
            rent_period=words.period_of(ad) if is_rent else None,
            property_type=words.PROPERTY_TYPES.get(kind, "other") if (kind := line(home.get("type"))) else None,
            subtype=word(home.get("subtype")),
            is_new_building=truth(at(ad, "flags.isNewlyBuilt")),
            price=price.amount,
            currency=price.currency,
            price_basis=price.basis,
            charges=prices.of(at(ad, "price.additionalValue"), self.currency).amount if is_rent else None,
            area_m2=numbers.positive(home.get("netHabitableSurface")),
            plot_m2=numbers.positive(at(home, "land.surface")),
            rooms=numbers.whole(home.get("roomCount")),
            bedrooms=numbers.whole(home.get("bedroomCount")),
            bathrooms=numbers.whole(home.get("bathroomCount")),
            floor=words.floor_of(at(place, "floor")),
            floors_total=numbers.whole(at(home, "building.floorCount")),
            year_built=numbers.whole(at(home, "building.constructionYear")) or None,
            condition=word(at(home, "building.condition")),
            energy_class=words.energy_class_of(at(ad, "transaction.certificates.epcScore")),
            energy_kwh_m2=numbers.signed(at(ad, "transaction.certificates.primaryEnergyConsumptionPerSqm")),
            heating=word(at(home, "energy.heatingType")),
            facades=numbers.whole(at(home, "building.facadeCount")),
            features=words.features_of(ad, home),
            region=line(at(place, "region")),
            city=line(at(place, "locality")),
            district=line(at(place, "district")),
            street=words.street_of(place),
            postal_code=line(at(place, "postalCode")),
            latitude=point.latitude,
            longitude=point.longitude,
            geo_precision=None if point.latitude is None else words.precision_of(place),
            title=line(home.get("title")) or _page_title(response),
            description=paragraphs(home.get("description")),
            photos=[url for picture in at(ad, "media.pictures") or () if (url := at(picture, "largeUrl"))],
            seller_type=words.word_in(words.SELLERS, at(words.first_of(ad.get("customers")), "type")),
            agency_name=None if private else line(at(words.first_of(ad.get("customers")), "name")),
            agency_ref=line(ad.get("externalReference")),
            posted_at=dates.iso(at(ad, "publication.creationDate")),
            updated_at=dates.iso(at(ad, "publication.lastModificationDate")),
            status=words.status_of(ad, is_rent),
            quality_flags=frozenset(flag for path, flag in words.UNUSUAL.items() if at(ad, path) is True),
            parser_version=self.parser_version,
            extra=words.rest_of(ad),
        )
        yield from self._units(ad)

    def _units(self, ad: Any) -> Iterator[Found]:
        """The flats or houses of a project: each has its own page, and no search shows it."""
        for group in listed(at(ad, "cluster.units")):
            for unit in listed(at(group, "items")):
                if isinstance(at(unit, "id"), int):
                    yield self.found(f"/en/classified/{unit['id']}", prices.of(at(unit, "price"), self.currency))

    def wrapped(self, document: bytes) -> bytes:
        """The bare object behind `window.classified`, or one that holds it, in a page's script."""
        told = decoded(document) if document.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") else None
        for ad in (words.first_of(told), at(told, "classified"), told):
            if at(ad, "id") and isinstance(at(ad, "property"), dict):
                return b"<script>window.classified = " + msgspec.json.encode(ad) + b";</script>"
        return document


def _in_attribute(response: TextResponse) -> Any:
    """Where pages of 2024 have the same object."""
    return html.attribute_json(html.Page(response.text), "iw-load-advertisements", ":classified")


def _page_title(response: TextResponse) -> str | None:
    return html.attribute(html.Page(response.text), 'meta[property="og:title"]', "content")

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

from realestate.crawling.base import PortalSpider
from realestate.crawling.outcomes import BrokenPage
from realestate.crawling.paging import Numbers
from realestate.crawling.planning import Band, Choice
from realestate.crawling.reading import assigned_in, at_paths, paths
from realestate.crawling.results import Found, Results
from realestate.items import Listing
from realestate.parsing import dates, html, prices
from realestate.parsing.embedded import at, listed
from realestate.parsing.text import line, paragraphs
from realestate.spiders import immoweb_words as words


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
    axes = (
        Band("minPrice", "maxPrice"),
        Band("minSurface", "maxSurface", top=1_000, is_price=False),
        Choice("regions", ("BRUSSELS", "FLANDERS", "WALLONIA")),
    )
    newest_first = "date"
    page_marks = (b"window.classified",)

    fields = paths(
        """subtype=property.subtype is_new_building=flags.isNewlyBuilt area_m2=property.netHabitableSurface
        plot_m2=property.land.surface rooms=property.roomCount bedrooms=property.bedroomCount
        bathrooms=property.bathroomCount floors_total=property.building.floorCount facades=property.building.facadeCount
        year_built=property.building.constructionYear condition=property.building.condition
        heating=property.energy.heatingType energy_class=transaction.certificates.epcScore
        energy_kwh_m2=transaction.certificates.primaryEnergyConsumptionPerSqm region=property.location.region
        city=property.location.locality district=property.location.district postal_code=property.location.postalCode
        title=property.title agency_ref=externalReference
        posted_at=publication.creationDate updated_at=publication.lastModificationDate"""
    )

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
        ad = assigned_in(response, "window.classified") or words.in_attribute(response.text)
        if not at(ad, "id") or not isinstance(at(ad, "property"), dict):
            raise BrokenPage("no window.classified")
        is_rent = at(ad, "transaction.type") == "FOR_RENT"
        told = at_paths(ad, self.fields, self.timezone) | words.place_of(at(ad, "property.location"), self.country)
        told["title"] = told["title"] or html.meta(response.text, "og:title")
        yield self.listing(
            response,
            words.asked_price(ad, self.currency),
            **told | words.seller_of(ad),
            ref=str(ad["id"]),
            url=response.url,
            operation=words.word_in(words.OPERATIONS, at(ad, "transaction.type")),
            rent_period=words.period_of(ad) if is_rent else None,
            property_type=words.type_of(ad),
            charges=prices.of(at(ad, "price.additionalValue"), self.currency).amount if is_rent else None,
            features=words.features_of(ad, ad["property"]),
            description=paragraphs(at(ad, "property.description")),
            photos=[url for each in listed(at(ad, "media.pictures")) if (url := line(at(each, "largeUrl")))],
            status=words.status_of(ad, is_rent),
            quality_flags=frozenset(flag for path, flag in words.UNUSUAL.items() if at(ad, path) is True),
            extra=words.rest_of(ad),
        )
        for number, price in words.units_of(ad):  # each has its own page, and no search shows it
            yield self.found(self.url_of(number), prices.of(price, self.currency))

    def wrapped(self, document: bytes) -> bytes:
        """The bare object behind `window.classified`, or one that holds it, in a page's script."""
        ad = words.object_in(document)
        return b"<script>window.classified = " + msgspec.json.encode(ad) + b";</script>" if ad else document

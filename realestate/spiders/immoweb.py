"""immoweb.be: search pages are JSON (`/en/search-results/…`); a listing's page assigns `window.classified`.

A search page has thirty results, and sometimes a promoted one more, which may also stand at its own place. A search has
at most 333 pages. Results have no URL, only its parts; the site redirects any other spelling to the right one. A page
without `window.classified` is a ban page or has a new layout. A project (a result of type `…_GROUP`, without a price)
is a listing of its own, and its page names its homes (`cluster.units`).
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
from scrapy.http import TextResponse

from realestate.crawling import (
    Band,
    BrokenPage,
    Choice,
    Found,
    Numbers,
    PortalSpider,
    Results,
    Scope,
    assigned_in,
    read_paths,
)
from realestate.items import Listing
from realestate.parsing import dates, html, prices
from realestate.parsing.embedded import at, listed
from realestate.parsing.text import line, paragraphs
from realestate.spiders import immoweb_words as words


class ImmowebSpider(PortalSpider):
    name = "immoweb"
    allowed_domains = ["www.immoweb.be"]
    site = "https://www.immoweb.be"
    searches = (
        "/en/search-results/house-and-apartment/for-sale?countries=BE&page=1&orderBy=newest",
        "/en/search-results/house-and-apartment/for-rent?countries=BE&page=1&orderBy=newest",
        "/en/search-results/office/for-sale?countries=BE&page=1&orderBy=newest",
        "/en/search-results/office/for-rent?countries=BE&page=1&orderBy=newest",
        "/en/search-results/business/for-sale?countries=BE&page=1&orderBy=newest",
        "/en/search-results/business/for-rent?countries=BE&page=1&orderBy=newest",
        "/en/search-results/industry/for-sale?countries=BE&page=1&orderBy=newest",
        "/en/search-results/industry/for-rent?countries=BE&page=1&orderBy=newest",
        "/en/search-results/land/for-sale?countries=BE&page=1&orderBy=newest",
        "/en/search-results/land/for-rent?countries=BE&page=1&orderBy=newest",
        "/en/search-results/garage/for-sale?countries=BE&page=1&orderBy=newest",
        "/en/search-results/garage/for-rent?countries=BE&page=1&orderBy=newest",
        "/en/search-results/kot/for-sale?countries=BE&page=1&orderBy=newest",
        "/en/search-results/kot/for-rent?countries=BE&page=1&orderBy=newest",
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
    search_words = words.SEARCH_WORDS
    page_marks = (b"window.classified",)

    fields = {
        "subtype": "property.subtype",
        "is_new_building": "flags.isNewlyBuilt",
        "area_m2": "property.netHabitableSurface",
        "plot_m2": "property.land.surface",
        "rooms": "property.roomCount",
        "bedrooms": "property.bedroomCount",
        "bathrooms": "property.bathroomCount",
        "floors_total": "property.building.floorCount",
        "facades": "property.building.facadeCount",
        "year_built": "property.building.constructionYear",
        "condition": "property.building.condition",
        "heating": "property.energy.heatingType",
        "energy_class": "transaction.certificates.epcScore",
        "energy_kwh_m2": "transaction.certificates.primaryEnergyConsumptionPerSqm",
        "region": "property.location.region",
        "city": "property.location.locality",
        "district": "property.location.district",
        "postal_code": "property.location.postalCode",
        "title": "property.title",
        "agency_ref": "externalReference",
        "posted_at": "publication.creationDate",
        "updated_at": "publication.lastModificationDate",
    }

    @classmethod
    def searches_for(cls, scope: Scope) -> list[str]:
        searches = super().searches_for(scope)
        if scope.type in ("house", "apartment"):
            searches = [each.replace("house-and-apartment", scope.type) for each in searches]
        return searches

    @classmethod
    def search_from_browser(cls, url: str) -> str:
        return words.search_from_browser(url)

    def parse_search(self, response: TextResponse) -> Results:
        try:
            page = msgspec.json.decode(response.body)
            results = page["results"]
            total = page["totalItems"]
            number = page.get("currentPage", 1)
        except (msgspec.MsgspecError, TypeError, KeyError, AttributeError) as error:
            raise BrokenPage(f"no search results in JSON: {error}") from error
        if not results and total > (number - 1) * self.paging.size:
            raise BrokenPage("no results on a page within the total")
        found = []
        unreadable = 0
        for result in results:
            if not words.is_in_search(result, response.url):
                continue
            path = words.path_of(result)
            if path is None:
                unreadable += 1
            else:
                found.append(self._result(result, path))
        return Results(found, total, unreadable=unreadable)

    def _result(self, result: Any, path: str) -> Found:
        period = words.period_of(result) if at(result, "transaction.type") == "FOR_RENT" else None
        dated = dates.iso(at(result, "publication.lastModificationDate"))
        is_project = str(at(result, "property.type")).endswith("_GROUP")
        return self.found(
            path,
            words.price_of(result, self.currency) if words.shows_price(result) else None,
            period,
            dated=dated,
            shows_others=is_project,
            shows_charges=True,
            status=words.shown_status(result),
            shown=[at(result, path) for path in words.CARD],
            city=line(at(result, "property.location.locality")),
        )

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing | Found]:
        ad = assigned_in(response, "window.classified") or words.in_attribute(response.text)
        if not at(ad, "id") or not isinstance(at(ad, "property"), dict):
            raise BrokenPage("no window.classified")
        is_rent = at(ad, "transaction.type") == "FOR_RENT"
        fields = read_paths(ad, self.fields, self.timezone)
        fields.update(words.place_of(at(ad, "property.location"), self.country))
        fields.update(words.seller_of(ad))
        fields["title"] = fields["title"] or html.meta(response.text, "og:title")
        pictures = [line(at(picture, "largeUrl")) for picture in listed(at(ad, "media.pictures"))]
        yield self.listing(
            response,
            words.price_of(ad, self.currency),
            **fields,
            ref=str(ad["id"]),
            url=response.url,
            operation=words.word_in(words.OPERATIONS, at(ad, "transaction.type")),
            rent_period=words.period_of(ad) if is_rent else None,
            property_type=words.type_of(ad),
            charges=prices.of(at(ad, "price.additionalValue"), self.currency).amount if is_rent else None,
            features=words.features_of(ad, ad["property"]),
            description=paragraphs(at(ad, "property.description")),
            photos=[url for url in pictures if url],
            status=words.status_of(ad, is_rent),
            quality_flags=frozenset(flag for path, flag in words.UNUSUAL.items() if at(ad, path) is True),
            extra=words.rest_of(ad),
        )
        for number, unit in words.units_of(ad):  # each has its own page, which no search shows
            yield self.found(
                self.url_of(number),
                prices.of(unit["price"], self.currency) if "price" in unit else None,
                status=words.SALE_STATUSES.get(str(at(unit, "saleStatus"))),
                shown=[at(unit, path) for path in words.UNIT_CARD],
            )

    def wrapped(self, document: bytes) -> bytes:
        """The bare object of `window.classified`, or one that contains it, put into a page's script."""
        ad = words.object_in(document)
        if not ad:
            return document
        return b"<script>window.classified = " + msgspec.json.encode(ad) + b";</script>"

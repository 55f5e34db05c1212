"""emlak.az: plain HTML. Search pages are cards; a listing's page has label/value rows in a `dl`.

Only the card has the period of a rent. A page number past the last shows the last page again. A listing that is gone is
redirected to the index, or its page says "Bu elanın vaxtı bitib" (expired) instead of the telephone. The seller's name
is a person's, even for an agent, and is not read.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from scrapy.http import TextResponse

from realestate.crawling import (
    BrokenPage,
    Found,
    ListingGone,
    Numbers,
    PortalSpider,
    Results,
    absolute,
    page_of,
    point_fields,
    read_rows,
    view_count,
)
from realestate.items import Listing, RentPeriod
from realestate.parsing import azerbaijani_addresses, coordinates, dates, html, numbers, prices
from realestate.parsing.text import fold
from realestate.spiders import emlak_words as words

#: The characters of a date at the end of a text.
_DATE = "0123456789.: \n\t"


class EmlakSpider(PortalSpider):
    name = "emlak"
    allowed_domains = ["emlak.az"]
    site = "https://emlak.az"
    searches = ("/elanlar/?ann_type=3&sort_type=1&page=1",)
    listing_path = re.compile(r"^/(?P<ref>\d+)-[^/]*\.html$")
    item_form = "/{ref}-.html"
    country = "AZ"
    currency = "AZN"
    timezone = ZoneInfo("Asia/Baku")
    redirects_gone = True
    terms = "https://emlak.az/"
    checked_on = date(2026, 11, 15)
    paging = Numbers("page", size=20)
    newest_first = "ref"
    search_path = re.compile(r"^/elanlar/?$")
    page_marks = (b"technical-characteristics", b"ticket-list")
    rows = {
        "rooms": "Otaqların sayı",
        "floor": "Yerləşdiyi mərtəbə",
        "floors_total": "Mərtəbə sayı",
    }

    def parse_search(self, response: TextResponse) -> Results:
        page = page_of(response)
        total = numbers.whole(html.text(page, "h1.title span"))
        if total is None:
            raise BrokenPage("no count of results")
        cards = page.css("div.ticket-list div.ticket")
        if total and not cards:
            raise BrokenPage("no results on a page within the total")
        found = [self._card(card, response) for card in cards]
        return Results([each for each in found if each is not None], total)

    def _card(self, card: html.Element, response: TextResponse) -> Found | None:
        link = html.attribute(card, "h6.title a", "href")
        if link is None:
            return None
        price = html.text(card, "p.price")
        is_pinned = "pinned" in (card.attributes.get("class") or "").split()
        return self.found(
            response.urljoin(link),
            self._price(price),
            prices.period(price),
            is_promoted=is_pinned,
            shown=[html.text(card, selector) for selector in ("h6.title", ".info", ".description")],
        )

    def parse_listing(
        self, response: TextResponse, rent_period: RentPeriod | None = None, **hints: Any
    ) -> Iterator[Listing]:
        page = page_of(response)
        title = html.text(page, "h1.title")
        rows = html.rows(page, "dl.technical-characteristics dd", "span.label")
        if not title or not rows:
            raise BrokenPage("no title or no characteristics")
        seller = html.text(page, ".seller-data")
        if words.EXPIRED in fold(seller or ""):
            raise ListingGone("the page says that the advert has expired")
        operation = words.operation_of(title)
        place = azerbaijani_addresses.parse((html.text(page, ".map-address h4") or "").removeprefix("Ünvan:"))
        yield self.listing(
            response,
            self._price(html.text(page, ".left-bar .price span.m")),
            **words.kind_of(rows) | read_rows(rows, self.rows),
            **point_fields(coordinates.parse(html.attribute(page, "input#google_map", "value"))),
            **self._dated(html.text(page, ".date")),
            ref=_number_on(page) or self.ref_of(response.url) or "",
            url=response.url,
            operation=operation,
            rent_period=rent_period if operation == "rent" else None,
            condition=words.known(rows, "Təmiri", words.CONDITIONS),
            has_deed=words.known(rows, "Sənədin tipi", words.DEEDS),
            city=place.city,
            district=place.district or place.settlement,
            metro_station=place.metro_station or azerbaijani_addresses.metro_at_end(title),
            street=place.street,
            title=title,
            description=html.texts(page, ".desc p"),
            photos=absolute(response, html.attributes(page, ".fotorama a", "href")),
            seller_type=words.seller_of(seller),
            extra={**rows, **view_count(numbers.whole(html.text(page, ".views-count strong")))},
        )

    def ref_in(self, document: str) -> str | None:
        return _number_on(html.Page(document))

    def _price(self, text: str | None) -> prices.Price:
        """The price in manats. The page shows a second price in dollars, which is not read."""
        if text and "$" in text:
            text = None
        return prices.parse(text, self.currency)

    def _dated(self, text: str | None) -> dict[str, Any]:
        """The page shows one date: of the last change if its label says so, otherwise of posting. Without a label it is
        not known which."""
        label = fold((text or "").rstrip(_DATE))
        name = "updated_at" if words.UPDATED in label else "posted_at"
        return {name: dates.day(text, self.timezone)} if label else {}


def _number_on(page: html.Page) -> str | None:
    """The advert's number ("Elanın kodu") on its page."""
    return re.sub(r"\D", "", html.text(page, "div.panel p.pull-right b") or "") or None

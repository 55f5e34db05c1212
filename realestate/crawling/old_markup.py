"""The old HTML pages of bina.az and tap.az: both had the same markup, with label/value rows and statistics."""

import re
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from scrapy.http import TextResponse

from realestate.crawling.field_tables import absolute, served_at
from realestate.parsing import coordinates, dates, html, numbers
from realestate.parsing.text import fold

_ROW = ".product-properties__i"
_STATISTIC = ":is(.product-statistics__i-text, .product-info__statistics__i-text)"
_UPDATED = fold("Yeniləndi")
_VIEWS = fold("Baxış")
#: The whole price in one element.
_PRICE = ".product-price__i--bold"
#: The parts of the price. Cards beside the advert have prices too, and are left out.
_PRICE_PARTS = ":is(.price-val, .price-cur):not(.products-i *)"
_PLACES = "a[data-stat=product-locations], .product-extras__i a"


def number_on_old_page(page: html.Page) -> str | None:
    """The number of the advert: "Elanın nömrəsi: 3292947"."""
    return re.sub(r"\D", "", html.text(page, ".product-actions__id") or "") or None


class OldPage:
    """The values of such a page, as they are written there. Another page has no title and no rows."""

    def __init__(self, response: TextResponse) -> None:
        self._page = html.Page(response.text)
        self._response = response
        self._statistics = html.each_text(self._page, _STATISTIC)
        self.rows = html.rows(self._page, _ROW, "[class$=i-name]", "[class$=i-value]")
        self.title = html.text(self._page, "h1.product-title")

    def fields(self, zone: ZoneInfo) -> dict[str, Any]:
        """The fields that are read in the same way on both portals."""
        photos = html.attributes(self._page, ".product-photos__slider-top img", "src")
        return {
            "title": self.title,
            "description": html.texts(self._page, ".product-description__content"),
            # load.gif is shown until a script has run
            "photos": absolute(self._response, (src for src in photos if not src.endswith("load.gif"))),
            "updated_at": self._updated_at(zone),
        }

    @property
    def number(self) -> str | None:
        return number_on_old_page(self._page)

    @property
    def views(self) -> int | None:
        return next((numbers.whole(each) for each in self._statistics if _VIEWS in fold(each)), None)

    @property
    def price(self) -> str | None:
        return html.text(self._page, _PRICE) or html.texts(self._page, _PRICE_PARTS)

    @property
    def breadcrumbs(self) -> list[str]:
        """The operation first, the type of home last."""
        return html.each_text(self._page, ".product-breadcrumbs__i-link") or [""]

    @property
    def places(self) -> list[str]:
        """Names of places, and the address."""
        names = html.each_text(self._page, _PLACES)
        address = html.text(self._page, ".product-map__left__address") or ""
        return [*names, address.removeprefix("Ünvan:")]

    @property
    def point(self) -> coordinates.Point:
        latitude = html.attribute(self._page, "#item_map", "data-lat")
        longitude = html.attribute(self._page, "#item_map", "data-lng")
        return coordinates.of(latitude, longitude)

    @property
    def seller(self) -> str | None:
        """Agent or owner, as a word: not a name."""
        return html.text(self._page, ".product-owner__info-region")

    @property
    def shop(self) -> str | None:
        return html.text(self._page, '[class*=product-shop] a[href^="/shops/"]')

    def _updated_at(self, zone: ZoneInfo) -> datetime | None:
        """ "Yeniləndi: bugün" (today) means the day on which the page was served."""
        updated = next((each for each in self._statistics if _UPDATED in fold(each)), None)
        return dates.parse(updated, zone, served_at(self._response))

"""The markup that bina.az and tap.az had in common before their pages carried data: label/value rows and statistics."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from scrapy.http import TextResponse

from realestate.crawling.moments import served_at
from realestate.crawling.reading import absolute
from realestate.parsing import coordinates, dates, html, numbers
from realestate.parsing.text import fold

_ROW = ".product-properties__i"
_COUNTED = ":is(.product-statistics__i-text, .product-info__statistics__i-text)"
_UPDATED, _VIEWS = fold("Yeniləndi"), fold("Baxış")
#: One element with all of it, or its parts; cards beside the advert have prices too.
_PRICE, _PRICE_PARTS = ".product-price__i--bold", ":is(.price-val, .price-cur):not(.products-i *)"
_PLACES = "a[data-stat=product-locations], .product-extras__i a"


class OldPage:
    """What such a page says, as it is written there. One that has none of it has no title and no rows."""

    def __init__(self, response: TextResponse) -> None:
        self._page = html.Page(response.text)
        self._response = response
        self._counted = [each.text() for each in self._page.css(_COUNTED)]
        self.rows = html.rows(self._page, _ROW, "[class$=i-name]", "[class$=i-value]")
        self.title = html.text(self._page, "h1.product-title")

    def fields(self, zone: ZoneInfo) -> dict[str, Any]:
        """What is read alike on both portals."""
        photos = html.attributes(self._page, ".product-photos__slider-top img", "src")
        return {
            "title": self.title,
            "description": html.texts(self._page, ".product-description__content"),
            # a picture stands in until a script has run
            "photos": absolute(self._response, (src for src in photos if not src.endswith("load.gif"))),
            "updated_at": self._updated_at(zone),
        }

    @property
    def views(self) -> int | None:
        return next((numbers.whole(each) for each in self._counted if _VIEWS in fold(each)), None)

    @property
    def price(self) -> str | None:
        return html.text(self._page, _PRICE) or html.texts(self._page, _PRICE_PARTS)

    @property
    def crumbs(self) -> list[str]:
        """The deal first, the kind of home last."""
        return [each.text() for each in self._page.css(".product-breadcrumbs__i-link")] or [""]

    @property
    def places(self) -> list[str]:
        """Names of places, and the address."""
        named = [each.text() for each in self._page.css(_PLACES)]
        return [*named, (html.text(self._page, ".product-map__left__address") or "").removeprefix("Ünvan:")]

    @property
    def point(self) -> coordinates.Point:
        return coordinates.of(*(html.attribute(self._page, "#item_map", f"data-{name}") for name in ("lat", "lng")))

    @property
    def seller(self) -> str | None:
        """Whether an agent or the owner: a word, no name."""
        return html.text(self._page, ".product-owner__info-region")

    @property
    def shop(self) -> str | None:
        return html.text(self._page, '[class*=product-shop] a[href^="/shops/"]')

    def _updated_at(self, zone: ZoneInfo) -> datetime | None:
        """ "Yeniləndi: bugün" speaks of the day on which the page was served."""
        updated = next((each for each in self._counted if _UPDATED in fold(each)), None)
        return dates.parse(updated, zone, served_at(self._response))

"""Portals of the Next family: their pages carry their data as JSON. Each states where its own sits, as paths."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from scrapy.http import TextResponse

from realestate.crawling.base import PortalSpider
from realestate.crawling.outcomes import BrokenPage, ListingGone
from realestate.crawling.paging import Numbers
from realestate.crawling.reading import moment, number, paths, placed, read
from realestate.crawling.results import Found, Results
from realestate.items import Listing, Operation, SellerType, Status
from realestate.parsing import areas, coordinates, embedded, numbers, prices
from realestate.parsing.embedded import at, decoded, listed
from realestate.parsing.text import line

__all__ = ["EmbeddingSpider", "let_for", "number", "paths"]


def let_for(price: prices.Price, deal: Operation | None) -> dict[str, Any]:
    """The time a rent covers. Where a page names none it is the month, and said to be no more than likely."""
    if deal != "rent" or price.amount is None:
        return {"rent_period": None}
    flags = frozenset() if price.period else frozenset({"rent_period_assumed"})
    return {"rent_period": price.period or "month", "quality_flags": flags}


class EmbeddingSpider(PortalSpider):
    """A portal whose search and listing pages embed what they show in `__NEXT_DATA__`.

    Paths are JMESPath's: of the first three from `props` on, of all others from the result or the listing on. A portal
    whose data is not just at a path writes the method instead.
    """

    results_at: ClassVar[str]
    total_at: ClassVar[str]
    listing_at: ClassVar[str]

    link_at: ClassVar[str]
    """The address of a result's page, or what makes it different from others."""
    link_before: ClassVar[str] = ""
    """What its address begins with."""
    dated_at: ClassVar[str] = ""
    """The date the results are sorted by."""
    promoted_at: ClassVar[str] = ""
    """What says that a result stands where it does because somebody paid."""

    price_at: ClassVar[str]
    """A number, or a text with its currency and period."""
    period_at: ClassVar[str] = ""
    """A text that tells the time a rent covers, where the price does not."""
    deal_at: ClassVar[str] = ""
    deals: ClassVar[Mapping[str, Operation]] = {}
    fields: ClassVar[Mapping[str, str]]
    """Field -> where the listing's document has it."""
    dates: ClassVar[Mapping[str, str]] = {}
    """As `fields`, for those that are moments."""
    kept: ClassVar[Mapping[str, str]] = {}
    """As `fields`, for what goes into `extra`."""
    rows: ClassVar[tuple[str, str, str]] = ("", "", "")
    """Where rows are, and what a row calls its label and its value; paths have them, in lower case, as `told`."""
    area_at: ClassVar[str] = ""
    """`[value, unit]`, of the home or of its land as the unit tells; others have them in `fields`."""
    point_at: ClassVar[str] = ""
    """GeoJSON, `[latitude, longitude]` or a text of both; of the home, never of its agency."""
    seller_at: ClassVar[str] = ""
    sellers: ClassVar[Mapping[str, SellerType]] = {}
    agency_at: ClassVar[str] = ""
    """The name of whoever sells; a private person's is not read."""
    state_at: ClassVar[str] = ""
    states: ClassVar[Mapping[str, Status]] = {}
    """What is not `active`; `delisted` says that it is gone."""

    def deal(self, ad: Any, url: str) -> Operation | None:
        return self.deals.get(str(self._at(ad, self.deal_at)))

    def asked(self, ad: Any, deal: Operation | None) -> prices.Price:
        """With the time it covers, where it names one."""
        price = prices.from_json(self._at(ad, self.price_at), self.currency)
        if deal != "rent" or price.amount is None:
            return replace(price, period=None)
        return replace(price, period=price.period or prices.period(line(self._at(ad, self.period_at))))

    def more(self, ad: Any) -> dict[str, Any]:
        """The fields that are not just at a path."""
        return {}

    # ----- what they share

    def parse_search(self, response: TextResponse) -> Results:
        page = self._props(response)
        return self.results(
            response, map(self._result, listed(self._at(page, self.results_at))), self._at(page, self.total_at)
        )

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing]:
        ad = self._at(self._props(response), self.listing_at)
        if not isinstance(ad, dict) or not ad:
            raise BrokenPage(f"no {self.listing_at} in the page's Next data")
        ad = self._with_rows(ad)
        status = self.states.get(str(self._at(ad, self.state_at)), "active")
        if status == "delisted":
            raise ListingGone(f"{self.state_at} is {self._at(ad, self.state_at)}")
        deal = self.deal(ad, response.url)
        price = self.asked(ad, deal)
        told = {"operation": deal, "status": status} | let_for(price, deal) | self._told(ad) | self.more(ad)
        yield self.listing(response, price, **told)

    def results(self, response: TextResponse, found: Iterable[Found | None], total: Any) -> Results:
        """Results by the portal's count. None among the found is a result that could not be read."""
        told = list(found)
        kept = [each for each in told if each is not None]
        count = numbers.whole(total)
        if count is None:
            raise BrokenPage("no count of results")
        before = self.paging.before(response.url) if isinstance(self.paging, Numbers) else 0
        if not kept and before < count:
            raise BrokenPage("no results on a page within the total")
        return Results(kept, count, unreadable=len(told) - len(kept))

    def wrapped(self, document: bytes) -> bytes:
        """The Next data alone, in a page's script."""
        if not isinstance(at(decoded(document), "props"), dict):
            return document
        data = document.removeprefix(b"\xef\xbb\xbf").replace(b"</", b"<\\/")
        return b'<script id="__NEXT_DATA__" type="application/json">' + data + b"</script>"

    def ref_in(self, document: str) -> str | None:
        props = embedded.next_data(self.wrapped(document.encode()).decode(), "props")
        ad = self._with_rows(self._at(props, self.listing_at))
        link = line(self._at(ad, self.link_at)) or line(at(ad, "id"))
        return self.ref_of(f"{self.link_before}{link}") or self.ref_of(self.url_of(link)) if link else None

    def _result(self, result: Any) -> Found | None:
        result = self._with_rows(result)
        path = f"{self.link_before}{line(self._at(result, self.link_at)) or ''}"
        if self.ref_of(path) is None:
            return None
        price = self.asked(result, self.deal(result, path))
        dated, is_promoted = (
            moment(self._at(result, self.dated_at), self.timezone),
            bool(self._at(result, self.promoted_at)),
        )
        return self.found(path, price, price.period, dated=dated, is_promoted=is_promoted)

    def _told(self, ad: Any) -> dict[str, Any]:
        told = {name: read(name, self._at(ad, path)) for name, path in self.fields.items()}
        told |= {name: moment(self._at(ad, path), self.timezone) for name, path in self.dates.items()}
        told |= _place(self._at(ad, self.point_at))
        value, unit = self._at(ad, self.area_at) or (None, None)
        if area := areas.of(number(value), unit):
            told["plot_m2" if area.is_land else "area_m2"] = area.m2
        seller = self.sellers.get(str(self._at(ad, self.seller_at)))
        told |= {"seller_type": seller}
        told |= {"agency_name": line(self._at(ad, self.agency_at))} if seller in ("agency", "developer") else {}
        extra = {name: self._at(ad, path) for name, path in self.kept.items()}
        return {**told, "extra": {name: value for name, value in extra.items() if value not in (None, "", [], False)}}

    def _with_rows(self, ad: Any) -> Any:
        path, label, value = self.rows
        told = {str(at(each, label)).lower(): at(each, value) for each in listed(self._at(ad, path))}
        alone = {name: each[0] if isinstance(each, list) and len(each) == 1 else each for name, each in told.items()}
        return {**ad, "told": alone} if path and isinstance(ad, dict) else ad

    def _props(self, response: TextResponse) -> dict[str, Any]:
        found = embedded.next_data(response.text, "props")
        if not isinstance(found, dict) or not found:
            raise BrokenPage("no Next data in the page")
        return found

    @staticmethod
    def _at(document: Any, path: str) -> Any:
        return embedded.search(document, path) if path else None


def _place(told: Any) -> dict[str, Any]:
    if isinstance(told, dict):
        point = coordinates.geojson(told)
    elif isinstance(told, list):
        point = coordinates.of(*told) if len(told) == 2 else coordinates.Point()
    else:
        point = coordinates.parse(told if isinstance(told, str) else None)
    return {} if point.latitude is None else placed(point)

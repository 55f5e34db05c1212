"""EmbeddedJsonSpider: the base of portals whose pages contain their data as JSON, in `__NEXT_DATA__`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from scrapy.http import TextResponse

from realestate.crawling.field_tables import date_time, number, point_fields, read_field
from realestate.crawling.page_outcomes import BrokenPage, ListingGone
from realestate.crawling.paging import Numbers, Paging
from realestate.crawling.portal_spider import PortalSpider
from realestate.crawling.results import Found, Results
from realestate.items import Listing, Operation, SellerType, Status
from realestate.parsing import areas, coordinates, embedded, numbers, prices
from realestate.parsing.embedded import at, listed
from realestate.parsing.text import line


class RowPaths(NamedTuple):
    """Where label/value rows stand in a document."""

    rows: str
    """Path of the list of rows."""
    label: str
    """Path of the label in a row."""
    value: str
    """Path of the value in a row."""


def rent_fields(price: prices.Price, operation: Operation | None) -> dict[str, Any]:
    """The period of a rent. If the page names none, it is the month, with a quality flag that says it is assumed."""
    if operation != "rent" or price.amount is None:
        return {"rent_period": None}
    flags = frozenset() if price.period else frozenset({"rent_period_assumed"})
    return {"rent_period": price.period or "month", "quality_flags": flags}


def results_by_total(paging: Paging, response: TextResponse, found: Iterable[Found | None], total: Any) -> Results:
    """The Results of a page that names the total. None among the found is a result that could not be read.

    Raises BrokenPage without a total, and if the page should have results and has none."""
    results = list(found)
    readable = [each for each in results if each is not None]
    count = numbers.whole(total)
    if count is None:
        raise BrokenPage("no count of results")
    before = paging.before(response.url) if isinstance(paging, Numbers) else 0
    if not readable and before < count:
        raise BrokenPage("no results on a page within the total")
    return Results(readable, count, unreadable=len(results) - len(readable))


class EmbeddedJsonSpider(PortalSpider):
    """A portal whose search and listing pages have their data in `__NEXT_DATA__`.

    Paths are JMESPath. The first three begin at `props`; all others begin at the result or at the listing. If a value
    is not just at a path, the portal overrides the method that reads it.
    """

    results_path: ClassVar[str]
    """The list of results on a search page."""
    total_path: ClassVar[str]
    """The number of results of the whole search."""
    document_path: ClassVar[str]
    """The listing on its own page."""

    link_path: ClassVar[str]
    """The URL of a result's page, or the part of it that differs between listings."""
    link_prefix: ClassVar[str] = ""
    """What the URL begins with, if `link_path` has only the rest."""
    id_path: ClassVar[str] = ""
    """The listing's id, if it is the same as in the URL."""
    dated_path: ClassVar[str] = ""
    """The date by which the results are sorted."""
    promoted_path: ClassVar[str] = ""
    """True if somebody paid for the result's place."""

    card_paths: ClassVar[tuple[str, ...]] = ()
    """Other values of a result that change when the advert does, such as its title. If one of them changes, a sweep
    reads the listing's page."""

    price_path: ClassVar[str]
    """A number, or a text with its currency and period."""
    period_path: ClassVar[str] = ""
    """A text with the period of a rent, if the price has none."""
    operation_path: ClassVar[str] = ""
    operations: ClassVar[Mapping[str, Operation]] = {}
    """The values at `operation_path`."""

    fields: ClassVar[Mapping[str, str]]
    """Field -> its path."""
    dates: ClassVar[Mapping[str, str]] = {}
    """Field -> its path, for fields that are dates."""
    extra_paths: ClassVar[Mapping[str, str]] = {}
    """Key in `extra` -> its path."""
    row_paths: ClassVar[RowPaths | None] = None
    """Label/value rows. Other paths find their values as `rows.<label in lower case>`."""
    area_path: ClassVar[str] = ""
    """`[value, unit]` of the home or its land: the unit decides. Other portals have areas in `fields`."""
    point_path: ClassVar[str] = ""
    """GeoJSON, `[latitude, longitude]`, or a text of both; of the home, never of its agency."""
    seller_path: ClassVar[str] = ""
    sellers: ClassVar[Mapping[str, SellerType]] = {}
    """The values at `seller_path`."""
    agency_path: ClassVar[str] = ""
    """The name of the seller. The name of a private person is not read."""
    status_path: ClassVar[str] = ""
    statuses: ClassVar[Mapping[str, Status]] = {}
    """The values at `status_path` that do not mean `active`. `delisted` means that the listing is gone."""

    def operation_of(self, ad: Any, url: str) -> Operation | None:
        """Sale or rent."""
        return self.operations.get(str(self._at(ad, self.operation_path)))

    def price_of(self, ad: Any, operation: Operation | None) -> prices.Price:
        """The price, with the period of a rent if the page names one."""
        price = prices.from_json(self._at(ad, self.price_path), self.currency)
        if operation != "rent" or price.amount is None:
            return replace(price, period=None)
        return replace(price, period=price.period or prices.period(line(self._at(ad, self.period_path))))

    def shows_price(self, result: Any) -> bool:
        """Whether a result has a price, or says that it is on request. Without either, nothing is known."""
        return self._at(result, self.price_path) is not None

    def status_of(self, ad: Any) -> Status | None:
        """The status of an advert or of a search result; None if it is not shown. `delisted`: it no longer exists."""
        value = self._at(ad, self.status_path)
        return None if value is None else self.statuses.get(str(value), "active")

    def why_gone(self, ad: Any) -> str:
        """How the page of an advert that no longer exists says so."""
        return f"{self.status_path} is {self._at(ad, self.status_path)}"

    def seller_of(self, ad: Any) -> SellerType | None:
        """What kind of seller it is."""
        return self.sellers.get(str(self._at(ad, self.seller_path)))

    def more_fields(self, ad: Any) -> dict[str, Any]:
        """The fields that are not just at a path."""
        return {}

    # ----- for all portals of this family

    def parse_search(self, response: TextResponse) -> Results:
        page = self._props(response)
        found = [self._result(each) for each in listed(self._at(page, self.results_path))]
        return results_by_total(self.paging, response, found, self._at(page, self.total_path))

    def is_project(self, result: Any) -> bool:
        """Whether a result is a project, whose page shows homes that no search shows."""
        return False

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing | Found]:
        ad = self._at(self._props(response), self.document_path)
        if not isinstance(ad, dict) or not ad:
            raise BrokenPage(f"no {self.document_path} in __NEXT_DATA__")
        ad = self._with_rows(ad)
        status = self.status_of(ad) or "active"
        if status == "delisted":
            raise ListingGone(self.why_gone(ad))
        operation = self.operation_of(ad, response.url)
        price = self.price_of(ad, operation)
        fields: dict[str, Any] = {"operation": operation, "status": status}
        if ref := self._ref_of(ad):
            fields["ref"] = ref
        fields.update(rent_fields(price, operation))
        fields.update(self._table_fields(ad))
        fields.update(self.more_fields(ad))
        yield self.listing(response, price, **fields)

    def ref_in(self, document: str) -> str | None:
        props = embedded.next_data(self.wrapped(document.encode()).decode(), "props")
        ad = self._with_rows(self._at(props, self.document_path))
        return self._ref_of(ad) or self._ref_by_id(ad)

    def _ref_of(self, ad: Any) -> str | None:
        """The portal's id of the listing that the document is about."""
        link = line(self._at(ad, self.link_path))
        own = self.ref_of(f"{self.link_prefix}{link}") if link else None
        return own or line(self._at(ad, self.id_path))

    def _ref_by_id(self, ad: Any) -> str | None:
        number = line(at(ad, "id"))
        return self.ref_of(self.url_of(number)) if number else None

    def _result(self, result: Any) -> Found | None:
        """One result of a search page; None if its URL cannot be read."""
        result = self._with_rows(result)
        link = line(self._at(result, self.link_path)) or ""
        path = f"{self.link_prefix}{link}"
        if self.ref_of(path) is None:
            return None
        price = self.price_of(result, self.operation_of(result, path))
        if not self.shows_price(result):
            price = prices.Price()  # which is not a price on request
        return self.found(
            path,
            price,
            price.period,
            dated=date_time(self._at(result, self.dated_path), self.timezone),
            is_promoted=bool(self._at(result, self.promoted_path)),
            shows_others=self.is_project(result),
            status=self.status_of(result),
            shown=[self._at(result, path) for path in self.card_paths],
        )

    def _table_fields(self, ad: Any) -> dict[str, Any]:
        """The fields that the portal's tables and paths name."""
        fields = {name: read_field(name, self._at(ad, path)) for name, path in self.fields.items()}
        for name, path in self.dates.items():
            fields[name] = date_time(self._at(ad, path), self.timezone)
        fields.update(_point_fields(self._at(ad, self.point_path)))
        value, unit = self._at(ad, self.area_path) or (None, None)
        if area := areas.of(number(value), unit):
            fields["plot_m2" if area.is_land else "area_m2"] = area.m2
        seller = self.seller_of(ad)
        fields["seller_type"] = seller
        if seller in ("agency", "developer"):
            fields["agency_name"] = line(self._at(ad, self.agency_path))
        extra = {name: self._at(ad, path) for name, path in self.extra_paths.items()}
        fields["extra"] = {name: value for name, value in extra.items() if value not in (None, "", [], False)}
        return fields

    def _with_rows(self, ad: Any) -> Any:
        """The document with its label/value rows as one object, `rows`."""
        if self.row_paths is None or not isinstance(ad, dict):
            return ad
        rows: dict[str, Any] = {}
        for row in listed(self._at(ad, self.row_paths.rows)):
            value = at(row, self.row_paths.value)
            if isinstance(value, list) and len(value) == 1:
                value = value[0]
            rows[str(at(row, self.row_paths.label)).lower()] = value
        return {**ad, "rows": rows}

    def _props(self, response: TextResponse) -> dict[str, Any]:
        found = embedded.next_data(response.text, "props")
        if not isinstance(found, dict) or not found:
            raise BrokenPage("no __NEXT_DATA__ in the page")
        return found

    @staticmethod
    def _at(document: Any, path: str) -> Any:
        return embedded.search(document, path) if path else None


def _point_fields(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        point = coordinates.geojson(value)
    elif isinstance(value, list):
        point = coordinates.of(*value) if len(value) == 2 else coordinates.Point()
    else:
        point = coordinates.parse(value if isinstance(value, str) else None)
    return {} if point.latitude is None else point_fields(point)

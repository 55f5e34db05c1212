"""JsonLdSpider: the base of portals whose listing pages contain JSON-LD. Their search pages are cards."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from scrapy.http import TextResponse

from realestate.crawling.embedded_json import rent_fields, results_by_total
from realestate.crawling.field_tables import date_time
from realestate.crawling.page_outcomes import BrokenPage
from realestate.crawling.portal_spider import PortalSpider
from realestate.crawling.results import Found, Results
from realestate.items import Listing, Operation
from realestate.parsing import areas, embedded, html, jsonld, prices, property_types, schemaorg
from realestate.parsing.rows import Rows
from realestate.parsing.text import line, word
from realestate.parsing.urls import absolute_url


def _with_plus(document: str) -> str:
    """The document with the type of JSON-LD scripts as browsers read it: some servers escape its plus sign."""
    return document.replace("application/ld&#x2B;json", "application/ld+json").replace(
        "application/ld&#43;json", "application/ld+json"
    )


class RowSelectors(NamedTuple):
    """CSS selectors of label/value rows."""

    row: str
    label: str
    """Inside the row."""
    value: str
    """Inside the row."""


class JsonLdSpider(PortalSpider):
    """A portal whose listing pages contain JSON-LD and label/value rows. Selectors are CSS, paths are JMESPath."""

    card_selector: ClassVar[str]
    """The cards on a search page."""
    card_link_selector: ClassVar[str] = "a[href]"
    card_price_selector: ClassVar[str]
    card_text_selectors: ClassVar[tuple[str, ...]] = ()
    """Other texts of a card that change when the advert does. If one of them changes, a sweep reads the listing's
    page. The title of its link is always compared."""
    promoted_card_class: ClassVar[str] = ""
    """A class that only promoted cards have."""
    total_selector: ClassVar[str]
    """A text whose last number is the count of results: "1 - 20 of 1 234"."""

    node_types: ClassVar[tuple[str, ...]]
    """The types of the JSON-LD node that describes the home."""
    price_selector: ClassVar[str]
    """The price as a text: JSON-LD does not have the period of a rent."""
    row_selectors: ClassVar[RowSelectors]
    area_labels: ClassVar[Mapping[str, str]] = {}
    """Field -> label of the row with this area and its unit."""
    property_type_label: ClassVar[str] = ""
    """Label of the row with the type of the home."""
    rent_path: ClassVar[str]
    """A part of the URL that only rents have."""
    dates: ClassVar[Mapping[str, str]] = {}
    """Field -> its path in the JSON-LD node, for fields that are dates."""
    agency_path: ClassVar[str] = ""
    """The path of the agency's name in the JSON-LD node."""

    def parse_search(self, response: TextResponse) -> Results:
        page = html.Page(response.text)
        count = (html.text(page, self.total_selector) or "").rpartition(" of ")[2]
        found = [self._card(card) for card in page.css(self.card_selector)]
        return results_by_total(self.paging, response, found, count)

    def has_listing(self, rows: Rows) -> bool:
        """Whether the rows of a page without JSON-LD are those of a listing."""
        return False

    def page_fields(self, page: html.Page, rows: Rows) -> dict[str, Any]:
        """Fields of the page itself, for those that its JSON-LD does not have. `ref` is the id that the page names."""
        return {}

    def _ref_in_node(self, node: dict[str, Any] | None) -> str | None:
        url = line((node or {}).get("url"))
        return self.ref_of(url) if url and self.owns(absolute_url(self.site, url)) else None

    def _card(self, card: html.Element) -> Found | None:
        link = html.attribute(card, self.card_link_selector, "href")
        if link is None or self.ref_of(link) is None:
            return None
        price = prices.parse(html.text(card, self.card_price_selector), self.currency)
        classes = (card.attributes.get("class") or "").split()
        texts = [html.text(card, selector) for selector in self.card_text_selectors]
        return self.found(
            link,
            price,
            price.period,
            is_promoted=self.promoted_card_class in classes,
            shown=[html.attribute(card, self.card_link_selector, "title"), *texts],
        )

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing]:
        page = html.Page(response.text)
        rows = html.rows(page, *self.row_selectors)
        node = jsonld.first(_with_plus(response.text), *self.node_types)
        if node is None and not self.has_listing(rows):
            raise BrokenPage(f"no {' or '.join(self.node_types)} in the page's JSON-LD, and no rows of a listing")
        values = self.page_fields(page, rows)
        ref = values.pop("ref", None) or self._ref_in_node(node)
        node = node or {}
        shown = prices.parse(html.text(page, self.price_selector), self.currency)
        is_shown = shown.amount is not None or shown.basis is not None
        price = shown if is_shown else schemaorg.price(node, self.currency)
        is_rent = self.rent_path in response.url or shown.period is not None
        operation: Operation = "rent" if is_rent else "sale"
        fields = schemaorg.fields(node)
        fields.update({name: value for name, value in values.items() if fields.get(name) in (None, [], "")})
        for name, label in self.area_labels.items():
            if area := areas.parse(rows.take(label)):
                fields[name] = area.m2
        for name, path in self.dates.items():
            fields[name] = date_time(embedded.search(node, path), self.timezone)
        if kind := line(rows.take(self.property_type_label)):
            fields["property_type"] = property_types.of(kind) or "other"
            fields["subtype"] = word(kind)
        if ref:
            fields["ref"] = ref
        agency = line(embedded.search(node, self.agency_path)) if self.agency_path else None
        yield self.listing(
            response,
            price,
            operation=operation,
            **rent_fields(price, operation),
            seller_type="agency" if agency else None,
            agency_name=agency,
            **fields,
            extra=dict(rows),
        )

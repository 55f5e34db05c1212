"""Portals of the JSON-LD family: search pages are cards, a listing's page tells it in schema.org's words and rows."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from scrapy.http import TextResponse

from realestate.crawling.embedding import EmbeddingSpider, let_for
from realestate.crawling.outcomes import BrokenPage
from realestate.crawling.reading import moment
from realestate.crawling.results import Found, Results
from realestate.items import Listing, Operation
from realestate.parsing import areas, embedded, html, jsonld, prices, property_types, schemaorg
from realestate.parsing.text import line, word


class LinkedDataSpider(EmbeddingSpider):
    """A portal whose pages carry JSON-LD. Selectors are CSS."""

    cards: ClassVar[str]
    link_in_card: ClassVar[str] = "a[href]"
    price_in_card: ClassVar[str]
    promoted_cards: ClassVar[str] = ""
    """A class that only promoted cards have."""
    total_in: ClassVar[str]
    """A text whose last number is the count of results."""

    node_types: ClassVar[tuple[str, ...]]
    price_in_page: ClassVar[str]
    """The price as a text: JSON-LD does not tell the time a rent covers."""
    rows_in_page: ClassVar[tuple[str, str, str]]
    """Selectors of a row, its label and its value."""
    area_rows: ClassVar[Mapping[str, str]] = {}
    """Field -> label of the row that has it, with its unit."""
    kind_row: ClassVar[str] = ""
    """Label of the row that has the kind of property."""
    rents: ClassVar[str]
    """What only the address of a rent holds."""

    def parse_search(self, response: TextResponse) -> Results:
        page = html.Page(response.text)
        count = (html.text(page, self.total_in) or "").rpartition(" of ")[2]
        return self.results(response, map(self._card, page.css(self.cards)), count)

    def _card(self, card: html.Element) -> Found | None:
        link = html.attribute(card, self.link_in_card, "href")
        if link is None or self.ref_of(link) is None:
            return None
        price = prices.parse(html.text(card, self.price_in_card), self.currency)
        is_promoted = bool(self.promoted_cards) and self.promoted_cards in (card.attributes.get("class") or "").split()
        return self.found(link, price, price.period, is_promoted=is_promoted)

    def parse_listing(self, response: TextResponse, **hints: Any) -> Iterator[Listing]:
        node = jsonld.first(response.text, *self.node_types)
        if node is None:
            raise BrokenPage(f"no {' or '.join(self.node_types)} in the page's JSON-LD")
        page = html.Page(response.text)
        rows = html.rows(page, *self.rows_in_page)
        shown = prices.parse(html.text(page, self.price_in_page), self.currency)
        offered = schemaorg.price(node, self.currency)
        price = offered if shown.amount is None and shown.basis is None else shown
        deal: Operation = "rent" if self.rents in response.url or shown.period is not None else "sale"
        told = schemaorg.fields(node) | {
            name: area.m2 for name, label in self.area_rows.items() if (area := areas.parse(rows.take(label)))
        }
        told |= {name: moment(embedded.search(node, path), self.timezone) for name, path in self.dates.items()}
        if kind := line(rows.take(self.kind_row)):
            told |= {"property_type": property_types.of(kind) or "other", "subtype": word(kind)}
        agency = line(embedded.search(node, self.agency_at)) if self.agency_at else None
        yield self.listing(
            response,
            price,
            operation=deal,
            **let_for(price, deal),
            seller_type="agency" if agency else None,
            agency_name=agency,
            **told,
            extra=dict(rows),
        )

"""A plain shop: not homes, but products, through the same chain. Search pages are cards that link to products; a page
of one has microdata: its name, and in attributes its sku, price, priceCurrency and inventoryLevel.

The shop is invented, and the simulator has one. For a shop of yours whose pages carry such microdata, subclass it with
your `name`, `site`, `allowed_domains`, `searches`, `item_path` and `item_form`; another form of page is another
`parse_page`.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any

from scrapy.http import TextResponse

from realestate.crawling.engine import SearchSpider
from realestate.crawling.outcomes import BrokenPage
from realestate.crawling.paging import Numbers
from realestate.crawling.results import Results
from realestate.items.others import Product
from realestate.parsing import html, numbers


class EcommerceSpider(SearchSpider):
    name = "ecommerce"
    kind = "product"
    allowed_domains = ["shop.example"]  # noqa: RUF012
    site = "https://shop.example"
    searches = ("/products?page=1",)
    item_path = re.compile(r"^/products/(?P<ref>\d+)$")
    item_form = "/products/{ref}"
    paging = Numbers("page", size=24)
    terms = "https://shop.example/terms"
    checked_on = date(2026, 11, 16)

    def parse_search(self, response: TextResponse) -> Results:
        page = html.Page(response.text)
        total = numbers.machine_count(html.attribute(page, "[data-total]", "data-total"))
        if total is None:
            raise BrokenPage("no count of products")
        links = html.attributes(page, ".product a[href]", "href")
        if total and not links:
            raise BrokenPage("no products on a page within the total")
        return Results([self.link(each) for each in links], total)

    def parse_page(self, response: TextResponse, **hints: Any) -> Iterator[Product]:
        page = html.Page(response.text)
        ref, name = self.ref_in(response.text), html.text(page, "[itemprop=name]")
        if not ref or not name or ref != self.ref_of(response.url):
            raise BrokenPage("no name, or another product's number")
        price = numbers.machine_amount(html.attribute(page, "[itemprop=price]", "content"))
        yield Product(
            portal=self.name,
            ref=ref,
            url=self.shown_at(response),
            name=name,
            price=price,
            currency=html.attribute(page, "[itemprop=priceCurrency]", "content") if price else None,
            stock=numbers.machine_count(html.attribute(page, "[itemprop=inventoryLevel]", "content")),
        )

    def ref_in(self, document: str) -> str | None:
        return html.attribute(html.Page(document), "[itemprop=sku]", "content")

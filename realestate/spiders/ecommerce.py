"""A simple shop: it collects products instead of homes, with the same machinery.

Search pages are cards that link to products. A product's page has microdata: its name, and in attributes its sku,
price, priceCurrency and inventoryLevel. The shop is invented; the simulator serves one. For a real shop with such
microdata, write a subclass with its `name`, `site`, `allowed_domains`, `searches`, `item_path` and `item_form`; for
other pages, write another `parse_page`.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any

from scrapy.http import TextResponse

from realestate.crawling import BrokenPage, Numbers, Results, SearchSpider
from realestate.items.others import Product
from realestate.parsing import html, numbers


class EcommerceSpider(SearchSpider):
    name = "ecommerce"
    kind = "product"
    allowed_domains = ["shop.example"]
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
        return Results([self.link(url) for url in links], total)

    def parse_page(self, response: TextResponse, **hints: Any) -> Iterator[Product]:
        page = html.Page(response.text)
        ref = self.ref_in(response.text)
        name = html.text(page, "[itemprop=name]")
        if not ref or not name or ref != self.ref_of(response.url):
            raise BrokenPage("no name, or the number of another product")
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

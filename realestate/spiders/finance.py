"""A table of quotes: it collects prices of shares instead of homes, with the same machinery.

Each row is a whole quote, with its numbers in `data-` attributes, so no other page is fetched. A quote's own page is a
table of one row. A share without a trade has no price: its `data-price` is empty. The site is invented; the simulator
serves one. For a real site with such a table, write a subclass with its `name`, `site`, `allowed_domains`, `searches`,
`item_path` and `item_form`; for another table, write another `_quote`.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any

from scrapy.http import TextResponse

from realestate.crawling import BrokenPage, Numbers, Results, SearchSpider
from realestate.items.others import Quote
from realestate.parsing import dates, html, numbers


class FinanceSpider(SearchSpider):
    name = "finance"
    kind = "quote"
    allowed_domains = ["quotes.example"]
    site = "https://quotes.example"
    searches = ("/quotes?page=1",)
    item_path = re.compile(r"^/quotes/(?P<ref>[A-Z]{2}[A-Z0-9]{10})$")
    item_form = "/quotes/{ref}"
    paging = Numbers("page", size=50)
    terms = "https://quotes.example/terms"
    checked_on = date(2026, 11, 16)

    def parse_search(self, response: TextResponse) -> Results:
        page = html.Page(response.text)
        total = numbers.machine_count(html.attribute(page, "table[data-total]", "data-total"))
        if total is None:
            raise BrokenPage("no table of quotes")
        quotes = [self._quote(row, response) for row in page.css("tr[data-price]")]
        if total and not quotes:
            raise BrokenPage("no quotes on a page within the total")
        return Results(quotes, total)

    def parse_page(self, response: TextResponse, **hints: Any) -> Iterator[Quote]:
        rows = html.Page(response.text).css("tr[data-price]")
        if len(rows) != 1:
            raise BrokenPage(f"{len(rows)} quotes on the page of one quote")
        yield self._quote(rows[0], response)

    def ref_in(self, document: str) -> str | None:
        return self.ref_of(html.attribute(html.Page(document), "tr[data-price] a", "href") or "")

    def _quote(self, row: html.Element, response: TextResponse) -> Quote:
        url = response.urljoin(html.attribute(row, "a", "href") or "")
        ref = self.ref_of(url)
        ticker = html.text(row, "a")
        if ref is None or not ticker:
            raise BrokenPage("a row without a ticker or without the URL of its quote")
        values = row.attributes
        price = numbers.machine_amount(values.get("data-price"))
        return Quote(
            portal=self.name,
            ref=ref,
            url=url,
            ticker=ticker,
            price=price,
            currency=values.get("data-currency") if price else None,
            volume=numbers.machine_count(values.get("data-volume")),
            quoted_at=dates.iso(html.attribute(row, "time", "datetime")),
        )

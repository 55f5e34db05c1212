"""emlak: plain HTML, cards on the search pages and rows of label and value on a listing's."""

import re
from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode

from bench.peers.reading import Links, Page

SEARCHES = ("/elanlar/?ann_type=3&sort_type=1&page=1",)
PAGE_SIZE = 20
_REF = re.compile(r"/(\d+)-")


def search(page: Page) -> Links:
    hrefs = page.selector.css("div.ticket-list div.ticket h6.title a::attr(href)").getall()
    return _links(page.url, hrefs, page.selector.css("h1.title span::text").get(""))


def search_fast(text: str, url: str) -> Links:
    tree = LexborHTMLParser(text)
    cards = tree.css("div.ticket-list div.ticket h6.title a")
    return _links(url, (card.attributes["href"] or "" for card in cards), _text(tree.css_first("h1.title span")))


def _links(url: str, hrefs: Iterable[str], count: str) -> Links:
    total = int(re.sub(r"\D", "", count))
    pages = range(2, ceil(total / PAGE_SIZE) + 1) if url.endswith("page=1") else ()
    return Links([urljoin(url, href) for href in hrefs], [url.replace("page=1", f"page={number}") for number in pages])


def listing(page: Page) -> dict[str, Any]:
    found = page.selector
    rows = {
        row.css("span.label::text").get(""): "".join(row.xpath("text()").getall()).strip()
        for row in found.css("dl.technical-characteristics dd")
    }
    return {
        "ref": found.css("p.pull-right b::text").get(""),
        "url": page.url,
        "title": "".join(found.css("h1.title ::text").getall()),
        "price": found.css(".left-bar .price span.m::text").get(),
        "seller_type": found.css("p.name-seller span::text").get(),
        "posted_at": found.css("p.date strong::text").get(),
        "address": found.css(".map-address h4::text").get(),
        "point": found.css("input#google_map::attr(value)").get(),
        "description": "\n".join(text.strip() for text in found.css("div.desc p::text").getall()),
        "photos": [urljoin(page.url, href) for href in found.css("div.fotorama a::attr(href)").getall()],
        **_of_rows(rows),
    }


def listing_fast(tree: LexborHTMLParser, url: str) -> dict[str, Any]:
    point = tree.css_first("input#google_map")
    return {
        "ref": _text(tree.css_first("p.pull-right b")),
        "url": url,
        "title": _text(tree.css_first("h1.title")),
        "price": _text(tree.css_first(".left-bar .price span.m")),
        "seller_type": _text(tree.css_first("p.name-seller span")),
        "posted_at": _text(tree.css_first("p.date strong")),
        "address": _text(tree.css_first(".map-address h4")),
        "point": point.attributes["value"] if point else None,
        "description": "\n".join(_text(node).strip() for node in tree.css("div.desc p")),
        "photos": [urljoin(url, node.attributes["href"] or "") for node in tree.css("div.fotorama a")],
        **_of_rows(dict(map(_row, tree.css("dl.technical-characteristics dd")))),
    }


def _row(row: LexborNode) -> tuple[str, str]:
    return _text(row.css_first("span.label")), row.text(deep=False).strip()


def _text(node: LexborNode | None) -> str:
    return node.text() if node else ""


def _of_rows(rows: Mapping[str, str]) -> dict[str, Any]:
    return {
        "property_type": rows.get("Əmlakın növü"),
        "area_m2": rows.get("Sahə"),
        "rooms": rows.get("Otaqların sayı"),
        "floor": rows.get("Yerləşdiyi mərtəbə"),
        "floors_total": rows.get("Mərtəbə sayı"),
        "condition": rows.get("Təmiri"),
        "deed": rows.get("Sənədin tipi"),
    }

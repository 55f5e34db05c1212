"""Recorded pages: what a portal served, and what we make of it.

Beside `<name>.html` (or `<name>.page.json`) stands `<name>.json`: the page's `url`, the `hints` its search page
gave, and what is expected: the `listing` (and, of a project, its `units`) or what else the spider collects, the word
that it is `gone`, or what is `found` and the further `searches`. A value that is missing, empty or the default is left
out.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scrapy import Request
from scrapy.http import HtmlResponse, TextResponse
from scrapy.settings import Settings
from scrapy.spiderloader import get_spider_loader

from realestate.items import Listing, as_record
from realestate.items.others import Other, other_record
from realestate.spiders.outcomes import ListingGone
from realestate.spiders.results import Found, Link, Result
from realestate.spiders.walk import Walk

FOLDER = Path(__file__).parent / "portals"


def expectations() -> list[Path]:
    return sorted(path for path in FOLDER.glob("*/*.json") if not path.name.endswith(".page.json"))


def pages() -> set[Path]:
    return {path for pattern in ("*/*.html", "*/*.page.json") for path in FOLDER.glob(pattern)}


def page_of(expected: Path) -> Path:
    html = expected.with_suffix(".html")
    return html if html.exists() else expected.with_suffix(".page.json")


def spider_class(portal: str) -> Any:
    settings = Settings()
    settings.setmodule("realestate.settings", priority="project")
    return get_spider_loader(settings).load(portal)


def response_of(page: Path, url: str) -> TextResponse:
    kind = HtmlResponse if page.suffix == ".html" else TextResponse
    return kind(url, body=page.read_bytes(), encoding="utf-8", request=Request(url))


def read(expected: Path) -> dict[str, Any]:
    """What the portal's parser makes of the page, in the form of the expectation."""
    told = json.loads(expected.read_text("utf-8"))
    spider = spider_class(expected.parent.name)()
    response = response_of(page_of(expected), told["url"])
    made = _search(spider, response) if "found" in told else _page(spider, response, told.get("hints", {}))
    return {**{name: told[name] for name in ("url", "hints") if name in told}, **made}


def _page(spider: Any, response: TextResponse, hints: dict[str, Any]) -> dict[str, Any]:
    try:
        item, *others = spider.parse_page(response, **hints)
    except ListingGone as gone:
        return {"gone": f"{gone.evidence}: {gone}"}
    return {spider.kind: _short(item), **({"units": [_found(each) for each in others]} if others else {})}


def _search(spider: Any, response: TextResponse) -> dict[str, Any]:
    results = spider.parse_search(response)
    further = Walk().further(spider.paging, spider.newest_first, response.url, results)
    return {"found": [_found(each) for each in results.found], "searches": further}


def _short(item: Listing | Other) -> dict[str, Any]:
    if not isinstance(item, Listing):
        return {name: value for name, value in other_record(item).items() if value is not None}
    empty = Listing(portal="", ref="", url="", country="")
    default = as_record(empty)
    return {name: value for name, value in as_record(item).items() if value != default[name]}


def _found(found: Result) -> dict[str, Any]:
    if isinstance(found, Link):
        return {"ref": found.ref, "url": found.url}
    if not isinstance(found, Found):
        return _short(found)
    told = asdict(found.sighting) | ({"hints": found.hints} if found.hints else {})
    told |= {"dated": found.dated.isoformat()} if found.dated else {}
    price = told.pop("price")
    told = {name: value for name, value in told.items() if value is not None and name != "portal"}
    return told if price is None else {**told, "price": float(price)}

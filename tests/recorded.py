"""Recorded pages: what a portal served, and what we make of it.

Beside `<name>.html` (or `<name>.page.json`) stands `<name>.json`: the page's `url`, the `hints` its search page
gave, and the `listing` or the `requests` expected. A value that is missing, empty or the default is left out.
"""

import json
from pathlib import Path
from typing import Any

from scrapy import Request
from scrapy.http import HtmlResponse, TextResponse
from scrapy.settings import Settings
from scrapy.spiderloader import get_spider_loader

from realestate.items import Listing, as_record

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
    if "listing" in told:
        (listing,) = spider.parse_listing(response, **told.get("hints", {}))
        made: dict[str, Any] = {"listing": _short(listing)}
    else:
        made = {"requests": [_request(each) for each in spider.parse_search(response)]}
    return {**{name: told[name] for name in ("url", "hints") if name in told}, **made}


def _short(listing: Listing) -> dict[str, Any]:
    empty = Listing(portal="", ref="", url="", country="")
    default = as_record(empty)
    return {name: value for name, value in as_record(listing).items() if value != default[name]}


def _request(request: Request) -> dict[str, Any]:
    callback = getattr(request.callback, "__name__", None)
    told = {"url": request.url, "callback": callback}
    hints = {name: value for name, value in request.cb_kwargs.items() if value is not None}
    return {**told, "hints": hints} if hints else told

"""Recorded pages: what a portal served, and the values that we expect.

Beside `<name>.html` (or `<name>.page.json`) is `<name>.json`: the page's `url`, the `hints` of its search page, and the
expectation. That is the `listing` (for a project also its `units`) or an item of another kind; or `gone`; or what is
`found` and the further `searches`. Values that are missing, empty or the default are left out.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from scrapy.http import TextResponse

from realestate.authoring import parser_output
from realestate.items.others import OTHERS
from realestate.jobs.work import spider_class

__all__ = ["expectations", "page_of", "pages", "read", "refs", "response_of", "spider", "spider_class"]

_KINDS = ("listing", *OTHERS)
_EXPECTED = (*_KINDS, "units", "gone", "found", "total", "searches")
FOLDER = Path(__file__).parent / "portals"


def expectations() -> list[Path]:
    return sorted(path for path in FOLDER.glob("*/*.json") if not path.name.endswith(".page.json"))


def pages() -> set[Path]:
    return {path for pattern in ("*/*.html", "*/*.page.json") for path in FOLDER.glob(pattern)}


def refs(portal: str) -> set[str]:
    """The ids of all items on a portal's recorded pages. There is at least one."""
    documents = [json.loads(path.read_text("utf-8")) for path in expectations() if path.parent.name == portal]
    items = [
        item for each in documents for item in (*each.get("found", ()), *(each.get(kind) for kind in _KINDS)) if item
    ]
    found = {item["ref"] for item in items}
    assert found
    return found


def page_of(expected: Path) -> Path:
    html = expected.with_suffix(".html")
    return html if html.exists() else expected.with_suffix(".page.json")


@cache
def spider(portal: str) -> Any:
    return parser_output.spider(portal)


def response_of(expected: Path, body: bytes) -> TextResponse:
    """A response with this body and the URL of the recorded page."""
    document = json.loads(expected.read_text("utf-8"))
    return parser_output.response(spider(expected.parent.name), document["url"], body, stage_of(document))


def stage_of(document: dict[str, Any]) -> parser_output.Stage:
    return "discover" if "found" in document else "extract"


def read(expected: Path) -> dict[str, Any]:
    """The result of the portal's parser for the page, in the form of the expectation."""
    document = json.loads(expected.read_text("utf-8"))
    response = response_of(expected, page_of(expected).read_bytes())
    made = parser_output.without_defaults(
        parser_output.read(spider(expected.parent.name), response, stage_of(document), document.get("hints"))
    )
    kept = {name: document[name] for name in document if name not in _EXPECTED}
    return kept | {name: value for name, value in made.items() if name in document or name != "total"}

"""The recorded pages of all portals of this checkout (`realestate/authoring/recorded_pages.py` says what they are)."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from scrapy.http import TextResponse

from realestate.authoring import parser_output, recorded_pages
from realestate.authoring.recorded_pages import KINDS, page_of, stage_of
from realestate.jobs.work import spider_class

__all__ = ["expectations", "page_of", "pages", "read", "refs", "response_of", "spider", "spider_class", "stage_of"]

FOLDER = Path(__file__).parent / "portals"


def expectations() -> list[Path]:
    return [path for folder in sorted(FOLDER.iterdir()) for path in recorded_pages.expectations(folder)]


def pages() -> set[Path]:
    return {path for folder in FOLDER.iterdir() for path in recorded_pages.pages(folder)}


def refs(portal: str) -> set[str]:
    """The ids of all items on a portal's recorded pages. There is at least one."""
    documents = [json.loads(path.read_text("utf-8")) for path in expectations() if path.parent.name == portal]
    items = [
        item for each in documents for item in (*each.get("found", ()), *(each.get(kind) for kind in KINDS)) if item
    ]
    found = {item["ref"] for item in items}
    assert found
    return found


@cache
def spider(portal: str) -> Any:
    return parser_output.spider(portal)


def response_of(expected: Path, body: bytes) -> TextResponse:
    """A response with this body and the URL of the recorded page."""
    return recorded_pages.response_of(spider(expected.parent.name), expected, body)


def read(expected: Path) -> dict[str, Any]:
    """The result of the portal's parser for the page, in the form of the expectation."""
    return recorded_pages.read(spider(expected.parent.name), expected)

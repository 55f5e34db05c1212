"""Recorded pages: what a portal served, and the values that we expect.

Beside `<name>.html` (or `<name>.page.json`) is `<name>.json`: the page's `url`, the `hints` of its search page, and the
expectation. That is the `listing` (for a project also its `units`) or an item of another kind; or `gone`; or what is
`found` and the further `searches`. Values that are missing, empty or the default are left out.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scrapy.http import TextResponse

from realestate.authoring import AuthoringError, parser_output, project_files
from realestate.items.others import OTHERS

KINDS = ("listing", *OTHERS)
_EXPECTED = (*KINDS, "units", "gone", "found", "total", "searches")
_NOTHING = "nothing"


@dataclass(frozen=True)
class Tested:
    """The result of one recorded page."""

    name: str
    faults: list[str] = field(default_factory=list)
    """One line for each value that differs; empty if the page is parsed as expected."""


def compare_all(portal: str) -> list[Tested]:
    """Parse every recorded page of a portal and compare the result with what is expected."""
    folder = project_files.pages_folder(portal)
    expected = expectations(folder)
    if not expected:
        raise AuthoringError(
            f"{portal} has no recorded pages in {project_files.shown(folder)}; record one with"
            f" `realestate portal record {portal} <url> --as listing-flat`"
        )
    spider = parser_output.spider(portal)
    results = [Tested(each.stem, _faults(spider, each)) for each in expected]
    without = sorted(path.name for path in pages(folder) - {page_of(each) for each in expected})
    return [*results, *(Tested(name, ["no .json file beside it says what is expected"]) for name in without)]


def expectations(folder: Path) -> list[Path]:
    """The files that say what is expected, of one portal."""
    return sorted(path for path in folder.glob("*.json") if not path.name.endswith(".page.json"))


def pages(folder: Path) -> set[Path]:
    return {path for pattern in ("*.html", "*.page.json") for path in folder.glob(pattern)}


def page_of(expected: Path) -> Path:
    html = expected.with_suffix(".html")
    return html if html.exists() else expected.with_suffix(".page.json")


def stage_of(document: dict[str, Any]) -> parser_output.Stage:
    return "discover" if "found" in document else "extract"


def response_of(spider: Any, expected: Path, body: bytes) -> TextResponse:
    """A response with this body and the URL of the recorded page."""
    document = json.loads(expected.read_text("utf-8"))
    return parser_output.response(spider, document["url"], body, stage_of(document))


def read(spider: Any, expected: Path) -> dict[str, Any]:
    """The result of the portal's parser for the page, in the form of the expectation."""
    document = json.loads(expected.read_text("utf-8"))
    response = response_of(spider, expected, page_of(expected).read_bytes())
    made = parser_output.without_defaults(
        parser_output.read(spider, response, stage_of(document), document.get("hints"))
    )
    kept = {name: document[name] for name in document if name not in _EXPECTED}
    return kept | {name: value for name, value in made.items() if name in document or name != "total"}


def _faults(spider: Any, expected: Path) -> list[str]:
    try:
        document = json.loads(expected.read_text("utf-8"))
        return list(differences(document, read(spider, expected)))
    except Exception as error:  # whatever a parser that is half written raises, the author gets one line
        return [f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"]


def differences(expected: Any, found: Any, path: str = "") -> Iterator[str]:
    """One line for each value that differs, with the path to it: `listing.price: expected 1, found 2`."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for name in dict.fromkeys((*expected, *found)):
            inner = f"{path}.{name}" if path else name
            yield from differences(expected.get(name, _NOTHING), found.get(name, _NOTHING), inner)
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for number, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    elif expected != found:
        yield f"{path}: expected {_short(expected)}, found {_short(found)}"


def _short(value: Any) -> str:
    text = value if value == _NOTHING else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else text[:100] + "…"

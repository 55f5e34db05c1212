"""JSON-LD: data for search engines in a page. Often incomplete, so portals use it as a fallback."""

import re
from collections.abc import Iterator
from typing import Any

from realestate.parsing.embedded import decoded

_MARK = "application/ld+json"
_AROUND = re.compile(r"^\s*(?://)?\s?(?:<!\[CDATA\[|<!--)|(?://)?\s?(?:\]\]>|-->)\s*$")
_LONGEST_TAG = 500
_END = re.compile("</script", re.IGNORECASE)


def nodes(html: str) -> list[dict[str, Any]]:
    """Return all nodes of all blocks, with those of arrays and of `@graph`, in the order of the page."""
    return [node for block in _blocks(html) for node in _flat(block)]


def every(html: str, *types: str) -> list[dict[str, Any]]:
    """Return the nodes of one of these types, in the order of the page."""
    return [node for node in nodes(html) if not _types(node).isdisjoint(types)]


def first(html: str, *types: str) -> dict[str, Any] | None:
    """Return the first node of the first of these types that the page has."""
    found = nodes(html)
    return next((node for wanted in types for node in found if wanted in _types(node)), None)


def _blocks(html: str) -> Iterator[Any]:
    """Yield the content of the blocks. A block that is not JSON gives None: others of the page may be valid."""
    mark = html.find(_MARK)
    while mark >= 0:
        tag = html.rfind("<", max(0, mark - _LONGEST_TAG), mark)
        start = html.find(">", mark) + 1
        end = _END.search(html, start)
        if not start or not end:
            return
        if tag >= 0 and html[tag : tag + 7].lower() == "<script":
            block = html[start : end.start()]
            yield decoded(_AROUND.sub("", block) if "<!" in block else block)
        mark = html.find(_MARK, end.end())


def _flat(block: Any) -> Iterator[dict[str, Any]]:
    waiting = [block]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting += reversed(each)
        elif isinstance(each, dict):
            if each.keys() - {"@context", "@graph", "@id"}:
                yield each
            if "@graph" in each:
                waiting.append(each["@graph"])


def _types(node: dict[str, Any]) -> set[str]:
    """Return the types without a prefix: "Product" for "https://schema.org/Product" and "schema:Product"."""
    types = node.get("@type")
    names = types if isinstance(types, list) else [types]
    return {re.split("[/:#]", name)[-1] for name in names if isinstance(name, str)}

"""JSON-LD: what a page tells search engines. Often thin: a fallback, seldom the source."""

import re
from collections.abc import Iterator
from typing import Any

from realestate.parsing.embedded import decoded

_SCRIPT = re.compile(r"""<script\b[^<>]{0,500}?\btype\s?=\s?["']?application/ld\+json[^<>]{0,500}>""", re.IGNORECASE)
_AROUND = re.compile(r"^\s*(?://)?\s?(?:<!\[CDATA\[|<!--)|(?://)?\s?(?:\]\]>|-->)\s*$")
_END = re.compile("</script", re.IGNORECASE)


def nodes(html: str) -> list[dict[str, Any]]:
    """All nodes of all blocks, those of arrays and of `@graph` among them, in the page's order."""
    return [node for block in _blocks(html) for node in _flat(block)]


def every(html: str, *types: str) -> list[dict[str, Any]]:
    """The nodes of one of these types, in the page's order."""
    return [node for node in nodes(html) if not _types(node).isdisjoint(types)]


def first(html: str, *types: str) -> dict[str, Any] | None:
    """The first node of the first type that the page has: types are given by preference."""
    told = nodes(html)
    return next((node for wanted in types for node in told if wanted in _types(node)), None)


def _blocks(html: str) -> Iterator[Any]:
    """A block that is no JSON is passed over: others of the page may be sound."""
    for found in _SCRIPT.finditer(html):
        end = _END.search(html, found.end())
        if not end:
            return
        block = html[found.end() : end.start()]
        yield decoded(_AROUND.sub("", block) if "<!" in block else block)


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
    """Without what may stand before them: "https://schema.org/Product", "schema:Product"."""
    told = node.get("@type")
    names = told if isinstance(told, list) else [told]
    return {re.split("[/:#]", name)[-1] for name in names if isinstance(name, str)}

"""Microdata (`itemscope`, `itemprop`), in the form of JSON-LD: then `schemaorg` can read both.

The library extruct takes quadratic time for nested items, its import takes a second and 30 MB, and it parses the page
with lxml, which is slower. Each element is visited a limited number of times here, whatever the page contains.
"""

import re
from collections.abc import Iterator
from typing import Any

from selectolax.lexbor import LexborNode

from realestate.parsing.html import Page

#: One page: characters of all texts, and properties that items refer to by `itemref`. Each may be read several times.
_MOST_TEXT = 2_000_000
_MOST_REFERENCES = 10_000
#: The attribute that holds the value of an element, by its tag.
_VALUE_ATTRIBUTE = {
    "meta": "content",
    **dict.fromkeys(("audio", "embed", "iframe", "img", "source", "track", "video"), "src"),
    **dict.fromkeys(("a", "area", "link"), "href"),
    "object": "data",
    "data": "value",
    "meter": "value",
    "time": "datetime",
}
_BLOCK_NAMES = (
    "address article aside blockquote br dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr li main"
    " nav ol p pre section table tbody tfoot thead tr ul"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_WITHOUT_TEXT = frozenset({"script", "style", "template", "link", "meta"})
_BLANKS = re.compile(r"\s+")
_NO_BLANK_BEFORE = re.compile(r'[\s,:;.!?")]')
_NO_BLANK_AFTER = re.compile(r"[\s(]\Z")


def nodes(html: str) -> list[dict[str, Any]]:
    """Return the outermost items of a page; [] if there are none or the page cannot be parsed."""
    if "itemscope" not in html:
        return []
    try:
        page = Page(html)
    except ValueError:
        return []
    return _Reader(page).items()


class _Reader:
    """Makes a node of each element with `itemscope`, and adds the properties to the nearest one above them."""

    def __init__(self, page: Page) -> None:
        self._items = page.css("[itemscope]")
        self._properties = page.css("[itemprop]")
        self._nodes = {each.mem_id: _node(each) for each in self._items}
        self._scopes: dict[int, int | None] = {}
        self._by_id: dict[str, LexborNode] = {}
        self._inner: set[int] = set()
        self._text_left = _MOST_TEXT
        self._references_left = _MOST_REFERENCES
        if page.css_first("[itemref]") is not None:
            for each in page.css("[id]"):
                self._by_id.setdefault(each.attributes.get("id") or "", each)

    def items(self) -> list[dict[str, Any]]:
        for each in self._properties:
            scope = self._scope(each)
            if scope is not None:
                self._add(self._nodes[scope], each)
        if self._by_id:
            for each in self._items:
                self._add_references(each)
        return [node for key, node in self._nodes.items() if key not in self._inner]

    def _scope(self, element: LexborNode) -> int | None:
        """Return the nearest element above with `itemscope`. What was found is remembered for all on the way up."""
        way: list[int] = []
        above = element.parent
        scope = None
        while above is not None:
            key = above.mem_id
            if key in self._nodes:
                scope = key
                break
            if key in self._scopes:
                scope = self._scopes[key]
                break
            way.append(key)
            above = above.parent
        self._scopes.update(dict.fromkeys(way, scope))
        return scope

    def _add(self, node: dict[str, Any], element: LexborNode) -> None:
        if element.mem_id in self._inner:
            return  # each item is inside one other at most: none contains itself
        value = self._value(element)
        for name in (element.attributes.get("itemprop") or "").split():
            if name not in node:
                node[name] = value
            elif isinstance(node[name], list):
                node[name].append(value)
            else:
                node[name] = [node[name], value]

    def _add_references(self, item: LexborNode) -> None:
        """Add the properties inside the elements that `itemref` names. They may be anywhere in the page."""
        for id in dict.fromkeys((item.attributes.get("itemref") or "").split()):
            target = self._by_id.get(id)
            if target is None:
                continue
            inside = target.mem_id if target.mem_id in self._nodes else self._scope(target)
            is_item = target.mem_id in self._nodes and "itemprop" in target.attributes
            for each in [target] if is_item else target.css("[itemprop]"):
                self._references_left -= 1
                if self._references_left < 0:
                    return
                if is_item or self._scope(each) == inside:
                    self._add(self._nodes[item.mem_id], each)

    def _value(self, element: LexborNode) -> Any:
        if element.mem_id in self._nodes:
            self._inner.add(element.mem_id)
            return self._nodes[element.mem_id]
        attributes = element.attributes
        attribute = _VALUE_ATTRIBUTE.get(element.tag or "")
        if attribute is not None and (element.tag != "time" or "datetime" in attributes):
            return (attributes.get(attribute) or "").strip()
        return attributes.get("content") or self._text(element)

    def _text(self, element: LexborNode) -> str:
        if self._text_left <= 0:
            return ""
        text = _text(element)
        self._text_left -= len(text) + 1
        return text


def _node(element: LexborNode) -> dict[str, Any]:
    types = (element.attributes.get("itemtype") or "").split()
    return {"@type": [each.rpartition("/")[2] for each in types]}


def _text(element: LexborNode) -> str:
    """Return the text of an element: a line for each block, and a blank between the texts of two elements."""
    parts = ["\n"]
    for each in _walk(element):
        if each.tag in _BLOCKS:
            parts.append("\n")
        elif each.tag == "-text" and (text := each.text()):
            if not _NO_BLANK_BEFORE.match(text) and not _NO_BLANK_AFTER.search(parts[-1]):
                parts.append(" ")
            parts.append(_BLANKS.sub(" ", text))
    lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
    return "\n".join(line for line in lines if line)


def _walk(element: LexborNode) -> Iterator[LexborNode]:
    """Yield the nodes inside an element in their order. A block is yielded at its beginning and at its end."""
    each = element.first_child
    open_elements: list[LexborNode] = []
    while each is not None:
        yield each
        inner = None if each.tag in _WITHOUT_TEXT else each.first_child
        if inner is not None:
            open_elements.append(each)
            each = inner
            continue
        while each.next is None and open_elements:
            each = open_elements.pop()
            if each.tag in _BLOCKS:
                yield each
        each = each.next

"""HTML by selectolax: lexbor reads a page eight times faster than lxml does."""

import re
from functools import lru_cache
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from realestate.parsing.embedded import decoded
from realestate.parsing.rows import Rows
from realestate.parsing.text import line, paragraphs

Element = LexborNode

#: The head of an ordinary page, tag by tag, up to what it tells those who share it. An attribute stands in double
#: quotes or has no value, so that nothing in there is taken for a tag.
_ATTRIBUTE = r"""\s++(?:(?!(?i:property))[\w:.-]++(?:="[^"<>]*+")?+|property="[^"<>&]*+")"""
_SHARED = rf"""\s*+(?:<!(?i:doctype)\ html>\s*+)?<html(?:{_ATTRIBUTE})*+\s*+>\s*+<head>\s*+
    (?:(?:<title>[^<>]*+</title>|<(?:meta|link)(?:{_ATTRIBUTE})*+\s*+/?>
    |<(script|style)(?:{_ATTRIBUTE})*+\s*+>[^<]*+</\1>)\s*+)*?
    <meta\ property="(?P<name>%s)"\ content="(?P<content>[^"<>&\0]*+)"\s*+/?>"""

#: More tags left open than any page has. Lexbor's time grows with the square of the depth.
_MOST_OPEN = 10_000
_SHORTEST_TAG = len(b"<b>")


class Page(LexborHTMLParser):
    """A page, as text or in UTF-8; ValueError for one that is nested beyond all measure."""

    def __init__(self, html: str | bytes) -> None:
        body = html.encode(errors="ignore") if isinstance(html, str) else html
        if len(body) > _MOST_OPEN * _SHORTEST_TAG and _left_open(body) > _MOST_OPEN:
            raise ValueError("the page opens more tags than it closes, by thousands")
        super().__init__(body)


def _left_open(body: bytes) -> int:
    return body.count(b"<") - 2 * body.count(b"</") - body.count(b"/>") - body.count(b"<!")


def text(node: LexborHTMLParser | LexborNode, selector: str) -> str | None:
    """The text of the first match, as one line."""
    found = node.css_first(selector)
    return line(_text(found)) if found else None


def texts(node: LexborHTMLParser | LexborNode, selector: str) -> str | None:
    """The texts of all matches, a paragraph each."""
    return paragraphs("\n".join(_text(found) for found in node.css(selector)))


def _text(node: LexborNode) -> str:
    """Its text; a line break in the page is one here, and joins no two words."""
    only = node.first_child
    if only is None or (only.tag == "-text" and only.next is None) or node.css_first("br") is None:
        return node.text()
    parts = (each for each in node.traverse(include_text=True) if each.tag in ("br", "-text"))
    return "".join("\n" if each.tag == "br" else each.text() for each in parts)


def attribute(node: LexborHTMLParser | LexborNode, selector: str, name: str) -> str | None:
    found = node.css_first(selector)
    return line(found.attributes.get(name)) if found else None


def meta(document: str, name: str) -> str | None:
    """What a page tells those who share it under one name, such as "og:title"."""
    at = document.find(name)
    if at < 0:
        return None
    head = document.find("</head>")
    if head > 0 and document.count("<", 0, head) <= _MOST_OPEN:
        found = _shared(name).match(document, 0, head)
        if found and found.start("name") == at:  # the first of this name, and no tree is needed
            return line(found["content"])
    return attribute(Page(document[:head] if head > 0 else document), f'meta[property="{name}"]', "content")


@lru_cache(maxsize=64)
def _shared(name: str) -> re.Pattern[str]:
    return re.compile(_SHARED % re.escape(name), re.VERBOSE)


def attributes(node: LexborHTMLParser | LexborNode, selector: str, name: str) -> list[str]:
    return [value for found in node.css(selector) if (value := line(found.attributes.get(name)))]


def attribute_json(node: LexborHTMLParser | LexborNode, selector: str, name: str) -> Any:
    """JSON in an attribute: `<iw-search :results='[…]'>`; its escapes are the page's and already read."""
    found = node.css_first(selector)
    return decoded(found.attributes.get(name)) if found else None


def rows(node: LexborHTMLParser | LexborNode, row: str, label: str, value: str | None = None) -> Rows:
    """Rows such as `tr` with `th` and `td`; without a selector for the value it is what the label leaves of the row."""
    told = Rows()
    for each in node.css(row):
        named = each.css_first(label)
        if named is None:
            continue
        name = named.text()
        if value is None:
            told.put(name, line(each.text().replace(name, "", 1)))
        elif valued := each.css_first(value):
            told.put(name, line(_text(valued)))
    return told


def definitions(node: LexborHTMLParser | LexborNode, selector: str = "dl") -> Rows:
    """Each `dt` of a list with the `dd` after it."""
    told = Rows()
    label = None
    for each in node.css(", ".join(f"{one} :is(dt, dd)" for one in selector.split(","))):
        if each.tag == "dt":
            label = each.text()
        elif label is not None:
            told.put(label, line(_text(each)))
            label = None
    return told


def opengraph(page: LexborHTMLParser) -> dict[str, str]:
    """What a page tells those who share it: "og:title", "og:url", "product:price:amount"; the first of each."""
    told: dict[str, str] = {}
    for found in page.css("meta[property], meta[name]"):
        name = found.attributes.get("property") or found.attributes.get("name") or ""
        content = line(found.attributes.get("content"))
        if content and name.startswith(("og:", "product:", "place:")):
            told.setdefault(name, content)
    return told

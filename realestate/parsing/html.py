"""Reads HTML with selectolax: its parser, lexbor, is eight times faster than lxml."""

import re
from functools import lru_cache
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from realestate.parsing.embedded import decoded
from realestate.parsing.rows import Rows
from realestate.parsing.text import line, paragraphs

Element = LexborNode

#: The head of an ordinary page, tag by tag, up to an Open Graph tag. Attributes are in double quotes or have no value,
#: so that no text in them is taken for a tag.
_ATTRIBUTE = r"""\s++(?:(?!(?i:property))[\w:.-]++(?:="[^"<>]*+")?+|property="[^"<>&]*+")"""
_HEAD_UP_TO_META = rf"""\s*+(?:<!(?i:doctype)\ html>\s*+)?<html(?:{_ATTRIBUTE})*+\s*+>\s*+<head>\s*+
    (?:(?:<title>[^<>]*+</title>|<(?:meta|link)(?:{_ATTRIBUTE})*+\s*+/?>
    |<(script|style)(?:{_ATTRIBUTE})*+\s*+>[^<]*+</\1>)\s*+)*?
    <meta\ property="(?P<name>%s)"\ content="(?P<content>[^"<>&\0]*+)"\s*+/?>"""

#: A page with more unclosed tags is refused: lexbor's time grows with the square of the depth.
_MAX_UNCLOSED = 10_000
_SHORTEST_TAG = len(b"<b>")


class Page(LexborHTMLParser):
    """A parsed page, from text or UTF-8 bytes. Raises ValueError for a page with too many unclosed tags."""

    def __init__(self, html: str | bytes) -> None:
        body = html.encode(errors="ignore") if isinstance(html, str) else html
        if len(body) > _MAX_UNCLOSED * _SHORTEST_TAG and _unclosed_tags(body) > _MAX_UNCLOSED:
            raise ValueError(f"the page has more than {_MAX_UNCLOSED} unclosed tags")
        super().__init__(body)


def _unclosed_tags(body: bytes) -> int:
    return body.count(b"<") - 2 * body.count(b"</") - body.count(b"/>") - body.count(b"<!")


def text(node: LexborHTMLParser | LexborNode, selector: str) -> str | None:
    """Return the text of the first match as one line."""
    found = node.css_first(selector)
    return line(_text(found)) if found else None


def texts(node: LexborHTMLParser | LexborNode, selector: str) -> str | None:
    """Return the texts of all matches, one paragraph each."""
    return paragraphs("\n".join(_text(found) for found in node.css(selector)))


def _text(node: LexborNode) -> str:
    """Return the text of an element. A `<br>` becomes a line break, so it does not join two words."""
    only = node.first_child
    if only is None or (only.tag == "-text" and only.next is None) or node.css_first("br") is None:
        return node.text()
    parts = (each for each in node.traverse(include_text=True) if each.tag in ("br", "-text"))
    return "".join("\n" if each.tag == "br" else each.text() for each in parts)


def attribute(node: LexborHTMLParser | LexborNode, selector: str, name: str) -> str | None:
    found = node.css_first(selector)
    return line(found.attributes.get(name)) if found else None


def meta(document: str, name: str) -> str | None:
    """Return the content of the `<meta property="…">` of this name, such as "og:title"."""
    at = document.find(name)
    if at < 0:
        return None
    head = document.find("</head>")
    if head > 0 and document.count("<", 0, head) <= _MAX_UNCLOSED:
        found = _head_up_to_meta(name).match(document, 0, head)
        if found and found.start("name") == at:  # it is the first of this name: no parsing needed
            return line(found["content"])
    return attribute(Page(document[:head] if head > 0 else document), f'meta[property="{name}"]', "content")


@lru_cache(maxsize=64)
def _head_up_to_meta(name: str) -> re.Pattern[str]:
    return re.compile(_HEAD_UP_TO_META % re.escape(name), re.VERBOSE)


def attributes(node: LexborHTMLParser | LexborNode, selector: str, name: str) -> list[str]:
    return [value for found in node.css(selector) if (value := line(found.attributes.get(name)))]


def attribute_json(node: LexborHTMLParser | LexborNode, selector: str, name: str) -> Any:
    """Return the JSON in an attribute: `<iw-search :results='[…]'>`."""
    found = node.css_first(selector)
    return decoded(found.attributes.get(name)) if found else None


def rows(node: LexborHTMLParser | LexborNode, row: str, label: str, value: str | None = None) -> Rows:
    """Return rows such as `tr` with `th` and `td`. Without `value`, a value is the row without its label."""
    found = Rows()
    for each in node.css(row):
        named = each.css_first(label)
        if named is None:
            continue
        name = named.text()
        if value is None:
            found.put(name, line(each.text().replace(name, "", 1)))
        elif valued := each.css_first(value):
            found.put(name, line(_text(valued)))
    return found


def definitions(node: LexborHTMLParser | LexborNode, selector: str = "dl") -> Rows:
    """Return each `dt` of a list with the `dd` after it."""
    found = Rows()
    label = None
    for each in node.css(", ".join(f"{one} :is(dt, dd)" for one in selector.split(","))):
        if each.tag == "dt":
            label = each.text()
        elif label is not None:
            found.put(label, line(_text(each)))
            label = None
    return found


def opengraph(page: LexborHTMLParser) -> dict[str, str]:
    """Return the Open Graph tags of a page: "og:title", "og:url", "product:price:amount". The first of each counts."""
    tags: dict[str, str] = {}
    for tag in page.css("meta[property], meta[name]"):
        name = tag.attributes.get("property") or tag.attributes.get("name") or ""
        content = line(tag.attributes.get("content"))
        if content and name.startswith(("og:", "product:", "place:")):
            tags.setdefault(name, content)
    return tags

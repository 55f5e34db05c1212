"""Reads HTML with selectolax: its parser, lexbor, is eight times faster than lxml."""

import re
from functools import lru_cache
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from realestate.parsing import markup_limits
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

#: A head with more tags is left to the parser.
_MOST_TAGS_IN_HEAD = 10_000
#: One call reads at most this much text. Elements inside each other contain the same text again and again.
_MOST_TEXT = 2_000_000


class Page(LexborHTMLParser):
    """A parsed page, from text or UTF-8 bytes. Raises ValueError for a page that `markup_limits` refuses."""

    def __init__(self, html: str | bytes) -> None:
        body = html.encode(errors="ignore") if isinstance(html, str) else html
        markup_limits.check(body)
        super().__init__(body)


def text(node: LexborHTMLParser | LexborNode, selector: str) -> str | None:
    """Return the text of the first match as one line."""
    found = node.css_first(selector)
    return line(_text(found)) if found else None


def texts(node: LexborHTMLParser | LexborNode, selector: str) -> str | None:
    """Return the texts of all matches, one paragraph each."""
    return paragraphs("\n".join(each_text(node, selector)))


def each_text(node: LexborHTMLParser | LexborNode, selector: str) -> list[str]:
    """Return the text of each match as it is written. Matches after two million characters are left out."""
    found: list[str] = []
    length = 0
    for each in node.css(selector):
        found.append(_text(each))
        length += len(found[-1])
        if length > _MOST_TEXT:
            break
    return found


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
    if head > 0 and document.count("<", 0, head) <= _MOST_TAGS_IN_HEAD:
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
    length = 0
    for each in node.css(row):
        named = each.css_first(label)
        if named is None:
            continue
        name = named.text()
        valued = each if value is None else each.css_first(value)
        if valued is not None:
            text = each.text().replace(name, "", 1) if value is None else _text(valued)
            found.put(name, line(text))
            length += len(text)
        length += len(name)
        if length > _MOST_TEXT:
            break
    return found


def definitions(node: LexborHTMLParser | LexborNode, selector: str = "dl") -> Rows:
    """Return each `dt` of a list with the `dd` after it."""
    found = Rows()
    label = None
    length = 0
    for each in node.css(", ".join(f"{one} :is(dt, dd)" for one in selector.split(","))):
        text = each.text() if each.tag == "dt" else _text(each)
        if each.tag == "dt":
            label = text
        elif label is not None:
            found.put(label, line(text))
            label = None
        length += len(text)
        if length > _MOST_TEXT:
            break
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

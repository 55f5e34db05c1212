"""A page without persons, so that it can be kept among the tests: its shape stays, who advertises goes.

What names a person by its key or class is emptied, contacts are taken out of every text. A name in the middle of a text
is found by nobody but the person who looks the page through before it is committed.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from realestate.parsing import html
from realestate.parsing.embedded import decoded
from realestate.privacy import MARK, key_meaning, scrub

#: Seen by nobody and large.
_NEEDLESS = ("style", "svg", "noscript", "iframe")
#: Where a value of JSON may begin in a script, or a text that holds one.
_BEGIN = re.compile(r'(?:^|[=(,:])\s*(?=[\[{])|JSON\.parse\(\s*(?=")')
_ADDRESS = re.compile(r"(?:https?:/)?/\S*")
_REACHES = re.compile(r"(?:tel|mailto|sms|whatsapp|viber|tg|skype):|//(?:wa\.me|t\.me|api\.whatsapp)", re.IGNORECASE)
#: Attributes that a page shows or sends; the others are for machines.
_ATTRIBUTES = ("href", "title", "alt", "content", "value", "placeholder", "aria-label")
#: "sellerType" says of what kind a person is, not who.
_KIND = re.compile(r"(?:type|kind|status|id)$", re.IGNORECASE)
_DECODER = json.JSONDecoder()


def page(body: str, country: str) -> str:
    """A page or a JSON document, scrubbed."""
    if body.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
        told = decoded(body)
        return body if told is None else _written(value(told, country))
    tree = html.Page(body)
    for needless in tree.css(", ".join(_NEEDLESS)):
        needless.decompose()
    for node in tree.css("*"):
        _scrub_element(node, country)
    return tree.html or ""


def value(told: Any, country: str, of_person: bool = False) -> Any:
    """A value of JSON. Keys stay, so that the document keeps its shape."""
    if isinstance(told, dict):
        return {key: _under(str(key), each, country, of_person) for key, each in told.items()}
    if isinstance(told, list):
        return [value(each, country, of_person) for each in told]
    if isinstance(told, str):
        return _nested(told, country) or text(told, country)
    return told


def text(told: str, country: str) -> str:
    """An address of a page or a picture stays: its digits are nobody's telephone."""
    if _REACHES.search(told):
        return ""
    return told if _ADDRESS.fullmatch(told.strip()) else scrub(told, country)


def _under(key: str, told: Any, country: str, of_person: bool) -> Any:
    tells = key_meaning(key, of_person)
    if isinstance(told, bool) or told is None or (tells == "person" and _KIND.search(key)):
        return told
    if tells == "contact" or tells == "name" or (tells == "person" and isinstance(told, str)):
        return [] if isinstance(told, list) else None
    return value(told, country, of_person or tells == "person")


def _nested(told: str, country: str) -> str | None:
    """JSON in a text of JSON."""
    inner = decoded(told) if told[:1] in ("{", "[") else None
    return _written(value(inner, country)) if isinstance(inner, dict | list) else None


def _scrub_element(node: html.Element, country: str) -> None:
    if node.tag == "script":
        _replace_text(node, lambda told: _script(told, country))
        return
    names = f"{node.attributes.get('class') or ''} {node.attributes.get('itemprop') or ''}"
    is_persons = any(key_meaning(name) for name in names.split())
    for name in _ATTRIBUTES:
        if told := node.attributes.get(name):
            node.attrs[name] = text(told, country)
    _replace_text(node, lambda told: MARK if is_persons and told.strip() else scrub(told, country))


def _replace_text(node: html.Element, scrub: Callable[[str], str]) -> None:
    """Of the element's own texts, not of those inside other elements."""
    child = node.first_child
    while child is not None:
        following = child.next
        if child.is_text_node and (told := child.text_content or "") and (scrubbed := scrub(told)) != told:
            child.replace_with(scrubbed)
        child = following


def _script(told: str, country: str) -> str:
    """Its JSON scrubbed; the rest stays."""
    parts, after = [], 0
    while found := _BEGIN.search(told, after):
        parts.append(told[after : found.end()])
        after = found.end()
        try:
            inner, end = _DECODER.raw_decode(told, after)
        except ValueError:
            continue
        parts.append(_written(value(inner, country)).replace("</", "<\\/"))
        after = end
    return "".join([*parts, told[after:]])


def _written(told: Any) -> str:
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))

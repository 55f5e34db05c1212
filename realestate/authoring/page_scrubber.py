"""Removes personal data from a page, so that it can be stored among the tests. The structure of the page stays.

Values whose key or class names a person are emptied, and contacts are removed from every text. A name inside a text is
not found: a person has to read the page before it is committed.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from realestate.parsing import html
from realestate.parsing.embedded import decoded
from realestate.privacy import MARK, key_meaning, scrub

#: Elements without text. They are large and not needed.
_NEEDLESS = ("style", "svg", "noscript", "iframe")
#: Where a JSON value may begin in a script.
_BEGIN = re.compile(r'(?:^|[=(,:])\s*(?=[\[{])|JSON\.parse\(\s*(?=")')
_ADDRESS = re.compile(r"(?:https?:/)?/\S*")
_REACHES = re.compile(r"(?:tel|mailto|sms|whatsapp|viber|tg|skype):|//(?:wa\.me|t\.me|api\.whatsapp)", re.IGNORECASE)
#: Attributes that may contain personal data.
_ATTRIBUTES = ("href", "title", "alt", "content", "value", "placeholder", "aria-label")
#: A key such as "sellerType" is about the kind of seller, not about a person.
_KIND = re.compile(r"(?:type|kind|status|id)$", re.IGNORECASE)
_DECODER = json.JSONDecoder()


def scrub_page(body: str, country: str) -> str:
    """A page or a JSON document without personal data."""
    if body.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
        document = decoded(body)
        return body if document is None else _as_json(scrub_value(document, country))
    tree = html.Page(body)
    for needless in tree.css(", ".join(_NEEDLESS)):
        needless.decompose()
    for node in tree.css("*"):
        _scrub_element(node, country)
    return tree.html or ""


def scrub_value(value: Any, country: str, of_person: bool = False) -> Any:
    """A JSON value without personal data. Keys stay, so that the document keeps its structure."""
    if isinstance(value, dict):
        return {key: _scrub_member(str(key), each, country, of_person) for key, each in value.items()}
    if isinstance(value, list):
        return [scrub_value(each, country, of_person) for each in value]
    if isinstance(value, str):
        return _scrub_nested(value, country) or scrub_text(value, country)
    return value


def scrub_text(text: str, country: str) -> str:
    """A text without contacts. The URL of a page or a photo stays: its digits are not a telephone."""
    if _REACHES.search(text):
        return ""
    return text if _ADDRESS.fullmatch(text.strip()) else scrub(text, country)


def _scrub_member(key: str, value: Any, country: str, of_person: bool) -> Any:
    """The value under a key, which may name a person or a contact."""
    meaning = key_meaning(key, of_person)
    if isinstance(value, bool) or value is None or (meaning == "person" and _KIND.search(key)):
        return value
    if meaning in ("contact", "name") or (meaning == "person" and isinstance(value, str)):
        return [] if isinstance(value, list) else None
    return scrub_value(value, country, of_person or meaning == "person")


def _scrub_nested(text: str, country: str) -> str | None:
    """A text that is itself JSON; None if it is not."""
    inner = decoded(text) if text[:1] in ("{", "[") else None
    return _as_json(scrub_value(inner, country)) if isinstance(inner, dict | list) else None


def _scrub_element(node: html.Element, country: str) -> None:
    if node.tag == "script":
        _replace_text(node, lambda text: _scrub_script(text, country))
        return
    names = f"{node.attributes.get('class') or ''} {node.attributes.get('itemprop') or ''}"
    is_about_person = any(key_meaning(name) for name in names.split())
    for name in _ATTRIBUTES:
        value = node.attributes.get(name)
        if value:
            node.attrs[name] = scrub_text(value, country)
    _replace_text(node, lambda text: MARK if is_about_person and text.strip() else scrub(text, country))


def _replace_text(node: html.Element, replace: Callable[[str], str]) -> None:
    """Replace the element's own texts, not those inside other elements."""
    child = node.first_child
    while child is not None:
        following = child.next
        text = child.text_content or ""
        if child.is_text_node and text and (replaced := replace(text)) != text:
            child.replace_with(replaced)
        child = following


def _scrub_script(script: str, country: str) -> str:
    """A script whose JSON values have no personal data. The rest stays."""
    parts = []
    after = 0
    while found := _BEGIN.search(script, after):
        parts.append(script[after : found.end()])
        after = found.end()
        try:
            inner, end = _DECODER.raw_decode(script, after)
        except ValueError:
            continue
        parts.append(_as_json(scrub_value(inner, country)).replace("</", "<\\/"))
        after = end
    return "".join([*parts, script[after:]])


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

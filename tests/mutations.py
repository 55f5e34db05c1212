"""Change recorded pages as portals change them: a node is gone, a class or a key has another name, a field is empty,
the page ends too early.

No value is cut in two: a parser cannot know that "245 00" was longer. So a page is cut before a tag. JSON is cut
anywhere, because half a document is invalid.
"""

import json
import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

from realestate.parsing import html
from realestate.parsing.embedded import decoded

Json = Any
Path = tuple[Any, ...]


class Variant(NamedTuple):
    what: str
    """What was done to the page. It is shown when a test fails."""
    body: bytes


def variants(body: bytes, count: int, random: Random) -> Iterator[Variant]:
    """Yield this many variants of a page or a JSON document. The same seed gives the same variants."""
    text = body.decode("utf-8")
    ways = _ways_with_json(text) if text.lstrip()[:1] in ("{", "[") else _ways_with_page(text)
    for number in range(count):
        what, spoil = ways[number % len(ways)]
        where, spoilt = spoil(random)
        yield Variant(f"{what}: {where}", spoilt.encode("utf-8"))


# ----- a page

Spoil = Callable[[Random], tuple[str, str]]


def _ways_with_page(text: str) -> list[tuple[str, Spoil]]:
    ways: list[tuple[str, Spoil]] = [
        ("drop a node", lambda random: _drop_node(text, random)),
        ("change a class", lambda random: _change_class(text, random)),
        ("empty a field", lambda random: _empty_field(text, random)),
        ("truncate", lambda random: _truncate(text, random)),
    ]
    if _json_parts(text):
        ways += [(what, _in_script(text, spoil)) for what, spoil in _JSON_WAYS]
    return ways


def _nodes(page: html.Page) -> list[html.Element]:
    """The visible elements and the scripts. If there are none, all elements except the page itself."""
    nodes = page.css("body *, head *")
    return [node for node in nodes if node.tag not in ("meta", "title", "link")] or nodes


def _drop_node(text: str, random: Random) -> tuple[str, str]:
    page = html.Page(text)
    node = random.choice(_nodes(page))
    described = _named(node)
    node.decompose()
    return described, page.html or ""


def _change_class(text: str, random: Random) -> tuple[str, str]:
    """Change the class of one element, or of all elements with this class, as a new layout does."""
    page = html.Page(text)
    marked = [node for node in page.css("*") if node.attributes.get("class") or node.attributes.get("id")]
    if not marked:
        return "nothing has one", text
    node = random.choice(marked)
    name = "class" if node.attributes.get("class") else "id"
    value = node.attributes[name]
    for each in page.css("*") if random.random() < 0.5 else [node]:
        if each.attributes.get(name) == value:
            each.attrs[name] = "css-1x2y3z"
    return f"{name}={value}", page.html or ""


def _empty_field(text: str, random: Random) -> tuple[str, str]:
    """Empty the texts of an element, or one of its attributes."""
    page = html.Page(text)
    node = random.choice([node for node in _nodes(page) if node.tag not in ("script", "html", "body")] or _nodes(page))
    described = _named(node)
    names = [name for name in node.attributes if name not in ("class", "id", "type")]
    if names and random.random() < 0.5:
        name = random.choice(names)
        node.attrs[name] = ""
        return f"{name} of {described}", page.html or ""
    for child in list(node.iter(include_text=True)):
        if child.is_text_node:
            child.replace_with("")
    return described, page.html or ""


def _truncate(text: str, random: Random) -> tuple[str, str]:
    """Cut the page before a tag, or anywhere in a script."""
    ends = [found.start() for found in re.finditer("<", text)][1:] or [0]
    inside = [(found.start(1), found.end(1)) for found in re.finditer(r"<script[^>]*>(.+?)</script", text, re.DOTALL)]
    if inside and random.random() < 0.5:
        start, stop = random.choice(inside)
        end = random.randrange(start, stop)
    else:
        end = random.choice(ends)
    return f"at {end}", text[:end]


def _named(node: html.Element) -> str:
    return f"<{node.tag} class={node.attributes.get('class')!r}> {(node.text() or '')[:40]!r}"


# ----- JSON, alone or in a page's script


def _ways_with_json(text: str) -> list[tuple[str, Spoil]]:
    def cut(random: Random) -> tuple[str, str]:
        end = random.randrange(len(text))
        return f"at {end}", text[:end]

    def through(spoil: Callable[[Json, Random], str]) -> Spoil:
        def spoilt(random: Random) -> tuple[str, str]:
            document = json.loads(text)
            return spoil(document, random), json.dumps(document, ensure_ascii=False)

        return spoilt

    return [("truncate", cut), *((what, through(spoil)) for what, spoil in _JSON_WAYS)]


def _json_parts(text: str) -> list[tuple[int, int]]:
    """The start and the end of each JSON document in a page's scripts."""
    found = []
    for script in re.finditer(r"<script[^>]*>(.*?)</script", text, re.DOTALL):
        for begin in re.finditer(r"(?:^|=)\s*(?=[\[{])", script[1]):
            try:
                value, end = json.JSONDecoder(strict=False).raw_decode(script[1], begin.end())
            except ValueError:
                continue
            if value:
                found.append((script.start(1) + begin.end(), script.start(1) + end))
    return found


def _in_script(text: str, spoil: Callable[[Json, Random], str]) -> Spoil:
    def spoilt(random: Random) -> tuple[str, str]:
        start, end = random.choice(_json_parts(text))
        document = decoded(text[start:end])
        path = spoil(document, random)
        return path, text[:start] + json.dumps(document, ensure_ascii=False).replace("</", "<\\/") + text[end:]

    return spoilt


def _paths(document: Json, above: Path = ()) -> Iterator[Path]:
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        yield (*above, key)
        if isinstance(value, dict | list):
            yield from _paths(value, (*above, key))


def _chosen(document: Json, random: Random) -> tuple[Json, Any, str]:
    """A random value: the object that contains it, its key there, and its path as text."""
    path = random.choice(list(_paths(document)))
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    return holder, path[-1], ".".join(map(str, path))


def _drop_key(document: Json, random: Random) -> str:
    holder, key, path = _chosen(document, random)
    del holder[key]
    return path


def _rename_key(document: Json, random: Random) -> str:
    holder, key, path = _chosen(document, random)
    if isinstance(holder, dict):
        holder[f"{key}V2"] = holder.pop(key)
    return path


def _empty_value(document: Json, random: Random) -> str:
    holder, key, path = _chosen(document, random)
    holder[key] = random.choice([None, "", [], {}])
    return f"{path} = {holder[key]!r}"


_JSON_WAYS: tuple[tuple[str, Callable[[Json, Random], str]], ...] = (
    ("drop a key", _drop_key),
    ("rename a key", _rename_key),
    ("empty a value", _empty_value),
)

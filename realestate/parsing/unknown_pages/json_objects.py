"""Finds a listing in the JSON documents inside a page: Next, Nuxt and Apollo data, `window.X = {…}`, JSON in strings.

The listing is the object that has the page's id and the usual keys of a listing; without an id, the only object that
looks like a listing. Objects in a list of such objects are other homes.
"""

import re
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from realestate.parsing import devalue, embedded
from realestate.parsing.unknown_pages import json_keys, reference
from realestate.parsing.unknown_pages.document import Document

_NEXT_CHUNK = re.compile(r'self\.__next_f\.push\(\[1,\s*(?=")')
_NEXT_ROW = re.compile(rb"\n?[0-9a-f]{1,6}:(?:T(?P<length>[0-9a-f]{1,8}),)?")
_ASSIGNED = re.compile(r"(?:[\w$\]\"']\s?=\s?|(?:push|parse|Object\.assign)\(\s?)(?=[{\[]|JSON\.parse\()")
#: Limits: of scripts and objects. Each value is decoded once, so all of it is linear in the page's size.
_MOST_ASSIGNMENTS = 30
_SHORTEST_SCRIPT = 150
_SHORTEST_TEXT = 300
_MOST_TEXTS = 30
_MOST_OBJECTS = 60_000
_MOST_DEPTH = 40
#: An object with fewer known fields is not a listing.
_MIN_SCORE = 3
_MIN_SCORE_WITHOUT_ID = 5
#: This many objects with the page's id are read; the one with the most fields counts.
_MOST_OWN = 8
_KEY = re.compile(r"[^0-9a-z]+")


class Candidate(NamedTuple):
    """An object that looks like a listing."""

    node: dict[str, Any]
    score: int
    has_id: bool
    is_in_list: bool


def key(name: str) -> str:
    """Return a key for comparison: "livingArea", "living_area" and "Living Area" are "livingarea"."""
    return _KEY.sub("", name.lower())


def documents(page: Document) -> Iterator[tuple[str, Any]]:
    """Yield the JSON documents of a page, each with the name of its source."""
    assignments = 0
    chunks: list[str] = []
    for kind, script in page.scripts:
        if "json" in kind:
            value = embedded.decoded(script.strip())
            is_next = isinstance(value, dict) and "props" in value
            yield ("next" if is_next else "embedded"), (devalue.unpacked(value) if _is_devalue(value) else value)
        elif "self.__next_f" in script:
            chunks += _next_chunks(script)
        elif len(script) >= _SHORTEST_SCRIPT:
            for found in _ASSIGNED.finditer(script):
                assignments += 1
                if assignments > _MOST_ASSIGNMENTS:
                    break
                yield "embedded", embedded.value_at(script, found.end())
    for row in _next_rows("".join(chunks).encode(errors="ignore")):
        yield "next", embedded.decoded(row)


def _next_rows(stream: bytes) -> Iterator[bytes]:
    """Yield the rows of a Next stream that are JSON: "1a:{…}" up to the end of the line. Text rows say their length."""
    at = 0
    while found := _NEXT_ROW.search(stream, at):
        if found["length"]:
            at = found.end() + int(found["length"], 16)
            continue
        end = stream.find(b"\n", found.end())
        end = len(stream) if end < 0 else end
        if stream[found.end() : found.end() + 1] in (b"[", b"{"):
            yield stream[found.end() : end]
        at = end


class Data(NamedTuple):
    """The JSON documents of a page, and the objects in them that look like listings."""

    values: list[tuple[str, Any]]
    candidates: list[tuple[str, Candidate]]

    def own(self) -> list[tuple[str, dict[str, Any]]]:
        """The objects that may be the page's listing, with their source. [] if it is unclear which one it is."""
        own = [(source, each) for source, each in self.candidates if each.has_id and not each.is_in_list]
        if own:
            best = sorted(own, key=lambda each: -each[1].score)[:_MOST_OWN]
            return [(source, each.node) for source, each in best]
        usual = [(source, each) for source, each in self.candidates if each.score >= _MIN_SCORE]
        alone = [
            (source, each) for source, each in usual if not each.is_in_list and each.score >= _MIN_SCORE_WITHOUT_ID
        ]
        if len({_price_of(each.node) for _, each in alone}) != 1 or any(each.is_in_list for _, each in usual):
            return []
        best_alone = max(alone, key=lambda each: each[1].score)
        return [(best_alone[0], best_alone[1].node)]

    def is_list_of_homes(self) -> bool:
        """Whether there is a list of objects that look like listings, and no object with the page's id."""
        in_list = sum(each.is_in_list and each.score >= _MIN_SCORE for _, each in self.candidates)
        return in_list >= 3 and not any(each.has_id for _, each in self.candidates)


def read(page: Document) -> Data:
    """Return the JSON documents of a page."""
    values = list(documents(page))
    ids = _ids(page)
    return Data(values, [(source, each) for source, value in values for each in _candidates(value, ids)])


def every_object(data: Data) -> Iterator[dict[str, Any]]:
    """Yield all objects of all documents that are not about somebody else, nor one of a list of homes."""
    for _, value in data.values:
        yield from (node for node, is_in_list in _walk(value) if isinstance(node, dict) and not is_in_list)


def _is_devalue(value: Any) -> bool:
    """Nuxt 3 writes a list whose first entry holds indices."""
    return (
        isinstance(value, list)
        and len(value) > 2
        and isinstance(value[0], list | dict)
        and "state" in str(value[0])[:200]
    )


def _next_chunks(script: str) -> Iterator[str]:
    for found in _NEXT_CHUNK.finditer(script):
        text = embedded.value_at(script, found.end())
        if isinstance(text, str):
            yield text


def _ids(page: Document) -> set[str]:
    """The page's id in its address, and the parts of it."""
    own = [reference.of(each).partition(":")[2] for each in page.addresses if reference.has_id(each)]
    short = [reference.short_number(each) for each in page.addresses]
    groups = [
        group
        for each in own
        for group in re.findall(r"[^\W_]+", each)
        if len(group) >= 4 and re.search(r"\d{3}", group)
    ]
    return {each.lower() for each in (*own, *groups, *short) if each}


def _candidates(document: Any, ids: set[str]) -> Iterator[Candidate]:
    """Yield the objects that look like listings, or have the page's id; those near the top first."""
    for node, is_in_list in _walk(document):
        if isinstance(node, dict):
            score = _score(node)
            has_id = _has_id(node, ids)
            if score >= _MIN_SCORE or (has_id and len(node) > 1):
                yield Candidate(node, score, has_id, is_in_list)


def _walk(document: Any) -> Iterator[tuple[Any, bool]]:
    """Yield all objects, and whether each is in a list of homes. A text that contains JSON is decoded."""
    waiting: deque[tuple[Any, bool, int]] = deque([(document, False, 0)])
    seen = texts = 0
    while waiting and seen < _MOST_OBJECTS:
        each, is_in_list, depth = waiting.popleft()
        seen += 1
        if depth > _MOST_DEPTH:
            continue
        if isinstance(each, str):
            texts += 1
            if texts <= _MOST_TEXTS:
                waiting.append((embedded.decoded(each), is_in_list, depth + 1))
        elif isinstance(each, dict):
            yield each, is_in_list
            inner = (value for name, value in each.items() if _is_searched(value) and not _is_other(name))
            waiting += [(value, is_in_list, depth + 1) for value in inner]
        elif isinstance(each, list):
            homes = sum(_score(entry) >= _MIN_SCORE for entry in each[:10] if isinstance(entry, dict))
            waiting += [(value, is_in_list or homes > 1, depth + 1) for value in each if _is_searched(value)]


def _is_searched(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) >= _SHORTEST_TEXT and value[:1] in "{[" and '":' in value[:500]
    return isinstance(value, dict | list) and bool(value)


def _is_other(name: str) -> bool:
    lower = name.lower()
    return any(other in lower for other in json_keys.OTHER_SUBJECTS)


def _score(node: dict[str, Any]) -> int:
    """How many fields of a listing an object has."""
    fields = set()
    for name, value in node.items():
        if value in (None, "", [], {}) or isinstance(value, bool):
            continue
        short = key(name) if len(name) <= 40 else ""
        field = json_keys.FIELD_OF_KEY.get(short)
        if field and (not isinstance(value, list) or field in ("features",)):
            fields.add(field)
        elif short in json_keys.PRICES:
            fields.add("price")
        elif short in (
            "location",
            "address",
            "coordinates",
            "geo",
            "images",
            "photos",
            "media",
            "pictures",
            "latitude",
        ):
            fields.add(short)
    return len(fields)


def _has_id(node: dict[str, Any], ids: set[str]) -> bool:
    for name, value in node.items():
        if isinstance(value, str | int) and not isinstance(value, bool) and key(name) in json_keys.IDS:
            text = str(value).lower()
            if text in ids or (len(text) < 300 and any(len(each) >= 5 and each in text for each in ids)):
                return True
    return False


def _price_of(node: dict[str, Any]) -> str:
    return repr(next((value for name, value in node.items() if key(name) in json_keys.PRICES), None))

"""JSON inside pages, wherever it sits. What is missing, cut off or no JSON is None: a page is never half read."""

import json
import re
from contextlib import suppress
from functools import lru_cache
from math import isfinite
from typing import Any

import jmespath
import msgspec


def _no_number(constant: str) -> float:
    raise ValueError(f"{constant} is no number in JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if isfinite(number) else _no_number(digits)


#: Python would take NaN, Infinity and 1e999, which no field can hold. Raw line breaks in texts do harm to nobody.
_DECODER = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite, strict=False)
#: A document nested deeper than Python's stack is as broken as one that is cut off.
_BROKEN = (ValueError, RecursionError)
#: Texts, whose words stay, or a word of JavaScript where JSON wants null.
_UNDEFINED = re.compile(r'"(?:[^"\\]++|\\.)*+"|\b(undefined|void 0)\b', re.DOTALL)
_TEXT = re.compile(r'"(?:[^"\\]++|\\.)*+"' + r"|'(?:[^'\\]++|\\.)*+'", re.DOTALL)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}|\r\n|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_PARSE_CALL = re.compile(r"JSON\.parse\(\s*")
#: What an object or a list is assigned by, and what surely is no part of a longer name before its own.
_ASSIGNED = re.compile(rb"\s*+=\s*+(?=[{\[])")
_NO_NAME = (b"", b" ", b"\t", b"\n", b"\r", b";", b">", b"}")
#: The first may be an empty default ("window.x = window.x || {}"); a page with more is up to something.
_MOST_ASSIGNMENTS = 5


def decoded(text: object) -> Any:
    """A whole text as JSON; what is no text stays as it is, so that a value that is JSON in JSON needs no question."""
    if not isinstance(text, (str, bytes)):
        return text
    try:
        return msgspec.json.decode(text)
    except (*_BROKEN, UnicodeError):
        return _leniently(text.decode("utf-8-sig", "replace") if isinstance(text, bytes) else text)


def assigned(html: str, name: str) -> Any:
    """The value of `window.X = {…}`, `window["X"] = …` or `… = JSON.parse("…")`; None where there is none, or half.

    Read by a decoder from its first brace on: texts inside may hold "};" or braces, so no pattern finds its end.
    """
    empty = None
    for attempt, found in enumerate(_assignment(name).finditer(html)):
        before = html[found.start() - 1 : found.start()]
        value = None if before.isalnum() or before in ("_", "$") else _value(html, found.end())
        if value:
            return value
        empty = empty if value is None else value
        if attempt == _MOST_ASSIGNMENTS:
            break
    return empty


def plainly_assigned(page: bytes, name: str) -> Any:
    """As `assigned`, of a page in UTF-8, which is not made a text for it: of most of it nobody reads a word. None if it
    takes more than one look."""
    start = page.find(owned := name.encode())
    found = _ASSIGNED.match(page, start + len(owned))
    if start < 0 or not found or page[max(start - 1, 0) : start] not in _NO_NAME:
        return None
    end = page.find(b";\n", found.end())
    with suppress(*_BROKEN):
        return msgspec.json.decode(memoryview(page)[found.end() : end]) if end >= 0 else None
    return None


def script(html: str, name: str) -> Any:
    """What `<script id="…" type="application/json">` holds."""
    found = re.search(rf"""<script\b[^<>]{{0,500}}?\sid\s?=\s?["']?{re.escape(name)}["'\s>]""", html)
    if not found:
        return None
    start = found.end() if found[0].endswith(">") else html.find(">", found.end()) + 1
    end = html.find("</script", start)
    return decoded(html[start:end].strip()) if start and end >= 0 else None


def next_data(html: str, path: str = "props.pageProps") -> Any:
    """What is at a path of `__NEXT_DATA__`; a text there that is JSON itself is decoded too."""
    return decoded(at(script(html, "__NEXT_DATA__"), path))


def at(document: Any, path: str) -> Any:
    """The value at "property.location.postalCode" or "customers.0.type"; None as soon as a part is missing."""
    for name in _parts(path):
        if isinstance(document, dict):
            document = document.get(name)
        elif isinstance(document, list) and name.isdecimal():
            document = document[int(name)] if int(name) < len(document) else None
        else:
            return None
    return document


@lru_cache(maxsize=4096)
def _parts(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def first_at(document: Any, *paths: str) -> Any:
    """The value at the first of these paths that has one."""
    return next((told for path in paths if (told := at(document, path)) is not None), None)


def listed(value: Any) -> list[Any]:
    """A list as it is; anything else is none."""
    return value if isinstance(value, list) else []


def search(document: Any, expression: str) -> Any:
    """The value of a JMESPath expression ("offers[?price].price | [0]"); for a plain path `at` is faster."""
    try:
        return _expression(expression).search(document)
    except (jmespath.exceptions.JMESPathTypeError, RecursionError):  # a function met what it is not for
        return None


@lru_cache(maxsize=1024)
def _expression(expression: str) -> jmespath.parser.ParsedResult:
    return jmespath.compile(expression)


@lru_cache(maxsize=256)
def _assignment(name: str) -> re.Pattern[str]:
    owner, dot, own = name.rpartition(".")
    quoted = rf"""|\[\s?["']{re.escape(own)}["']\s?\]"""
    written = rf"{re.escape(owner)}(?:\.{re.escape(own)}{quoted})" if dot else re.escape(name)
    return re.compile(rf"{written}\s*+=(?!=)\s*+")  # a literal first: searched for at the speed of memory


def _value(html: str, start: int) -> Any:
    call = _PARSE_CALL.match(html, start)
    if call:
        text = _javascript_text(html, call.end())
        return None if text is None else decoded(text)
    if html[start : start + 1] not in ("{", "["):
        return None
    # Mostly it ends with its line, as no text in JSON holds a line break: then the faster decoder reads it.
    end = html.find(";\n", start)
    if end >= 0:
        with suppress(*_BROKEN):
            return msgspec.json.decode(html[start:end])
    try:
        return _DECODER.raw_decode(html, start)[0]
    except _BROKEN:
        end = html.find("</script", start)
        return _leniently(html[start : end if end >= 0 else len(html)])


def _leniently(text: str) -> Any:
    """From the beginning of a text as far as it is JSON; `undefined` is null."""
    text = text.strip().lstrip("\ufeff")
    if "undefined" in text or "void 0" in text:
        text = _UNDEFINED.sub(lambda found: "null" if found[1] else found[0], text)
    try:
        value, end = _DECODER.raw_decode(text)
    except _BROKEN:
        return None
    return value if isinstance(value, dict | list) or end == len(text) else None


def _javascript_text(html: str, start: int) -> str | None:
    """A text in single or double quotes; it may have escapes that JSON has not: \\x22, \\'."""
    if html[start : start + 1] == '"':
        with suppress(ValueError):  # JSON's decoder is fast, and mostly enough
            return str(_DECODER.raw_decode(html, start)[0])
    found = _TEXT.match(html, start)
    if not found:
        return None
    try:
        text = _ESCAPE.sub(_unescaped, found[0][1:-1])
    except ValueError:  # beyond the last character of Unicode
        return None
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescaped(found: re.Match[str]) -> str:
    escape = found[1]
    if len(escape) > 1 and escape[0] in "xu":
        return chr(int(escape[1:].strip("{}"), 16))
    return _ESCAPED.get(escape, escape)

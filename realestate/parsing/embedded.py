"""JSON inside HTML pages. The result is None if it is missing, cut off or invalid; never a part of it."""

import json
import re
from contextlib import suppress
from functools import lru_cache
from math import isfinite
from typing import Any

import jmespath
import msgspec


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not a number in JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if isfinite(number) else _refuse_constant(digits)


#: Python would accept NaN, Infinity and 1e999, which no field can hold. Raw line breaks in strings are accepted.
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite, strict=False)
#: Raised for broken JSON. RecursionError: it is nested too deeply.
_BROKEN = (ValueError, RecursionError)
#: A string (stays as it is), or a JavaScript constant that is null in JSON. An unclosed string reaches to the end:
#: otherwise the search would begin again at each quote in it.
_UNDEFINED = re.compile(r'"(?:[^"\\]++|\\.)*+"?+|\b(undefined|void 0)\b', re.DOTALL)
_TEXT = re.compile(r'"(?:[^"\\]++|\\.)*+"' + r"|'(?:[^'\\]++|\\.)*+'", re.DOTALL)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}|\r\n|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_PARSE_CALL = re.compile(r"JSON\.parse\(\s*")
#: The equals sign before an object or a list, and characters before a name that cannot be part of a longer name.
_ASSIGNED = re.compile(rb"\s*+=\s*+(?=[{\[])")
_NO_NAME = (b"", b" ", b"\t", b"\n", b"\r", b";", b">", b"}")
#: The first assignment may be an empty default ("window.x = window.x || {}"). Later ones are read up to this limit.
_MOST_ASSIGNMENTS = 5


def decoded(text: object) -> Any:
    """Return the value of a JSON text. A value that is not a text is returned as it is."""
    if not isinstance(text, (str, bytes)):
        return text
    try:
        return msgspec.json.decode(text)
    except (*_BROKEN, UnicodeError):
        return _decode_leniently(text.decode("utf-8-sig", "replace") if isinstance(text, bytes) else text)


def assigned(html: str, name: str) -> Any:
    """Return the value of `window.X = {…}`, `window["X"] = …` or `… = JSON.parse("…")`. None if missing or broken.

    A decoder reads it from its first brace: strings inside may contain "};" or braces, so no pattern can find its end.
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


def assigned_in_bytes(page: bytes, name: str) -> Any:
    """Return what `assigned` returns, for a page as UTF-8 bytes: decoding the whole page would take longer.

    Handles only the most common form, and returns None for all others.
    """
    encoded_name = name.encode()
    start = page.find(encoded_name)
    found = _ASSIGNED.match(page, start + len(encoded_name))
    if start < 0 or not found or page[max(start - 1, 0) : start] not in _NO_NAME:
        return None
    end = page.find(b";\n", found.end())
    with suppress(*_BROKEN):
        return msgspec.json.decode(memoryview(page)[found.end() : end]) if end >= 0 else None
    return None


def value_at(html: str, start: int) -> Any:
    """Return the JSON value that begins at a place in a script: an object, a list, a string, or `JSON.parse("…")`."""
    if html[start : start + 1] == '"':
        return _javascript_text(html, start)
    return _value(html, start)


def script(html: str, name: str) -> Any:
    """Return the JSON in `<script id="…" type="application/json">`."""
    found = re.search(rf"""<script\b[^<>]{{0,500}}?\sid\s?=\s?["']?{re.escape(name)}["'\s>]""", html)
    if not found:
        return None
    start = found.end() if found[0].endswith(">") else html.find(">", found.end()) + 1
    end = html.find("</script", start)
    return decoded(html[start:end].strip()) if start and end >= 0 else None


def next_data(html: str, path: str = "props.pageProps") -> Any:
    """Return the value at a path of `__NEXT_DATA__` (Next.js). If it is a text with JSON, that is decoded too."""
    return decoded(at(script(html, "__NEXT_DATA__"), path))


def at(document: Any, path: str) -> Any:
    """Return the value at a path: "property.location.postalCode", "customers.0.type". None if a part is missing."""
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
    """Return the value at the first of these paths that has one."""
    return next((value for path in paths if (value := at(document, path)) is not None), None)


def listed(value: Any) -> list[Any]:
    """Return the value if it is a list, otherwise an empty list."""
    return value if isinstance(value, list) else []


def search(document: Any, expression: str) -> Any:
    """Return the value of a JMESPath expression ("offers[?price].price | [0]"). `at` is faster for a simple path."""
    try:
        return _expression(expression).search(document)
    except (jmespath.exceptions.JMESPathTypeError, RecursionError):  # a value of the wrong type for a function
        return None


@lru_cache(maxsize=1024)
def _expression(expression: str) -> jmespath.parser.ParsedResult:
    return jmespath.compile(expression)


@lru_cache(maxsize=256)
def _assignment(name: str) -> re.Pattern[str]:
    owner, dot, own = name.rpartition(".")
    quoted = rf"""|\[\s?["']{re.escape(own)}["']\s?\]"""
    written = rf"{re.escape(owner)}(?:\.{re.escape(own)}{quoted})" if dot else re.escape(name)
    return re.compile(rf"{written}\s*+=(?!=)\s*+")  # it begins with a literal, which `re` finds fast


def _value(html: str, start: int) -> Any:
    call = _PARSE_CALL.match(html, start)
    if call:
        text = _javascript_text(html, call.end())
        return None if text is None else decoded(text)
    if html[start : start + 1] not in ("{", "["):
        return None
    # Usually it ends with its line, since JSON strings contain no line break. Then the faster decoder can read it.
    end = html.find(";\n", start)
    if end >= 0:
        with suppress(*_BROKEN):
            return msgspec.json.decode(html[start:end])
    try:
        return _DECODER.raw_decode(html, start)[0]
    except _BROKEN:
        end = html.find("</script", start)
        return _decode_leniently(html[start : end if end >= 0 else len(html)])


def _decode_leniently(text: str) -> Any:
    """Return the value of the JSON at the beginning of a text. `undefined` is read as null."""
    text = text.strip().lstrip("\ufeff")
    if "undefined" in text or "void 0" in text:
        text = _UNDEFINED.sub(lambda found: "null" if found[1] else found[0], text)
    try:
        value, end = _DECODER.raw_decode(text)
    except _BROKEN:
        return None
    return value if isinstance(value, dict | list) or end == len(text) else None


def _javascript_text(html: str, start: int) -> str | None:
    """Return a string in single or double quotes. It may have escapes that JSON does not have: \\x22, \\'."""
    if html[start : start + 1] == '"':
        with suppress(ValueError):  # the JSON decoder is fast, and usually enough
            return str(_DECODER.raw_decode(html, start)[0])
    found = _TEXT.match(html, start)
    if not found:
        return None
    try:
        text = _ESCAPE.sub(_unescaped, found[0][1:-1])
    except ValueError:  # not a Unicode character
        return None
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescaped(found: re.Match[str]) -> str:
    escape = found[1]
    if len(escape) > 1 and escape[0] in "xu":
        return chr(int(escape[1:].strip("{}"), 16))
    return _ESCAPED.get(escape, escape)

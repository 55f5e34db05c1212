"""Rows as COPY reads them, made as they are sent: the server reads the first while the next are made.

A row in JSON, without its brackets, is almost one of CSV: texts in quotes, `null` without. JSON is written by C, a row
in a few microseconds. But our CSV's quote is a character that hardly any text has: so a long text, or a value that is
JSON itself, goes nearly as it is. A backslash is doubled: up to PostgreSQL 17 a line of a text that is `\\.` would be
the end of all rows, even in quotes.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

_QUOTE, _ESCAPE, _BETWEEN = b"\x01", b"\\", b"\x01,\x01"
#: Of COPY … FROM STDIN WITH.
OPTIONS = "(FORMAT csv, QUOTE E'\\x01', ESCAPE '\\', NULL 'null')"
#: Rows sent at once: some packets full.
_AT_ONCE = 20

_NEWLINE, _OTHER_ESCAPE = re.compile(rb"\\n"), re.compile(rb'\\[^"n]')
_ESCAPED = re.compile(rb'\\(?:(["\\nrtbf\x01])|u(....))')
_MEANT = {_QUOTE: b'"', b"\\": b"\\", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}


def _plain(value: Any) -> str:
    """Of what JSON does not know: a text of a class of its own is a text."""
    return str(value) if isinstance(value, str) else repr(value)


encoded: Callable[[Any], bytes] = msgspec.json.Encoder(enc_hook=_plain).encode


def copy(cursor: Any, statement: str, rows: Iterable[Sequence[Any]]) -> None:
    """`statement` ends with COPY … FROM STDIN. A value is a text, a number, a moment, true, false or None. What was
    made `ready` stands first."""
    lines = _Lines(map(line, rows))
    cursor.copy_expert(f"{statement} WITH {OPTIONS}", lines)
    if lines.error is not None:
        raise lines.error


def line(values: Sequence[Any]) -> bytes:
    made, others = ((values[0],), values[1:]) if type(values[0]) is bytes else ((), values)
    if not others:
        return b"".join(made)
    text = encoded(others)[1:-1].replace(b'"', _QUOTE)
    return b",".join((*made, _ESCAPED.sub(_unescaped, text) if b"\\" in text else text))


def ready(*values: Any) -> bytes:
    """The first values of a row, which are mostly long texts, as one. What is `bytes` is a text too."""
    try:
        texts = [value if type(value) is bytes else value.encode() for value in values]
    except AttributeError:  # no text
        return b",".join([_ready(value) for value in values])
    together = _BETWEEN.join(texts)
    if together.count(_QUOTE) > 2 * (len(texts) - 1) or _ESCAPE in together:
        together = _BETWEEN.join(map(_escaped, texts))
    return _QUOTE + together + _QUOTE


def _ready(value: Any) -> bytes:
    return ready(value) if isinstance(value, str | bytes) else line((value,))


def elements(values: Sequence[Any]) -> str:
    """As they stand between the braces of an array: there JSON's quote is PostgreSQL's, and so are `\\"` and `\\\\`."""
    text = encoded(values)[1:-1]
    if _OTHER_ESCAPE.search(text):
        return _ESCAPED.sub(_in_braces, text).decode()
    return _NEWLINE.sub(b"\n", text).decode()


def array(texts: Collection[str]) -> str:
    """As PostgreSQL writes one."""
    if not texts:
        return "{}"
    items = sorted(texts) if isinstance(texts, frozenset) else texts
    together = "".join(items)
    if '"' in together or "\\" in together:
        items = [item.replace("\\", "\\\\").replace('"', '\\"') for item in items]
    return '{"' + '","'.join(items) + '"}'


def _escaped(text: bytes) -> bytes:
    return text.replace(_ESCAPE, _ESCAPE + _ESCAPE).replace(_QUOTE, _ESCAPE + _QUOTE)


def _unescaped(found: re.Match[bytes]) -> bytes:
    return _escaped(_meant(found))


def _in_braces(found: re.Match[bytes]) -> bytes:
    return found[0] if found[1] in (b'"', b"\\") else _meant(found)


def _meant(found: re.Match[bytes]) -> bytes:
    letter, code = found.groups()
    return _MEANT[letter] if letter else chr(int(code, 16)).encode()


class _Lines:
    """A file to psycopg2. An error in making a row would reach us as the server's: it is kept aside."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self.error: Exception | None = None

    def read(self, size: int = -1) -> bytes:
        try:
            some = list(islice(self._lines, _AT_ONCE))
            return b"\n".join(some) + b"\n" if some else b""
        except Exception as error:
            self.error = error
            return b""

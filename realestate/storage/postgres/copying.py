"""Rows as COPY reads them, made as they are sent: the server reads the first while the next are made.

A row in JSON, without its brackets, is almost one of CSV: texts in quotes, `\\"` for a quote in a text, `null` without
quotes. Only the other escapes have to become what they stand for. JSON is written by C, a row in a few microseconds.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

_OPTIONS = "(FORMAT csv, QUOTE '\"', ESCAPE '\\', NULL 'null')"
#: Rows sent at once: some packets full.
_AT_ONCE = 20

_NEWLINE, _OTHER_ESCAPE = re.compile(rb"\\n"), re.compile(rb'\\[^"n]')
_ESCAPE = re.compile(rb"\\(?:([\\nrtbf])|u(....))")
_MEANT = {b"\\": rb"\\", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}


def _plain(value: Any) -> str:
    """Of what JSON does not know: a text of a class of its own is a text."""
    return str(value) if isinstance(value, str) else repr(value)


encoded: Callable[[Any], bytes] = msgspec.json.Encoder(enc_hook=_plain).encode


def copy(cursor: Any, statement: str, rows: Iterable[Sequence[Any]]) -> None:
    """`statement` ends with COPY … FROM STDIN. A value is a text, a number, a moment, true, false or None."""
    lines = _Lines(map(line, rows))
    cursor.copy_expert(f"{statement} WITH {_OPTIONS}", lines)
    if lines.error is not None:
        raise lines.error


def line(values: Sequence[Any]) -> bytes:
    text = encoded(values)[1:-1]
    if _OTHER_ESCAPE.search(text):
        return _ESCAPE.sub(_unescaped, text)
    return _NEWLINE.sub(b"\n", text)


def array(texts: Collection[str]) -> str:
    """As PostgreSQL writes one."""
    if not texts:
        return "{}"
    items = sorted(texts) if isinstance(texts, frozenset) else texts
    together = "".join(items)
    if '"' in together or "\\" in together:
        items = [item.replace("\\", "\\\\").replace('"', '\\"') for item in items]
    return '{"' + '","'.join(items) + '"}'


def _unescaped(found: re.Match[bytes]) -> bytes:
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

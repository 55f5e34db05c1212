"""Rows as COPY reads them, made as they are sent: the server reads the first while the next are made."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

#: `str()` writes None like this, and texts do not have that character: so one `join` makes a row.
_NULL, _SEPARATOR = "None", "\x01"
#: Rows sent at once: some packets full.
_AT_ONCE = 20


def copy(cursor: Any, statement: str, rows: Iterable[Sequence[Any]]) -> None:
    """`statement` ends with COPY … FROM STDIN."""
    lines = _Lines(map(line, rows))
    cursor.copy_expert(f"{statement} WITH (DELIMITER E'\\x01', NULL '{_NULL}')", lines)
    if lines.error is not None:
        raise lines.error


def line(values: Sequence[Any]) -> str:
    text = _SEPARATOR.join(map(str, values))
    if _NULL in values or text.count(_SEPARATOR) != len(values) - 1:
        return _SEPARATOR.join(map(_careful, values))
    return _escaped(text)


def array(texts: Iterable[str]) -> str:
    """As PostgreSQL writes one."""
    items = list(texts)
    if not items:
        return "{}"
    together = "".join(items)
    if '"' in together or "\\" in together:
        items = [item.replace("\\", "\\\\").replace('"', '\\"') for item in items]
    return '{"' + '","'.join(items) + '"}'


def _careful(value: Any) -> str:
    """For the row in a million that has the separator in a text, or the word that stands for nothing."""
    if value is None:
        return _NULL
    text = _escaped(str(value)).replace(_SEPARATOR, "\\x01")
    return "\\" + text if text == _NULL else text


def _escaped(text: str) -> str:
    if "\\" in text:
        text = text.replace("\\", "\\\\")
    if "\n" in text:
        text = text.replace("\n", "\\n")
    if "\r" in text:
        text = text.replace("\r", "\\r")
    return text


class _Lines:
    """A file to psycopg2. An error in making a row would reach us as the server's: it is kept aside."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.error: Exception | None = None

    def read(self, size: int = -1) -> bytes:
        try:
            some = list(islice(self._lines, _AT_ONCE))
            return ("\n".join(some) + "\n").encode() if some else b""
        except Exception as error:
            self.error = error
            return b""

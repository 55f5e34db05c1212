"""Converts listings to rows and back, rows to the format of COPY, and parameters to tables."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import islice
from operator import attrgetter
from typing import Any

import msgspec

from realestate.items import FIELDS, Listing
from realestate.storage.field_types import FIELD_TYPES, FieldType, fields_of_type
from realestate.storage.history import State, Suspect
from realestate.storage.query.fields import TEXT_FIELDS
from realestate.storage.query.folding import search_words
from realestate.storage.query.hexagons import stored_cell

_QUOTE = b"\x01"
_ESCAPE = b"\\"
_BETWEEN = b"\x01,\x01"
#: The options of COPY … FROM STDIN WITH.
OPTIONS = "(FORMAT csv, QUOTE E'\\x01', ESCAPE '\\', NULL 'null')"
#: Rows that are sent at once: they fill a few network packets.
_AT_ONCE = 20

_NEWLINE = re.compile(rb"\\n")
_OTHER_ESCAPE = re.compile(rb'\\[^"n]')
_ESCAPED = re.compile(rb'\\(?:(["\\nrtbf\x01])|u(....))')
_MEANT = {_QUOTE: b'"', b"\\": b"\\", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}


def _plain(value: Any) -> str:
    """Convert a value of a type that the JSON encoder does not know. A subclass of str becomes a str."""
    return str(value) if isinstance(value, str) else repr(value)


encoded: Callable[[Any], bytes] = msgspec.json.Encoder(enc_hook=_plain).encode


def copy(cursor: Any, statement: str, rows: Iterable[Sequence[Any]]) -> None:
    """Run the statement, which ends with COPY … FROM STDIN, with the rows. A value is a str, a number, a datetime, a
    bool or None. The first value of a row may be the result of `ready`."""
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
    """Return the first values of a row, which are mostly long texts, already encoded. Bytes are encoded text."""
    try:
        texts = [value if type(value) is bytes else value.encode() for value in values]
    except AttributeError:  # a value is not text
        return b",".join([_ready(value) for value in values])
    together = _BETWEEN.join(texts)
    if together.count(_QUOTE) > 2 * (len(texts) - 1) or _ESCAPE in together:
        together = _BETWEEN.join(map(_escaped, texts))
    return _QUOTE + together + _QUOTE


def _ready(value: Any) -> bytes:
    return ready(value) if isinstance(value, str | bytes) else line((value,))


def elements(values: Sequence[Any]) -> str:
    """Return the values as they are written between the braces of a PostgreSQL array. Quotes and the escapes `\\"` and
    `\\\\` are the same in JSON and in PostgreSQL."""
    text = encoded(values)[1:-1]
    if _OTHER_ESCAPE.search(text):
        return _ESCAPED.sub(_in_braces, text).decode()
    return _NEWLINE.sub(b"\n", text).decode()


def array(texts: Collection[str]) -> str:
    """Return the texts as an array literal of PostgreSQL. Sets are sorted."""
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
    """A file object for psycopg2. An error while a row is made is kept in `error`: psycopg2 would report it as an error
    of the server."""

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


#: The column of a field, by the type of the field.
COLUMN_TYPES: dict[FieldType, str] = {
    str: "text",
    bool: "boolean",
    int: "integer",
    float: "double precision",
    Decimal: "numeric(14, 2)",
    datetime: "timestamptz",
    tuple: "tstzrange",
    frozenset: "text[]",
    list: "text[]",
    dict: "jsonb",
}
#: These times are set by the database.
CLOCK = ("first_seen_at", "last_seen_at", "last_fetched_at")
#: Fields with long values, and with lists or objects. They are written first, as one text: see `ready`.
_LONG = ("title", "description", *fields_of_type(frozenset, list, dict))
#: The columns that a batch writes: all fields except those of CLOCK.
COLUMNS = {name: COLUMN_TYPES[FIELD_TYPES[name]] for name in dict.fromkeys((*_LONG, *FIELDS)) if name not in CLOCK}
#: The columns of a listing's state beside its fields.
STATE = (*FIELDS, "revision", "suspect_price", "suspect_job", "price_sighted_at")

_values = attrgetter(*COLUMNS)
#: type of a long value -> function that writes it.
_LONG_WRITERS: dict[FieldType, Callable[[Any], Any]] = {frozenset: array, list: array, dict: encoded}
#: (place, function) of the long values that are not text.
_WRITE_LONG = [
    (place, _LONG_WRITERS[FIELD_TYPES[name]]) for place, name in enumerate(_LONG) if FIELD_TYPES[name] in _LONG_WRITERS
]
_WRITE_RANGES = [list(COLUMNS).index(name) - len(_LONG) for name in fields_of_type(tuple)]
_READ_RANGES = [FIELDS.index(name) for name in fields_of_type(tuple)]
_READ_SETS = [FIELDS.index(name) for name in fields_of_type(frozenset)]


def recordset(parameter: str, columns: Mapping[str, str]) -> str:
    """Return SQL that makes a table of a parameter, a list of JSON objects. Used for what is written rarely."""
    typed = ", ".join(f"{column} {type}" for column, type in columns.items())
    return f"json_to_recordset(%({parameter})s) AS {parameter} ({typed})"


def unnested(name: str, columns: Mapping[str, str]) -> str:
    """Return SQL that makes a table of parameters, an array for each column (see `arrays`), with the column `place`. It
    is the cheapest way to pass rows to a statement."""
    given = ", ".join(f"%({name}_{column})s::{type}[]" for column, type in columns.items())
    return f"unnest({given}) WITH ORDINALITY AS {name} ({', '.join(columns)}, place)"


def arrays(name: str, columns: Collection[str], rows: Iterable[Sequence[Any]]) -> dict[str, str]:
    """Return the parameters of `unnested`: for each column an array literal."""
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    return {f"{name}_{column}": f"{{{elements(each)}}}" for column, each in zip(columns, values, strict=True)}


def joined(value: Any, more: Any) -> bytes:
    """Return two JSON objects as one."""
    return encoded(value)[:-1] + b"," + encoded(more)[1:]


def as_json(objects: Iterable[bytes]) -> str:
    """Return a JSON list of objects that are encoded already."""
    return (b"[" + b",".join(objects) + b"]").decode()


def fields_of(listing: Listing) -> Sequence[Any]:
    """Return the values of COLUMNS, as `copy` takes them."""
    values = _values(listing)
    long = list(values[: len(_LONG)])
    for place, write in _WRITE_LONG:
        long[place] = write(long[place])
    others: Sequence[Any] = values[len(_LONG) :]
    for place in _WRITE_RANGES:
        if interval := others[place]:
            others = [*others[:place], f"[{interval[0]},{interval[1]}]", *others[place + 1 :]]
    return (ready(*long), *others)


#: Columns of `listings` that are computed from the listing: see `searched`.
SEARCHED = {"search_words": "tsvector", "cell": "bigint"}
_texts = attrgetter(*TEXT_FIELDS)


def searched(listing: Listing) -> tuple[str, int | None]:
    """Return the values of SEARCHED."""
    return search_words(_texts(listing)), stored_cell(listing.latitude, listing.longitude)


def listing_of(row: tuple[Any, ...]) -> Listing:
    """Return the listing of a row with the columns of FIELDS."""
    values = list(row)
    for place in _READ_RANGES:
        interval = values[place]
        values[place] = (interval.lower, interval.upper) if interval is not None else None
    for place in _READ_SETS:
        values[place] = frozenset(values[place])
    return Listing(**dict(zip(FIELDS, values, strict=True)))


def state_of(row: tuple[Any, ...]) -> State:
    """Return the state of a row with the columns of STATE."""
    *fields, revision, price, job, price_sighted_at = row
    suspect = None if price is None else Suspect(price, job)
    return State(listing_of(tuple(fields)), revision, suspect, price_sighted_at)

"""The columns of an export as Arrow, for Parquet and the lake."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from realestate.exports.csv import as_json
from realestate.storage.export import Column, Export, ReadAsArrow, Row, Table

#: Digits of money, as in the database.
_MONEY_DIGITS = 14
_MOST_DIGITS = 38
_TYPES: dict[type, pa.DataType] = {
    str: pa.string(),
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    datetime: pa.timestamp("us", tz="UTC"),
    list: pa.list_(pa.string()),
    dict: pa.string(),
}


class Part(NamedTuple):
    """Some rows of an export."""

    batch: pa.RecordBatch
    checksum: int


def arrow_type(column: Column) -> pa.DataType:
    if column.type is Decimal:
        return pa.decimal128(_MONEY_DIGITS if column.decimals == 2 else _MOST_DIGITS, column.decimals)
    return _TYPES[column.type]


def schema_of(table: Table) -> pa.Schema:
    return pa.schema([pa.field(column.name, arrow_type(column)) for column in table.columns])


def parts(source: Export) -> Iterator[Part]:
    """The rows of the export, some at a time, in the types of `schema_of`."""
    schema = schema_of(source.table)
    if isinstance(source, ReadAsArrow):
        for batch in source.record_batches():
            columns = [cast(column, field.type) for column, field in zip(batch.columns[1:], schema, strict=True)]
            yield Part(pa.record_batch(columns, schema), pc.sum(batch.columns[0]).as_py() or 0)
    else:
        for rows in source.rows():
            yield Part(batch_of(source.table, [row[1:] for row in rows]), sum(row[0] for row in rows))


def batch_of(table: Table, rows: Sequence[Row]) -> pa.RecordBatch:
    """A record batch of rows without their hashes."""
    columns = list(zip(*rows, strict=True)) or [()] * len(table.columns)
    arrays = [_array(column, values) for column, values in zip(table.columns, columns, strict=True)]
    return pa.record_batch(arrays, schema_of(table))


def _array(column: Column, values: Sequence[Any]) -> pa.Array:
    if column.type is dict:
        values = [None if value is None else as_json(value) for value in values]
    return pa.array(values, arrow_type(column))


def cast(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The array in the wanted type. ADBC reads numeric as an opaque text, because Arrow has no such type."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array if array.type == wanted else array.cast(wanted)

"""JSON Lines: one object for each row. It needs no extra. Money is a number with all its digits."""

import msgspec

from realestate.exports.sink import Sink, Totals
from realestate.storage.export import Export

ENCODER = msgspec.json.Encoder(decimal_format="number")


def write(source: Export, sink: Sink, totals: Totals) -> None:
    names = source.table.names
    for rows in source.rows():
        sink.write(ENCODER.encode_lines([dict(zip(names, row[1:], strict=True)) for row in rows]))
        totals.add_rows(rows)

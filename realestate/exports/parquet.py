"""Parquet with exact types: money as decimal, times in UTC, lists of texts. Objects (`extra`, `data`) are JSON."""

import pyarrow as pa
import pyarrow.parquet as pq

from realestate.exports.arrow import parts, schema_of
from realestate.exports.sink import Sink, Totals
from realestate.storage.export import Export

#: Small, and as fast to read as without.
COMPRESSION = "zstd"


def write(source: Export, sink: Sink, totals: Totals) -> None:
    with pq.ParquetWriter(pa.PythonFile(sink, mode="w"), schema_of(source.table), compression=COMPRESSION) as writer:
        for part in parts(source):
            writer.write_batch(part.batch)
            totals.add(part.batch.num_rows, part.checksum)

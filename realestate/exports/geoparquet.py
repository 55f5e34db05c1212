"""GeoParquet 1.1: Parquet with a column `geometry` of points (WKB, WGS 84). It is null without coordinates."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from realestate.exports.arrow import parts, schema_of
from realestate.exports.parquet import COMPRESSION
from realestate.exports.sink import Sink, Totals
from realestate.storage.export import Export, Table

GEOMETRY = "geometry"
_META = {
    "version": "1.1.0",
    "primary_column": GEOMETRY,
    # Without `crs` it is OGC:CRS84: longitude and latitude of WGS 84.
    "columns": {GEOMETRY: {"encoding": "WKB", "geometry_types": ["Point"]}},
}
#: A point in WKB: little endian, type 1, x, y.
_POINT = np.dtype([("order", "u1"), ("type", "<u4"), ("x", "<f8"), ("y", "<f8")])


def write(source: Export, sink: Sink, totals: Totals) -> None:
    schema = _schema(source.table)
    with pq.ParquetWriter(pa.PythonFile(sink, mode="w"), schema, compression=COMPRESSION) as writer:
        for part in parts(source):
            points = _points(part.batch["longitude"], part.batch["latitude"])
            writer.write_batch(pa.record_batch([*part.batch.columns, points], schema))
            totals.add(part.batch.num_rows, part.checksum)


def _schema(table: Table) -> pa.Schema:
    with_points = schema_of(table).append(pa.field(GEOMETRY, pa.binary()))
    return with_points.with_metadata({"geo": json.dumps(_META)})


def _points(longitude: Any, latitude: Any) -> pa.Array:
    points = np.zeros(len(longitude), _POINT)
    points["order"] = 1
    points["type"] = 1
    points["x"] = pc.fill_null(longitude, 0.0).to_numpy(zero_copy_only=False)
    points["y"] = pc.fill_null(latitude, 0.0).to_numpy(zero_copy_only=False)
    as_bytes = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(_POINT.itemsize), len(points), [None, pa.py_buffer(points.tobytes())]
    )
    has_place = pc.and_(pc.is_valid(longitude), pc.is_valid(latitude))
    return pc.if_else(has_place, as_bytes.cast(pa.binary()), None)

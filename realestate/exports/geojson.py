"""GeoJSON (RFC 7946): one feature for each listing, in the order of the export. It needs no extra.

The geometry of a listing without coordinates is null: it is not left out.
"""

from collections.abc import Mapping
from typing import Any

from realestate.exports.jsonl import ENCODER
from realestate.exports.sink import Sink, Totals
from realestate.storage.export import Export


def write(source: Export, sink: Sink, totals: Totals) -> None:
    names = source.table.names
    sink.write(b'{"type":"FeatureCollection","features":[\n')
    separator = b""
    for rows in source.rows():
        features = [_feature(dict(zip(names, row[1:], strict=True))) for row in rows]
        sink.write(separator + b",\n".join(map(ENCODER.encode, features)))
        totals.add_rows(rows)
        separator = b",\n"
    sink.write(b"\n]}\n")


def _feature(record: Mapping[str, Any]) -> dict[str, Any]:
    has_place = record["latitude"] is not None and record["longitude"] is not None
    point = {"type": "Point", "coordinates": [record["longitude"], record["latitude"]]}
    return {
        "type": "Feature",
        "id": f"{record['portal']}/{record['ref']}",
        "geometry": point if has_place else None,
        "properties": record,
    }

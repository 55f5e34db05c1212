"""`realestate export`: a table of the store as one file."""

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from realestate.cli.options import JsonFlag

if TYPE_CHECKING:
    from realestate.exports import Exported

#: The same as `storage.export.TableName` and `exports.FormatName`, which take too long to import.
Table = Literal["listings", "events", "prices", "products", "quotes", "homes", "home_listings", "market_weekly"]
Format = Literal["csv", "jsonl", "parquet", "geojson", "geoparquet", "xlsx"]


def export(
    table: Annotated[Table, typer.Argument(help="What to export.")],
    out: Annotated[
        str, typer.Option("--out", "-o", help="A file, s3://bucket/name, or - for the standard output.")
    ] = "-",
    format: Annotated[
        Format | None, typer.Option("--format", "-f", help="By default the one that the name of the file says.")
    ] = None,
    where: Annotated[
        str | None, typer.Option("--where", help="Only of listings that match this filter (docs/query.md).")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="Only what changed since this day or time: 2026-11-01.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Export one table: CSV, JSON Lines, Parquet, GeoJSON, GeoParquet, Excel.

    homes and home_listings are what the last `realestate homes build` found, market_weekly is what `realestate market`
    made. A filter of homes finds those with a listing that matches.

    All rows are exported, in a fixed order. As everywhere, --where finds listings on the market, unless it has a
    condition on the status (status=any for all). The file gets its name when it is complete, and replaces an older
    one. A manifest beside it has the number of rows and a checksum, which equal those of the store.

    Parquet, GeoParquet and Excel need `pip install 'realestate[analysis]'`, a bucket needs `realestate[s3]`.

    \b
    realestate export listings --out listings.parquet
    realestate export events --since 2026-11-01 --out events.csv
    realestate export listings --where "city=Gent price<300000" --format geojson --out s3://exports/homes.geojson
    realestate export homes --where "city=Gent rooms>=2" --out homes.csv
    realestate export market_weekly --since 2026-09-01 --out market.parquet
    realestate export prices --format jsonl | gzip > prices.jsonl.gz
    """
    from realestate import exports
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store
    from realestate.cli.errors import UsageError
    from realestate.cli.listings import time_of
    from realestate.storage.export import Selection
    from realestate.storage.query import QueryError, parse_filter

    try:
        wanted = Selection(None if where is None else parse_filter(where), time_of("--since", since))
        chosen = format or exports.format_of(out)
        with opened_store() as store, terminal.row_progress(table) as show:
            exported = exports.export(store, table, chosen, out, datetime.now(UTC), show, wanted)
    except QueryError as error:
        raise UsageError(f"--where: {error}") from error
    except exports.WrongExport as error:
        raise UsageError(str(error)) from error
    _print_exported(exported, as_json=json)


def _print_exported(exported: "Exported", *, as_json: bool) -> None:
    """To stderr, if the export itself is on the standard output."""
    stream = sys.stderr if exported.file == "-" else sys.stdout
    if as_json:
        print(exported.as_json().decode(), end="", file=stream)
        return
    written = exported.written
    print(
        f"{exported.table}: {written.count:,} row{'' if written.count == 1 else 's'} to {exported.file}"
        f" ({exported.size_bytes:,} bytes), checksum {written.checksum}",
        file=stream,
    )
    if exported.shortened_texts:
        print(f"{exported.shortened_texts:,} texts were longer than a cell may be, and were cut", file=stream)
    if not exported.is_complete:
        print(
            f"the store had {exported.stored.count:,} rows when the export began: it was changed meanwhile", file=stream
        )

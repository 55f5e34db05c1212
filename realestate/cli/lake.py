"""`realestate lake`: Apache Iceberg tables that follow the store."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from realestate.cli.help_page import command_group
from realestate.cli.options import JsonFlag

if TYPE_CHECKING:
    from realestate.exports.lake import Synced

app = command_group("The data as Apache Iceberg tables, for those who outgrow one database.")


@app.command(epilog="Example: realestate lake sync --to /data/lake")
def sync(
    to: Annotated[str, typer.Option("--to", help="A folder, or s3://bucket/prefix.")],
    json: JsonFlag = False,
) -> None:
    """Append what is new to the tables events, prices and versions. It may be stopped at any time, and continues.

    The tables are partitioned by portal and month. DuckDB, Spark and Trino read them (docs/lake.md). It needs
    `pip install 'realestate[analysis]'`. A lake in a bucket needs the setting LAKE_CATALOG.
    """
    from realestate import settings
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store
    from realestate.cli.errors import UsageError
    from realestate.exports import MissingExtra, WrongExport

    try:
        from realestate.exports import lake
    except ModuleNotFoundError as error:
        raise MissingExtra("the lake") from error
    try:
        tables = lake.Lake(to, settings.LAKE_CATALOG, settings.LAKE_S3_ENDPOINT)
    except WrongExport as error:
        raise UsageError(str(error)) from error
    with opened_store() as store, terminal.row_progress("events") as show:
        synced = lake.sync(store, tables, lambda table, done, all: show(done, all))
    if json:
        terminal.print_json([asdict(each) for each in synced])
    else:
        for each in synced:
            print(_line(each))


def _line(synced: "Synced") -> str:
    erased = f", {synced.erased_rows:,} rows of erased listings deleted" if synced.erased_rows else ""
    if synced.first_event == synced.last_event:
        return f"{synced.table}: nothing new after event {synced.last_event:,}{erased}"
    return f"{synced.table}: {synced.rows:,} rows, up to event {synced.last_event:,}{erased}"

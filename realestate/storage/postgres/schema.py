"""Checks the schema of a PostgreSQL database, brings it to the newest version, and comments its tables and columns.

A database that is up to date is only read. So a role that may only read and write rows is enough, once a role that owns
the tables has migrated.

The comments are for people who open the database. They are the docstrings of the dataclasses. They are set after
migrations, and again when a docstring has changed: a hash of all comments is the comment of the table `schema_version`.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Any

from psycopg2.errors import InsufficientPrivilege

from realestate.items import Listing, Part
from realestate.items.docstrings import field_docstrings
from realestate.storage.errors import StoreError, too_new
from realestate.storage.history import PriceSeen
from realestate.storage.homes import Home, HomeLink, HomesRun, HomeState, MarketWeek, Member, PhotoHash, Pin
from realestate.storage.occurrences import Occurrence
from realestate.storage.orders import StoredOrder
from realestate.storage.other_kinds import StoredOther
from realestate.storage.outbox import Notification
from realestate.storage.query.fields import DERIVED_MEANING
from realestate.storage.searches import Search
from realestate.storage.snapshots import SnapshotRef
from realestate.storage.store import Job
from realestate.storage.validators import PageRead

#: The number of an advisory lock. No other program may use it in this database.
_LOCK = 0x7265616C  # "real"


def migrate(connection: Any) -> int:
    """Apply the missing migrations. Return the version.

    Raises StoreError if the database is newer than this program, or if it is older and the role may not change it."""
    version = 0
    wanted = newest()
    try:
        version = stored_version(connection)
        if version > wanted:
            raise too_new(version, wanted)
        if version < wanted:
            return _apply_missing(connection)
    except InsufficientPrivilege as error:
        message = str(error).partition("\n")[0]
        raise StoreError(
            f"the database has schema {version}, and {wanted} is needed, but its role may not change or read the schema"
            f" ({message}): run `realestate migrate` with the role that owns the tables"
        ) from error
    _keep_comments(connection)
    return version


def _keep_comments(connection: Any) -> None:
    """Set the comments again if they are of an older version. A role that may not do that leaves them as they are."""
    with connection.cursor() as cursor:
        is_outdated = not are_true(cursor)
    connection.commit()
    if is_outdated:
        with suppress(InsufficientPrivilege):
            _apply_missing(connection)


def stored_version(connection: Any) -> int:
    """The version of the database; 0 if it has no tables of ours. Only reads."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('schema_version') IS NOT NULL")
        ((exists,),) = cursor.fetchall()
        if exists:
            cursor.execute("SELECT coalesce(max(version), 0) FROM schema_version")
            ((version,),) = cursor.fetchall()
    connection.commit()
    return int(version) if exists else 0


def _apply_missing(connection: Any) -> int:
    """Apply the missing migrations, each in one transaction, by one process at a time."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        connection.commit()
        try:
            version = _version(cursor)
            connection.commit()
            for number, sql in _steps():
                if number > version:
                    cursor.execute("SET LOCAL statement_timeout = 0")  # a large table may take long
                    cursor.execute(sql)
                    cursor.execute("INSERT INTO schema_version (version) VALUES (%s)", (number,))
                    connection.commit()
                    version = number
            if version == newest():  # a newer version of this program sets its own comments
                keep_true(cursor)
                connection.commit()
            return version
        finally:
            connection.rollback()
            cursor.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))
            connection.commit()


def newest() -> int:
    """The version that this program needs."""
    return max(number for number, _ in _steps())


def _version(cursor: Any) -> int:
    cursor.execute(
        "CREATE TABLE IF NOT EXISTS schema_version"
        " (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
    )
    cursor.execute("SELECT coalesce(max(version), 0) FROM schema_version")
    return int(cursor.fetchone()[0])


@cache
def _steps() -> list[tuple[int, str]]:
    folder = files("realestate.storage.migrations")
    found = [each for each in folder.iterdir() if each.name.endswith(".sql")]
    return sorted((int(each.name.split("_")[0]), each.read_text("utf-8")) for each in found)


#: Columns of several tables.
_COMMON = {
    "portal": "Name of the portal. Portal and ref identify a listing.",
    "ref": "The portal's id of the listing, as text.",
    "job": "The job that saw it.",
    "at": "When it was seen. Always the time of the database.",
    "revision": "Number of the listing's change. It grows with every change, not with every sighting.",
}


@dataclass(frozen=True, slots=True)
class Described:
    """The comments on one table or view."""

    comment: str
    source: type | None = None
    """The dataclass whose docstrings describe its columns."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Columns that the dataclass does not have."""

    def of_columns(self) -> dict[str, str]:
        return {**_COMMON, **(field_docstrings(self.source) if self.source else {}), **self.columns}


TABLES: dict[str, Described] = {
    "listings": Described(
        "One row for each advert of a portal, as it was last seen. A missing value is null, never 0 or an empty text.",
        Listing,
        {
            "last_job": "The job that saw it last.",
            "suspect_price": "A price more than 60 % away from `price`. It counts when a second job sees it.",
            "suspect_job": "The job that saw the suspect price.",
            "search_words": "The words of its texts, for the filter `text`. A worker computes them.",
            "cell": "Its cell of H3 at resolution 9, as a number.",
            "price_sighted_at": "When a search page last showed the price.",
        },
    ),
    "events": Described(
        "What happened to the listings, append-only. docs/history.md explains the types.",
        columns={
            "seq": "Number of the event. Events become visible in the order of their numbers.",
            "type": "What happened: listed, price_changed, updated …",
            "data": "Depends on the type. `fields` of updated and corrected: field -> [old value, new value].",
        },
    ),
    "prices": Described(
        "Each price that a listing had, also suspect ones.",
        PriceSeen,
        {
            "source": "Where it was read: on the page of the listing, on a search page, or by a better parser.",
            "price": "The amount. Null: on request, or not shown.",
            "currency": "ISO 4217 code.",
            "price_basis": "What the price is for: total, per_m2, or on_request.",
            "rent_period": "The period of one rent payment.",
            "suspect": "Whether it is not believed yet, because it is more than 60 % away from the last price.",
        },
    ),
    "jobs": Described("One row for each job: what was crawled, and which listings it found gone.", Job),
    "job_orders": Described("One row for each submitted job, from its submission on.", StoredOrder),
    "occurrences": Described("The times at which entries of the timetable were due, and what was decided.", Occurrence),
    "parts": Described("The searches of a job, and the parts into which they were split.", Part),
    "departures": Described("Evidence that a listing is gone: of each kind the first of a job."),
    "watermarks": Described("How far a search was read. Only a complete job changes it."),
    "quarantine": Described("Items that failed validation, with their errors and all their values."),
    "snapshots": Described("The index of raw pages.", SnapshotRef),
    "contacts": Described("Encrypted contacts with an expiry time. Empty unless CONTACTS is on."),
    "erased": Described("What was erased on request: it is not stored again."),
    "others": Described("Items of other kinds: products, quotes.", StoredOther),
    "validators": Described("ETag and Last-Modified of listings' pages, for conditional requests.", PageRead),
    "cards": Described(
        "What the search page showed of a listing when its own page was last read.",
        columns={"card": "Hashes. If they differ from those of the search page, a sweep reads the listing's page."},
    ),
    "summaries": Described(
        "What searches compare: one row for each listing, kept by triggers.",
        Listing,
        DERIVED_MEANING
        | {
            "on_market": "Whether it is active or reserved.",
            "place": "Longitude and latitude.",
            "words": "The words of its texts, without case and accents.",
            "cell": "Its cell of H3 at resolution 9, as a number.",
        },
    ),
    "tallies": Described(
        "How many listings have a value, by portal, country and operation: kept by triggers.",
        columns={
            "operation": "sale or rent; empty if it is missing.",
            "on_market": "Whether they are active or reserved.",
            "field": "The field; `hexagon5` and `hexagon7` are cells of H3.",
            "value": "The value as text; empty if it is missing.",
            "count": "The number of listings.",
        },
    ),
    "listing_summaries": Described("What a summary has of its listing.", Listing, DERIVED_MEANING),
    "searches": Described("Saved searches. `notify` may contain secrets: addresses with tokens and passwords.", Search),
    "cursors": Described(
        "How far readers inside the database have followed the events.",
        columns={"name": "Who reads.", "seq": "Number of the last event that was read."},
    ),
    "states": Described(
        "Small documents of monitoring: open alerts, silences, when a report was sent.",
        columns={"name": "Kind and name.", "data": "The document.", "revision": "Grows with every change."},
    ),
    "notifications": Described(
        "The outbox: messages to people and webhooks, kept until they are accepted, and a while after.",
        Notification,
        {
            "number": "The order in which messages were enqueued.",
            "leased_until": "Until then one sender, and no other, may send it.",
            "token": "Proves the lease of that sender.",
        },
    ),
    "homes": Described(
        "One row for each dwelling: all adverts of it together. `realestate homes build` makes them.", Home
    ),
    "home_listings": Described("Which advert is of which home.", Member),
    "home_links": Described("Why two adverts are one home.", HomeLink),
    "home_pins": Described("What people decided about two adverts: join or split.", Pin),
    "home_states": Described("What linking keeps of each listing, to look only at what is new.", HomeState),
    "photo_hashes": Described(
        "Perceptual hashes of photos, which tell adverts of one home.",
        PhotoHash,
        {"hashed_at": "When it was stored."},
    ),
    "home_runs": Described("What the last complete `realestate homes build` looked at: one row.", HomesRun),
    "market_weekly": Described("Market figures by week, place, type and operation, counted by home.", MarketWeek),
    "current_listings": Described("The listings that are on the market: active or reserved.", Listing),
    "price_changes": Described(
        "Each change of a price: from events price_changed and price_meaning_changed.",
        columns={
            "seq": "Number of the event.",
            "old_price": "The price before. Null: it was on request.",
            "new_price": "The price after. Null: it is on request.",
            "currency": "ISO 4217 code, of the new price if there is one.",
            "percent": "The change in percent. Null if the two prices cannot be compared.",
            "old_basis": "What the old price was for. Null if that did not change.",
            "new_basis": "What the new price is for. Null if that did not change.",
            "old_period": "The rent period before. Null if it did not change.",
            "new_period": "The rent period after. Null if it did not change.",
        },
    ),
    "time_on_market": Described(
        "How long each listing was offered: one row for each time it was on the market.",
        columns={
            "stay": "1 is the first time it was offered, 2 the time after it returned …",
            "began_at": "When it was first seen, or seen again.",
            "ended_at": "When it was known to have left. Null: it is still offered.",
            "ended_as": "How it left: delisted, sold or rented. Null: it is still offered.",
            "days": "Days from began_at to ended_at, or until now.",
        },
    ),
}

_COLUMNS = """
    SELECT class.relname, class.relkind, attribute.attname
    FROM pg_class AS class JOIN pg_attribute AS attribute ON attribute.attrelid = class.oid
    WHERE class.relnamespace = current_schema()::regnamespace AND class.relname = ANY (%s)
      AND attribute.attnum > 0 AND NOT attribute.attisdropped
"""


def keep_true(cursor: Any) -> None:
    """Set all comments, unless they are set already."""
    if are_true(cursor):
        return
    columns = _columns()
    for statement, text in _statements(cursor, columns):
        cursor.execute(statement, (text,))
    cursor.execute("COMMENT ON TABLE schema_version IS %s", (_digest(columns),))


def are_true(cursor: Any) -> bool:
    """Whether all comments are set. Only reads."""
    cursor.execute("SELECT obj_description('schema_version'::regclass, 'pg_class')")
    return bool(cursor.fetchone() == (_digest(_columns()),))


def _columns() -> dict[str, dict[str, str]]:
    return {table: described.of_columns() for table, described in TABLES.items()}


def _digest(columns: Mapping[str, Mapping[str, str]]) -> str:
    return blake2b(repr((TABLES, columns)).encode(), digest_size=8).hexdigest()


def _statements(cursor: Any, columns: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    cursor.execute(_COLUMNS, (list(TABLES),))
    present = cursor.fetchall()
    for table, kind in sorted({(table, kind) for table, kind, _ in present}):
        yield f"COMMENT ON {'VIEW' if kind == 'v' else 'TABLE'} {table} IS %s", TABLES[table].comment
    for table, _, column in present:
        if column in columns[table]:
            yield f'COMMENT ON COLUMN {table}."{column}" IS %s', columns[table][column]

"""Contacts, retention and erasure; check the database, and repair what can be repaired while workers run."""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from psycopg2.extras import execute_values

from realestate.storage.changes import OFF_THE_MARKET
from realestate.storage.contacts import Sealed
from realestate.storage.maintenance import TEXTS, TRIMMED, Erased, Expired, Finding
from realestate.storage.postgres.connection import Connection, Statements
from realestate.storage.postgres.merge import LOCK, is_erased
from realestate.storage.postgres.read import PAGES, page_of
from realestate.storage.records import erased_name
from realestate.storage.snapshots import SnapshotRef

#: Contacts that were erased, or whose listing was erased, are not stored.
_KEEP = f"""
    INSERT INTO contacts (portal, ref, source, sealed, lookups, expires_at)
    SELECT portal, ref, source, sealed, marks, now() + days * interval '1 day'
    FROM (VALUES %s) AS found (portal, ref, source, sealed, marks, days)
    WHERE NOT {is_erased("found")}
      AND NOT EXISTS (SELECT FROM erased WHERE kind = 'contact' AND what = ANY (found.marks))
    ON CONFLICT (portal, ref, source) DO UPDATE
    SET sealed = excluded.sealed, lookups = excluded.lookups, expires_at = excluded.expires_at
"""


class ContactsKeeper:
    """Stores encrypted contacts."""

    connection: Connection

    def keep_contacts(self, contacts: Sequence[Sealed], days: int) -> None:
        newest = {(each.portal, each.ref, each.source): each for each in contacts}
        rows = [(*key, each.sealed, list(each.marks), days) for key, each in sorted(newest.items())]
        with self.connection.cursor() as cursor:
            execute_values(cursor, _KEEP, rows, "(%s, %s, %s, %s::bytea, %s::text[], %s)")


#: Listings that are trimmed in one transaction, while no worker can write; and that are found by one scan of the table.
_TOGETHER = 500
_AT_ONCE = 50_000

_OLD = "quarantined_at < now() - make_interval(secs => %(seconds)s)"
_HAS_TEXTS = """
    status = ANY (%(off_the_market)s) AND last_seen_at < now() - make_interval(secs => %(seconds)s)
    AND (description IS NOT NULL OR photos <> '{}' OR extra <> '{}'
         OR EXISTS (SELECT FROM contacts WHERE (contacts.portal, contacts.ref) = (listings.portal, listings.ref)))
"""
_DUE = f"SELECT portal, ref FROM listings WHERE {_HAS_TEXTS} LIMIT {_AT_ONCE}"
#: The content hash stays: if the listing is offered again unchanged, the only event is `relisted`.
_TRIM = f"""
    SELECT pg_advisory_xact_lock(%(lock)s);
    WITH due AS (SELECT * FROM unnest(%(portals)s, %(refs)s) AS due (portal, ref)),
    trimmed AS (
        UPDATE listings SET description = NULL, photos = '{{}}', extra = '{{}}',
            quality_flags = ARRAY (SELECT DISTINCT flag FROM unnest(quality_flags || %(flag)s::text) AS flag ORDER BY 1)
        FROM due WHERE (listings.portal, listings.ref) = (due.portal, due.ref) AND {_HAS_TEXTS}
        RETURNING listings.portal, listings.ref
    ),
    without_texts AS (
        UPDATE events SET data = jsonb_set(data, '{{fields}}', (
            SELECT jsonb_object_agg(key, CASE WHEN key = ANY (%(texts)s) THEN '[null, null]' ELSE value END)
            FROM jsonb_each(data -> 'fields')))
        WHERE (portal, ref) IN (SELECT portal, ref FROM trimmed)
          AND jsonb_typeof(data -> 'fields') = 'object' AND data -> 'fields' ?| %(texts)s
    ),
    unknown AS (DELETE FROM contacts WHERE (portal, ref) IN (SELECT portal, ref FROM trimmed))
    SELECT count(*)::int FROM trimmed
"""

#: Tables with rows of one listing, or of an item of another kind; without the index of raw pages.
_OF_A_LISTING = (
    "listings",
    "others",
    "events",
    "prices",
    "departures",
    "quarantine",
    "contacts",
    "validators",
    "cards",
    "home_listings",
    "home_states",
    "photo_hashes",
)
#: What names an erased listing beside others, and homes that had no other advert.
_UNLINK = """
    DELETE FROM home_links WHERE %(what)s IN (a, b);
    DELETE FROM home_pins WHERE %(what)s IN (a, b);
    DELETE FROM homes WHERE home = %(home)s AND NOT EXISTS (SELECT FROM home_listings WHERE home = %(home)s)
"""
_ERASE = f"""
    SELECT pg_advisory_xact_lock(%(lock)s);
    WITH remembered AS (INSERT INTO erased (kind, what) VALUES ('listing', %(what)s) ON CONFLICT DO NOTHING),
    {
    ", ".join(
        f"no_{table} AS (DELETE FROM {table} WHERE portal = %(portal)s AND ref = %(ref)s RETURNING 1)"
        for table in _OF_A_LISTING
    )
}
    SELECT {", ".join(f"(SELECT count(*)::int FROM no_{table})" for table in _OF_A_LISTING)}
"""


class Retention(Statements):
    """Retention and erasure."""

    def expire(self, *, quarantine_days: float | None, delisted_days: float | None, dry_run: bool = False) -> Expired:
        return Expired(
            quarantined=self._drop("quarantine", _OLD, quarantine_days, dry_run),
            contacts=self._drop("contacts", f"(expires_at <= now() OR {is_erased('contacts')})", 0, dry_run),
            trimmed=self._trim(delisted_days, dry_run),
        )

    def erase(self, portal: str, ref: str) -> Erased:
        values = {"lock": LOCK, "what": erased_name(portal, ref), "portal": portal, "ref": ref}
        home = self._ask("SELECT home FROM home_listings WHERE (portal, ref) = (%(portal)s, %(ref)s)", values)
        (counts,) = self._ask(_ERASE, values)
        self._ask(_UNLINK, {**values, "home": home[0][0] if home else None})
        return Erased(portal, ref, dict(zip(_OF_A_LISTING, counts, strict=True)))

    def erased(self, portal: str) -> frozenset[str]:
        start = erased_name(portal, "")
        rows = self._ask("SELECT what FROM erased WHERE kind = 'listing' AND starts_with(what, %s)", (start,))
        return frozenset(what.removeprefix(start) for (what,) in rows)

    def erased_pages(self) -> Sequence[SnapshotRef]:
        rows = self._ask(f'{PAGES} WHERE ref IS NOT NULL AND {is_erased("snapshots")} ORDER BY file, "offset"')
        return [page_of(row) for row in rows]

    def erase_contact(self, mark: str) -> Sequence[tuple[str, str]]:
        self._ask("INSERT INTO erased (kind, what) VALUES ('contact', %s) ON CONFLICT DO NOTHING", (mark,))
        rows = self._ask("SELECT DISTINCT portal, ref FROM contacts WHERE lookups @> ARRAY[%s] ORDER BY 1, 2", (mark,))
        return [(portal, ref) for portal, ref in rows]

    def erased_contacts(self, marks: Sequence[str]) -> frozenset[str]:
        rows = self._ask("SELECT what FROM erased WHERE kind = 'contact' AND what = ANY (%s)", (list(marks),))
        return frozenset(what for (what,) in rows)

    def _drop(self, table: str, condition: str, days: float | None, dry_run: bool) -> int:
        if days is None:
            return 0
        statement = f"SELECT count(*)::int FROM {table} WHERE {condition}"
        if not dry_run:
            statement = (
                f"WITH gone AS (DELETE FROM {table} WHERE {condition} RETURNING 1) SELECT count(*)::int FROM gone"
            )
        ((count,),) = self._ask(statement, {"seconds": days * 86400})
        return int(count)

    def _trim(self, days: float | None, dry_run: bool) -> int:
        if days is None:
            return 0
        values = {"off_the_market": list(OFF_THE_MARKET), "seconds": days * 86400}
        if dry_run:
            ((count,),) = self._ask(f"SELECT count(*)::int FROM listings WHERE {_HAS_TEXTS}", values)
            return int(count)
        values |= {"lock": LOCK, "flag": TRIMMED, "texts": list(TEXTS)}
        total = 0
        while due := self._ask(_DUE, values):
            for some in (due[start : start + _TOGETHER] for start in range(0, len(due), _TOGETHER)):
                keys = {"portals": [portal for portal, _ in some], "refs": [ref for _, ref in some]}
                total += self._ask(_TRIM, {**values, **keys})[0][0]
        return total


@dataclass(frozen=True, slots=True)
class Limits:
    """A finding is reported beyond these."""

    smallest_bytes: int = 10 * 1024 * 1024
    """Smaller indexes are not checked."""
    bloat: float = 2.0
    """An index is too large if it has this many times the size that its entries need."""
    unused: timedelta = timedelta(days=30)
    transaction: timedelta = timedelta(hours=1)
    """An open transaction prevents the cleaning of rows that were deleted after its start."""
    age: float = 0.5
    """The share of transaction numbers that may be in use."""


#: PostgreSQL refuses to write at this age.
_TRANSACTIONS = 2_000_000_000
#: The names of indexes that an interrupted REINDEX CONCURRENTLY leaves; the real index exists beside them.
_LEFT_BEHIND = re.compile(r"_cc(new|old)\d*$")
_PAGE = 8192
_PAGE_USED = 8152
_ENTRY = 12
_FILLED = 0.9

_TABLES = """
    SELECT quote_ident(stat.relname) AS name, pg_total_relation_size(stat.relid) AS bytes, n_dead_tup AS dead,
        current_setting('autovacuum_vacuum_threshold')::float
            + current_setting('autovacuum_vacuum_scale_factor')::float * greatest(table_.reltuples, 0) AS tolerated
    FROM pg_stat_user_tables AS stat JOIN pg_class AS table_ ON table_.oid = stat.relid
    WHERE stat.schemaname = current_schema() ORDER BY bytes DESC, name
"""
_INDEXES = """
    SELECT quote_ident(index_.relname) AS name, pg_relation_size(index_.oid) AS bytes, definition.indisvalid AS valid,
        EXISTS (SELECT FROM pg_stat_progress_create_index AS now WHERE now.index_relid = index_.oid) AS building,
        stat.idx_scan > 0 OR definition.indisunique AS used,
        method.amname = 'btree' AS is_tree, greatest(index_.reltuples, 0) AS entries,
        (SELECT coalesce(sum(coalesce(width.avg_width, 8)), 8) FROM pg_attribute AS part
         LEFT JOIN pg_stats AS width ON width.schemaname = current_schema() AND width.tablename = stat.relname
             AND width.attname = part.attname
         WHERE part.attrelid = index_.oid)::float AS width
    FROM pg_stat_user_indexes AS stat
    JOIN pg_class AS index_ ON index_.oid = stat.indexrelid JOIN pg_am AS method ON method.oid = index_.relam
    JOIN pg_index AS definition ON definition.indexrelid = stat.indexrelid
    WHERE stat.schemaname = current_schema() ORDER BY name
"""
_WATCHED_FOR = """
    SELECT now() - coalesce(stats_reset, pg_postmaster_start_time()) FROM pg_stat_database
    WHERE datname = current_database()
"""
_AGE = "SELECT age(datfrozenxid) FROM pg_database WHERE datname = current_database()"
_OLDEST = """
    SELECT pid, now() - xact_start, coalesce(nullif(application_name, ''), usename, '?') FROM pg_stat_activity
    WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
    ORDER BY xact_start LIMIT 1
"""
_PARTITIONED = "SELECT count(*) FROM pg_class WHERE relkind = 'p' AND relnamespace = current_schema()::regnamespace"


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    bytes: int
    dead: int
    tolerated: float
    """The number of dead rows at which autovacuum should start."""


@dataclass(frozen=True, slots=True)
class Index:
    name: str
    bytes: int
    valid: bool
    building: bool
    used: bool
    is_tree: bool
    entries: float
    width: float

    @property
    def needed(self) -> float:
        """The estimated size in bytes: each entry with its header, rounded up to 8 bytes, in pages 90 % full."""
        entry = _ENTRY + (self.width + 7) // 8 * 8
        return max(_PAGE, self.entries * entry / _FILLED * _PAGE / _PAGE_USED)


class Maintenance(Statements):
    """Checks and repairs the database."""

    limits = Limits()

    def upkeep(self) -> Iterator[Finding]:
        with self._without_time_limit():
            tables = [Table(*row) for row in self._ask(_TABLES)]
            yield self._analyzed(tables)
            yield from (self._cleaned(table) for table in tables if table.dead > 2 * table.tolerated)
            indexes = [Index(*row) for row in self._ask(_INDEXES)]
            yield from (self._repaired(each) for each in indexes if not each.valid and not each.building)
            (watched_for,) = self._ask(_WATCHED_FOR)[0]
            yield from judged_indexes([each for each in indexes if each.valid], watched_for, self.limits)
            yield judged_age(self._ask(_AGE)[0][0], self.limits)
            yield judged_transactions(self._ask(_OLDEST), self.limits)
            yield Finding("sizes", ", ".join(f"{table.name} {_size(table.bytes)}" for table in tables))
            yield Finding("partitions", f"{self._ask(_PARTITIONED)[0][0]} tables are partitioned")

    @contextmanager
    def _without_time_limit(self) -> Iterator[None]:
        """Run without a statement timeout: a large index takes longer than the limit for workers."""
        ((usual,),) = self._ask("SELECT current_setting('statement_timeout')")
        self._ask("SET statement_timeout = 0")
        try:
            yield
        finally:
            self._ask("SELECT set_config('statement_timeout', %s, false)", (usual,))

    def _analyzed(self, tables: list[Table]) -> Finding:
        begun = time.monotonic()
        self._ask(f"ANALYZE {', '.join(table.name for table in tables)}", watched=False)
        seconds = time.monotonic() - begun
        return Finding("statistics", f"{len(tables)} tables analysed in {seconds:.1f} s", "", "repaired")

    def _cleaned(self, table: Table) -> Finding:
        self._ask(f"VACUUM {table.name}", watched=False)
        found = (
            f"{table.name}: {table.dead} dead rows; autovacuum should have started at {table.tolerated:.0f}; vacuumed"
        )
        return Finding("dead rows", found, "is autovacuum off, or hindered by an old transaction?", "repaired")

    def _repaired(self, index: Index) -> Finding:
        if _LEFT_BEHIND.search(index.name.strip('"')):
            self._ask(f"DROP INDEX CONCURRENTLY {index.name}", watched=False)
            found = f"{index.name}: left by an interrupted REINDEX; dropped"
            return Finding("index", found, "", "repaired")
        self._ask(f"REINDEX INDEX CONCURRENTLY {index.name}", watched=False)
        return Finding("index", f"{index.name}: was invalid; built again", "", "repaired")


def judged_indexes(indexes: list[Index], watched_for: timedelta, limits: Limits) -> list[Finding]:
    found = []
    for index in (each for each in indexes if each.bytes >= limits.smallest_bytes):
        if index.is_tree and index.bytes > limits.bloat * index.needed:
            text = f"{index.name}: {_size(index.bytes)}, its entries need about {_size(index.needed)}"
            found.append(Finding("index", text, f"REINDEX INDEX CONCURRENTLY {index.name}", "advice"))
        if not index.used and watched_for >= limits.unused:
            text = f"{index.name}: {_size(index.bytes)}, not used in {watched_for.days} days"
            found.append(
                Finding("index", text, f"if no standby needs it: DROP INDEX CONCURRENTLY {index.name}", "advice")
            )
    return found or [Finding("indexes", f"{len(indexes)} checked, no fault found")]


def judged_age(age: int, limits: Limits) -> Finding:
    share = age / _TRANSACTIONS
    text = f"{age:,} transactions old, {share:.0%} of what PostgreSQL can distinguish"
    if share < limits.age:
        return Finding("age", text)
    return Finding("age", text, "VACUUM FREEZE the database; find out what prevents autovacuum", "fault")


def judged_transactions(oldest: list[tuple[Any, ...]], limits: Limits) -> Finding:
    if not oldest or oldest[0][1] < limits.transaction:
        return Finding("transactions", "no old transaction is open")
    pid, open_for, who = oldest[0]
    text = f"{who} has had one open for {open_for.total_seconds() / 3600:.1f} h: dead rows cannot be cleaned meanwhile"
    return Finding("transactions", text, f"end it, or: SELECT pg_terminate_backend({pid})", "fault")


def _size(size: float) -> str:
    for unit in ("B", "KB", "MB"):
        if size < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.1f} GB"

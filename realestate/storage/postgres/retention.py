"""Contacts, retention and erasure."""

from collections.abc import Sequence

from psycopg2.extras import execute_values

from realestate.storage.changes import OFF_THE_MARKET
from realestate.storage.contacts import Sealed
from realestate.storage.maintenance import TEXTS, TRIMMED, Erased, Expired
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

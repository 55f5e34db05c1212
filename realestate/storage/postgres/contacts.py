"""Persons, sealed, beside their listings."""

from collections.abc import Sequence

from psycopg2.extras import execute_values

from realestate.storage.contacts import Sealed
from realestate.storage.postgres.connection import Connection
from realestate.storage.postgres.erased import stays_away

#: Who was erased stays away, and so does whose listing was.
_KEEP = f"""
    INSERT INTO contacts (portal, ref, source, sealed, lookups, expires_at)
    SELECT portal, ref, source, sealed, marks, now() + days * interval '1 day'
    FROM (VALUES %s) AS found (portal, ref, source, sealed, marks, days)
    WHERE NOT {stays_away("found")}
      AND NOT EXISTS (SELECT FROM erased WHERE kind = 'contact' AND what = ANY (found.marks))
    ON CONFLICT (portal, ref, source) DO UPDATE
    SET sealed = excluded.sealed, lookups = excluded.lookups, expires_at = excluded.expires_at
"""


class ContactsKept:
    """The part of the store that keeps persons apart."""

    connection: Connection

    def keep_contacts(self, contacts: Sequence[Sealed], days: int) -> None:
        newest = {(each.portal, each.ref, each.source): each for each in contacts}
        rows = [(*key, each.sealed, list(each.marks), days) for key, each in sorted(newest.items())]
        with self.connection.cursor() as cursor:
            execute_values(cursor, _KEEP, rows, "(%s, %s, %s, %s::bytea, %s::text[], %s)")

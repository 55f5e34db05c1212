"""Read the rows that belong to a span of events, for the lake."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from realestate.storage.lake import LAKE_TABLES, LakeTableName, Span
from realestate.storage.postgres.connection import Statements
from realestate.storage.postgres.export import UNHURRIED, PostgresExport

#: The listings with events of the span.
_TOUCHED = """
    SELECT portal, ref, max(seq) AS seq, max(at) AS changed_at, max(revision) AS newest,
           (SELECT max(revision) FROM events AS earlier
            WHERE (earlier.portal, earlier.ref) = (events.portal, events.ref) AND earlier.seq <= %(after)s) AS before
    FROM events WHERE seq > %(after)s AND seq <= %(upto)s GROUP BY portal, ref
"""
_SOURCES: dict[LakeTableName, str] = {
    "events": "(SELECT * FROM events WHERE seq > %(after)s AND seq <= %(upto)s) AS events",
    "prices": f"""(
        SELECT prices.*, (
            SELECT min(seq) FROM events AS own
            WHERE (own.portal, own.ref) = (prices.portal, prices.ref) AND own.revision >= prices.revision
        ) AS seq
        FROM ({_TOUCHED}) AS touched JOIN prices USING (portal, ref)
        WHERE prices.revision > coalesce(before, -1) AND prices.revision <= newest
    ) AS prices""",
    "versions": f"""(
        SELECT listings.*, touched.seq, touched.changed_at
        FROM ({_TOUCHED}) AS touched JOIN listings USING (portal, ref)
        WHERE NOT EXISTS (
            SELECT FROM events AS later
            WHERE (later.portal, later.ref) = (touched.portal, touched.ref) AND later.seq > %(upto)s
        )
    ) AS versions""",
}


class LakeReader(Statements):
    """See `LakeStore`."""

    def erased_listings(self) -> Sequence[tuple[str, str]]:
        rows = self._ask("SELECT what FROM erased WHERE kind = 'listing'")
        return [(portal, ref) for portal, _, ref in (what.partition("/") for (what,) in rows)]

    @contextmanager
    def changed(self, name: LakeTableName, span: Span) -> Iterator[PostgresExport]:
        with self.connection.cursor(watched=False) as cursor:
            cursor.execute(f"BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; {UNHURRIED}")
            source = cursor.mogrify(_SOURCES[name], span._asdict()).decode()
            yield PostgresExport(self.connection.url, cursor, LAKE_TABLES[name], source)
            cursor.execute("ROLLBACK")

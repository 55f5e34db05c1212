"""Field coverage, counted in a sample of the table `listings`."""

from collections.abc import Sequence
from datetime import datetime

from realestate.storage.coverage import COVERED, FieldCoverage
from realestate.storage.postgres.connection import Connection
from realestate.storage.postgres.sampling import sampled, times


def _known(field: str) -> str:
    """The expression that counts the listings with a value. No photo is an empty list."""
    return "count(*) FILTER (WHERE photos <> '{}')" if field == "photos" else f"count({field})"


def _statement() -> str:
    counts = ", ".join(
        f"round({counted} * {times('listings')})::int" for counted in ("count(*)", *map(_known, COVERED))
    )
    return f"""
        SELECT portal, (last_fetched_at AT TIME ZONE 'UTC')::date, {counts}
        FROM {sampled("listings")} WHERE last_fetched_at >= %s GROUP BY 1, 2 ORDER BY 1, 2
    """


class Coverage:
    """See `CoverageStore`."""

    connection: Connection

    def field_coverage(self, since: datetime) -> Sequence[FieldCoverage]:
        with self.connection.cursor() as cursor:
            cursor.execute(_statement(), (since,))
            return [
                FieldCoverage(portal, day, listings, dict(zip(COVERED, known, strict=True)))
                for portal, day, listings, *known in cursor
            ]

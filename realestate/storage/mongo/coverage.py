"""Field coverage, counted here from the documents of these days."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime

from realestate.storage.coverage import COVERED, FieldCoverage
from realestate.storage.mongo.connection import Connection

_SHOWN = dict.fromkeys(("portal", "last_fetched_at", *COVERED), 1)


class Coverage:
    """See `CoverageStore`."""

    connection: Connection

    def field_coverage(self, since: datetime) -> Sequence[FieldCoverage]:
        listings: Counter[tuple[str, date]] = Counter()
        known: dict[tuple[str, date], Counter[str]] = {}
        with self.connection.database() as database:
            for each in database["listings"].find({"last_fetched_at": {"$gte": since}}, _SHOWN):
                key = (each["portal"], each["last_fetched_at"].astimezone(UTC).date())
                listings[key] += 1
                # A missing value has no field; no photo is an empty list or no field.
                known.setdefault(key, Counter()).update(name for name in COVERED if each.get(name) not in (None, []))
        return [
            FieldCoverage(*key, count, {name: known[key][name] for name in COVERED})
            for key, count in sorted(listings.items())
        ]

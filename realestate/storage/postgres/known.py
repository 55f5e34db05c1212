"""What the database knows of some listings, in one read. Of those that did not change, only that."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any

from realestate.items import Listing, Sighting
from realestate.storage.changes import OFF_THE_MARKET, SAME
from realestate.storage.history import State
from realestate.storage.postgres.connection import Connection
from realestate.storage.postgres.rows import COLUMNS, STATE, arrays, state_of, unnested
from realestate.storage.tally import Key, Observations

_ASKED = {"portal": "text", "ref": "text", "whole": "boolean", "price": "numeric"} | {
    name: COLUMNS[name] for name in SAME
}
_AS_BEFORE = ", ".join(f"asked.{name}" for name in SAME), ", ".join(f"known.{name}" for name in SAME)
#: Nothing is left to decide: see `changes.SAME`; of a sighting, its price.
_UNCHANGED = f"""
    NOT asked.whole AND known.revision > 0 AND known.suspect_price IS NULL AND known.status <> ALL (%(off_the_market)s)
    AND CASE WHEN asked.content_hash IS NULL THEN coalesce(asked.price = known.price, asked.price IS NULL)
        ELSE ({_AS_BEFORE[0]}) IS NOT DISTINCT FROM ({_AS_BEFORE[1]}) END
"""
#: A row that tells the time and what is unchanged, by its place and revision, and one for each of the others that is
#: known. By the index also where the table is small, or nobody has counted it yet: to read all of it takes longer.
_KNOWN = f"""
    SET LOCAL enable_seqscan = off;
    WITH seen AS MATERIALIZED (
        SELECT place, portal, ref, known.revision, {_UNCHANGED} AS unchanged
        FROM {unnested("asked", _ASKED)} JOIN listings AS known USING (portal, ref)
    )
    SELECT told.*, whole.* FROM (
        SELECT now(), array_agg(place), array_agg(revision) FROM seen WHERE unchanged
    ) AS told FULL JOIN (
        SELECT place, {", ".join(f"known.{name}" for name in STATE)}
        FROM seen JOIN listings AS known USING (portal, ref) WHERE NOT unchanged
    ) AS whole ON false
"""


@dataclass(frozen=True, slots=True)
class Known:
    """Of each listing that is stored: its revision if it is unchanged, its state if that has to be compared."""

    now: datetime
    unchanged: Mapping[Key, int]
    states: Mapping[Key, State]


def known_of(connection: Connection, observations: Mapping[Key, Observations]) -> Known:
    asked = arrays("asked", _ASKED, [_asked(key, observed) for key, observed in observations.items()])
    with connection.cursor() as cursor:
        cursor.execute(_KNOWN, {**asked, "off_the_market": list(OFF_THE_MARKET)})
        rows = cursor.fetchall()
    keys = list(observations)
    ((now, places, revisions),) = (row[:3] for row in rows if row[0] is not None)
    unchanged = {keys[place - 1]: revision for place, revision in zip(places or (), revisions or (), strict=True)}
    states = {keys[row[3] - 1]: state_of(row[4:]) for row in rows if row[0] is None}
    return Known(now, unchanged, states)


def _asked(key: Key, observed: Observations) -> tuple[Any, ...]:
    """The values of _ASKED."""
    item = observed[0][0] if len(observed) == 1 else None
    if isinstance(item, Listing) and item.content_hash is not None:
        return (*key, False, None, *_same(item))
    if isinstance(item, Sighting):
        return (*key, False, item.price, *_NOT_READ)
    return (*key, True, None, *_NOT_READ)


_same = attrgetter(*SAME)
_NOT_READ = (None,) * len(SAME)

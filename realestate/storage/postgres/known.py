"""What the database knows of some listings, in one read. Of those that did not change, only that."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from realestate.items import Listing, Sighting
from realestate.storage.changes import OFF_THE_MARKET, SAME
from realestate.storage.history import State
from realestate.storage.postgres.connection import Connection
from realestate.storage.postgres.copying import encoded
from realestate.storage.postgres.rows import COLUMNS, STATE, as_json, recordset, state_of
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
_KNOWN = f"""
    SELECT clock.now, seen.portal, seen.ref, seen.revision, seen.unchanged, {", ".join(f"whole.{n}" for n in STATE)}
    FROM (SELECT now() AS now) AS clock
    LEFT JOIN (
        SELECT portal, ref, known.revision, {_UNCHANGED} AS unchanged
        FROM {recordset("asked", _ASKED)} JOIN listings AS known USING (portal, ref)
    ) AS seen ON true
    LEFT JOIN listings AS whole ON whole.portal = CASE WHEN NOT seen.unchanged THEN seen.portal END
        AND whole.ref = seen.ref -- what is unchanged is not even looked up
"""


@dataclass(frozen=True, slots=True)
class Known:
    """Of each listing that is stored: its revision if it is unchanged, its state if that has to be compared."""

    now: datetime
    unchanged: Mapping[Key, int]
    states: Mapping[Key, State]


def known_of(connection: Connection, observations: Mapping[Key, Observations]) -> Known:
    asked = as_json(_asked(key, observed) for key, observed in observations.items())
    unchanged: dict[Key, int] = {}
    states: dict[Key, State] = {}
    with connection.cursor() as cursor:
        cursor.execute(_KNOWN, {"asked": asked, "off_the_market": list(OFF_THE_MARKET)})
        for now, portal, ref, revision, is_unchanged, *whole in cursor:  # noqa: B007
            if is_unchanged:
                unchanged[portal, ref] = revision
            elif revision is not None:
                states[portal, ref] = state_of(tuple(whole))
    return Known(now, unchanged, states)


def _asked(key: Key, observed: Observations) -> bytes:
    asked: dict[str, Any] = {"portal": key[0], "ref": key[1], "whole": False}
    item = observed[0][0] if len(observed) == 1 else None
    if isinstance(item, Sighting):
        asked["price"] = item.price
    elif isinstance(item, Listing) and item.content_hash is not None:
        asked |= {name: getattr(item, name) for name in SAME}
    else:
        asked["whole"] = True
    return encoded(asked)

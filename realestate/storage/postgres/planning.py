"""What spiders plan by: the parts of a run's searches, and the listings that are due."""

from collections.abc import Sequence
from dataclasses import asdict, fields

from realestate.items import Part
from realestate.storage.changes import OFF_THE_MARKET
from realestate.storage.postgres.asking import Asking
from realestate.storage.store import DUE_AT_ONCE, DUE_LATEST, DUE_SOONEST, Unread

_PART = [each.name for each in fields(Part)]
_KEEP = f"""
    INSERT INTO parts (run, {", ".join(_PART)}) VALUES (%(run)s, {", ".join(f"%({name})s" for name in _PART)})
    ON CONFLICT (run, search) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _PART)}
"""
#: `revision` counts the changes, and the first time it was seen.
_DUE = """
    SELECT ref, url, rent_period FROM (
        SELECT ref, url, rent_period, last_fetched_at + least(%(latest)s::interval, greatest(%(soonest)s::interval,
            (last_fetched_at - first_seen_at) / (2 * greatest(revision, 1)))) AS at
        FROM listings WHERE portal = %(portal)s AND status <> ALL (%(off_the_market)s)
    ) AS due WHERE at <= now() ORDER BY at LIMIT %(limit)s
"""


class Planning(Asking):
    """The part of the store that is asked before pages are."""

    def keep_part(self, run: str, part: Part) -> None:
        self._ask(_KEEP, {"run": run, **asdict(part)})

    def parts(self, run: str) -> Sequence[Part]:
        rows = self._ask(f"SELECT {', '.join(_PART)} FROM parts WHERE run = %(run)s ORDER BY search", {"run": run})
        return [Part(**dict(zip(_PART, row, strict=True))) for row in rows]

    def due(self, portal: str, limit: int = DUE_AT_ONCE) -> Sequence[Unread]:
        bounds = {"soonest": f"{DUE_SOONEST} days", "latest": f"{DUE_LATEST} days"}
        told = {"portal": portal, "limit": limit, "off_the_market": list(OFF_THE_MARKET), **bounds}
        return [Unread(*row) for row in self._ask(_DUE, told)]

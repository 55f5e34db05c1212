"""What spiders plan by: the parts of a run's searches, and the listings that are due."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from datetime import datetime, timedelta
from heapq import nsmallest

from realestate.items import Part
from realestate.storage.changes import OFF_THE_MARKET
from realestate.storage.mongo.connection import Connection, Document, server_time
from realestate.storage.store import DUE_AT_ONCE, DUE_LATEST, DUE_SOONEST, Unread

_PART = [each.name for each in fields(Part)]
_TIMED = dict.fromkeys(("ref", "url", "rent_period", "revision", "first_seen_at", "last_fetched_at"), 1)


class Planning:
    """The part of the store that is asked before pages are."""

    connection: Connection

    def keep_part(self, run: str, part: Part) -> None:
        told = {"run": run, **asdict(part)}
        with self.connection.database() as database:
            database["parts"].update_one({"_id": part_name(run, part.search)}, {"$set": told}, upsert=True)

    def parts(self, run: str) -> Sequence[Part]:
        with self.connection.database() as database:
            found = list(database["parts"].find({"run": run}))
        return [Part(**{name: each[name] for name in _PART}) for each in sorted(found, key=lambda each: each["search"])]

    def due(self, portal: str, limit: int = DUE_AT_ONCE) -> Sequence[Unread]:
        """The time of each is reckoned here, but only the next few are held."""
        with self.connection.database() as database:
            now = server_time(database)
            offered = {"portal": portal, "status": {"$nin": list(OFF_THE_MARKET)}}
            timed = _timed(database["listings"].find(offered, _TIMED))
            overdue = nsmallest(limit, (each for each in timed if each[0] <= now))
            return [Unread(ref, url, period or None) for _, ref, url, period in overdue]


def part_name(run: str, search: str) -> str:
    return f"{run}:{search}"


def _timed(found: Iterable[Document]) -> Iterator[tuple[datetime, str, str, str]]:
    """`revision` counts the changes, and the first time it was seen."""
    for each in found:
        read_at, changes = each["last_fetched_at"], max(each["revision"], 1)
        wait = (read_at - each["first_seen_at"]) / (2 * changes)
        wait = min(max(wait, timedelta(days=DUE_SOONEST)), timedelta(days=DUE_LATEST))
        yield read_at + wait, each["ref"], each["url"], each.get("rent_period") or ""

"""Pages that were read again: what they correct, and what they bring in that was too bad before."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from pymongo.database import Database

from realestate.items import Listing
from realestate.storage.keeping import SLACK, Current
from realestate.storage.mongo.change import Change, apply
from realestate.storage.mongo.connection import REFUSED, Connection, Document, Refused, server_time
from realestate.storage.mongo.documents import as_kept, id_of, moment, state_of
from realestate.storage.mongo.erased import is_tombstone
from realestate.storage.mongo.known import documents_of, found_of
from realestate.storage.mongo.writing import is_repriced
from realestate.storage.releasing import fetched, release

_STATE = {"events": 0, "prices": 0}


class Releasing:
    """The part of the store that takes what comes late."""

    connection: Connection

    def current(self, portal: str, refs: Sequence[str]) -> Mapping[str, Current]:
        with self.connection.database() as database:
            found = documents_of(database, [id_of(portal, ref) for ref in refs], {"events": 0})
        return {each["ref"]: Current(state_of(each), is_repriced(each)) for each in found.values()}

    def release(self, listings: Sequence[Listing], run: str) -> Mapping[str, int]:
        """One by one: each at its own time, and the same listing perhaps several times."""
        counts: Counter[str] = Counter()
        with self.connection.database() as database:
            for listing in listings:
                try:
                    counts[_released(database, as_kept(listing), run)] += 1
                except REFUSED:
                    counts["refused"] += 1
        return counts


def _released(database: Database[Document], listing: Listing, run: str) -> str:
    """What became of it; again, as long as somebody else has written it meanwhile."""
    id = id_of(listing.portal, listing.ref)
    while True:
        now, known = server_time(database), found_of(database, [id], _STATE).get(id)
        if known is not None and is_tombstone(known):
            return "erased"
        before, at = state_of(known) if known else None, moment(fetched(listing, now))
        outcome = release(before, listing, run, now)
        if outcome.changed(before):
            applied = apply(database, [Change(before, outcome, at, run)])
            if applied.refused:
                raise Refused(applied.refused[0][1])
            if applied.lost:
                continue
        _seen_then(database, listing, at)
        return "released"


def _seen_then(database: Database[Document], listing: Listing, at: datetime) -> None:
    """It was seen and read then, if not later."""
    key = {"portal": listing.portal, "ref": listing.ref}
    seen = {"$max": {"last_seen_at": at, "last_fetched_at": at}}
    database["listings"].update_one({"_id": id_of(**key), **key}, seen)
    database["quarantine"].delete_many({**key, "quarantined_at": {"$lte": at + SLACK}})

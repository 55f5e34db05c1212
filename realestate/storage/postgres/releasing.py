"""Pages that were read again: what they correct, and what they bring in that was too bad before."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from realestate.items import Listing
from realestate.storage.keeping import SLACK, Current
from realestate.storage.postgres.asking import Asking
from realestate.storage.postgres.erased import erased_among
from realestate.storage.postgres.known import known_of
from realestate.storage.postgres.merge import Change, Merge
from realestate.storage.postgres.writing import Writing, _until_written
from realestate.storage.releasing import fetched, release
from realestate.storage.tally import Key

#: It was seen and read then, if not later.
_SEEN_THEN = """
    UPDATE listings
    SET last_seen_at = greatest(last_seen_at, %(at)s), last_fetched_at = greatest(last_fetched_at, %(at)s)
    WHERE portal = %(portal)s AND ref = %(ref)s;
    DELETE FROM quarantine WHERE portal = %(portal)s AND ref = %(ref)s AND quarantined_at <= %(at)s + %(slack)s
"""


class Releasing(Writing, Asking):
    """The part of the store that takes what comes late."""

    def current(self, portal: str, refs: Sequence[str]) -> Mapping[str, Current]:
        known = known_of(self.connection, {(portal, ref): () for ref in refs})
        repriced = self._repriced(known.states)
        return {key[1]: Current(state, key in repriced) for key, state in known.states.items()}

    def release(self, listings: Sequence[Listing], run: str) -> Mapping[str, int]:
        """One by one: each at its own time, and the same listing perhaps several times."""
        counts: Counter[str] = Counter()

        def refuse(_: Listing, error: Exception) -> None:
            counts["refused"] += 1

        for listing in listings:
            _until_written({(listing.portal, listing.ref): listing}, partial(self._release, run, counts), refuse)
        return counts

    def _release(self, run: str, counts: Counter[str], listings: Mapping[Key, Listing]) -> set[Key]:
        ((key, listing),) = listings.items()
        known = known_of(self.connection, {key: ()})
        before, at = known.states.get(key), fetched(listing, known.now)
        outcome = release(before, listing, run, known.now)
        if outcome.changed(before):
            lost = Merge(at, [Change(before, outcome, run)]).into(self.connection).lost
            if lost and erased_among(self.connection, lost):
                counts["erased"] += 1
                return set()
            if lost:
                return lost
        self._ask(_SEEN_THEN, {"portal": key[0], "ref": key[1], "at": at, "slack": SLACK})
        counts["released"] += 1
        return set()

"""Writing: read what is known, decide, merge; again for what somebody else has written meanwhile."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from realestate.items import Listing, Sighting
from realestate.storage.changes import correct, decide
from realestate.storage.errors import StoreError
from realestate.storage.others import last_of_each
from realestate.storage.postgres.connection import Connection, Refused
from realestate.storage.postgres.erased import erased_among
from realestate.storage.postgres.known import Known, known_of
from realestate.storage.postgres.merge import Change, Merge, Touch
from realestate.storage.postgres.others import observe_others
from realestate.storage.store import Batch, Written
from realestate.storage.tally import Key, Observations, Tally, by_listing, is_read, is_seen

T = TypeVar("T")

#: What a listing can do wrong: to the rules, on its way into JSON, or to PostgreSQL.
_REFUSED = (Refused, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)

#: Listings whose price was told by a search page, after their own.
_REPRICED = """
    SELECT portal, ref FROM (
        SELECT DISTINCT ON (portal, ref) portal, ref, source
        FROM prices WHERE portal = ANY (%s) AND ref = ANY (%s) AND NOT suspect ORDER BY portal, ref, revision DESC
    ) AS newest WHERE source = 'search'
"""


class Writing:
    """The part of the store that writes listings."""

    connection: Connection

    def write(self, batch: Batch) -> Written:
        tally = Tally(list(batch.quarantined), batch.snapshots)
        _until_written(by_listing(batch), partial(self._observe, tally), tally.refuse)
        _until_written(last_of_each(batch.others), partial(observe_others, self.connection, tally), tally.refuse_other)
        if tally.quarantined or tally.snapshots:
            self._merge(Merge(), tally)
        return tally.written()

    def correct(self, listings: Sequence[Listing], run: str) -> Mapping[str, int]:
        """How many were `corrected`, `unchanged`, `unknown` and `refused`."""
        counts: Counter[str] = Counter()

        def refuse(_: Listing, error: Exception) -> None:
            counts["refused"] += 1

        waiting = {(listing.portal, listing.ref): listing for listing in listings}
        _until_written(waiting, partial(self._correct, run, counts), refuse)
        return counts

    def _observe(self, tally: Tally, observations: Mapping[Key, Observations]) -> set[Key]:
        known = known_of(self.connection, observations)
        merge = Merge(known.now)
        for key, observed in observations.items():
            _plan(merge, key, observed, known)
        lost = self._merge(merge, tally)
        erased = erased_among(self.connection, lost) if lost else set()
        for key, observed in observations.items():
            if key not in lost:
                tally.count(observed, is_known=key in known.unchanged or key in known.states)
        return lost - erased

    def _merge(self, merge: Merge, tally: Tally) -> set[Key]:
        merge.quarantined, merge.snapshots = tally.quarantined, tally.snapshots
        try:
            done = merge.into(self.connection)
        except _REFUSED as error:
            if not merge.changes and not merge.touches and not merge.departures:
                raise StoreError(f"PostgreSQL refuses even to quarantine: {error}") from error
            raise
        tally.kept += len(tally.quarantined)
        tally.events += done.events
        tally.quarantined, tally.snapshots = [], ()
        return done.lost

    def _correct(self, run: str, counts: Counter[str], listings: Mapping[Key, Listing]) -> set[Key]:
        known = known_of(self.connection, dict.fromkeys(listings, ()))
        repriced = self._repriced(known.states)
        changes: dict[Key, Change] = {}
        for key, state in known.states.items():
            outcome = correct(state, listings[key], run, known.now, repriced=key in repriced)
            if outcome.changed(state):
                changes[key] = Change(state, outcome, run)
        lost = Merge(changes=list(changes.values())).into(self.connection).lost if changes else set()
        counts["corrected"] += len(changes) - len(lost)
        counts["unchanged"] += len(known.states) - len(changes)
        counts["unknown"] += len(listings) - len(known.states)
        return lost

    def _repriced(self, keys: Mapping[Key, object]) -> set[Key]:
        with self.connection.cursor() as cursor:
            cursor.execute(_REPRICED, ([portal for portal, _ in keys], [ref for _, ref in keys]))
            return set(cursor.fetchall())


def _until_written(
    work: Mapping[Key, T], act: Callable[[Mapping[Key, T]], set[Key]], refuse: Callable[[T, Exception], None]
) -> None:
    """What somebody else has written meanwhile is done again; what spoils a batch is found by halves."""
    while work:
        try:
            lost = act(work)
        except _REFUSED as error:
            keys = list(work)
            if len(keys) == 1:
                refuse(work[keys[0]], error)
                return
            half = len(keys) // 2
            for part in (keys[:half], keys[half:]):
                _until_written({key: work[key] for key in part}, act, refuse)
            return
        work = {key: work[key] for key in lost}


def _plan(merge: Merge, key: Key, observed: Observations, known: Known) -> None:
    run = observed[-1][1]
    if key in known.unchanged:
        merge.touches.append(Touch(*key, known.unchanged[key], run, is_read(observed)))
        return
    before = known.states.get(key)
    if before is None and len(observed) == 1 and isinstance(observed[0][0], Sighting):
        return  # of what nobody has read: nothing to decide
    outcome = decide(before, observed, known.now)
    merge.departures += outcome.evidence
    if outcome.changed(before):
        merge.changes.append(Change(before, outcome, run, is_seen(observed), is_read(observed)))
    elif before is not None and is_seen(observed) and not outcome.evidence:
        merge.touches.append(Touch(*key, before.revision, run, is_read(observed)))

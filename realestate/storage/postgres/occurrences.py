"""The timetable's occurrences."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime

from realestate.storage.occurrences import Occurrence
from realestate.storage.postgres.connection import Statements

_NAMES = tuple(each.name for each in fields(Occurrence))
_COLUMNS = ", ".join(_NAMES)
_ADD = """
    INSERT INTO occurrences (entry, due_at, decision, reason)
    SELECT * FROM unnest(%s::text[], %s::timestamptz[], %s::text[], %s::text[])
    ON CONFLICT (entry, due_at) DO NOTHING
"""
_CLAIM = """
    UPDATE occurrences SET claimed_until = now() + %s * interval '1 second'
    WHERE (entry, due_at) = (%s, %s) AND done_at IS NULL AND coalesce(claimed_until, '-infinity') < now()
    RETURNING entry
"""
_DONE = """
    UPDATE occurrences SET done_at = coalesce(done_at, now()), job = coalesce(job, %s), error = coalesce(error, %s)
    WHERE (entry, due_at) = (%s, %s)
"""


class StoredOccurrences(Statements):
    """See `storage.occurrences.Occurrences`."""

    def add_occurrences(self, occurrences: Sequence[Occurrence]) -> None:
        if occurrences:
            columns = ("entry", "due_at", "decision", "reason")
            self._ask(_ADD, [[getattr(each, name) for each in occurrences] for name in columns])

    def last_occurrences(self) -> Mapping[str, datetime]:
        return dict(self._ask("SELECT entry, max(due_at) FROM occurrences GROUP BY entry"))

    def occurrences(
        self, entry: str | None = None, limit: int = 20, *, undone: bool = False, before: datetime | None = None
    ) -> Sequence[Occurrence]:
        conditions = {
            "entry = %(entry)s": entry is not None,
            "decision = 'start' AND done_at IS NULL": undone,
            "decision = 'start' AND due_at < %(before)s": before is not None,
        }
        wanted = " AND ".join([text for text, is_asked in conditions.items() if is_asked] or ["true"])
        statement = f"SELECT {_COLUMNS} FROM occurrences WHERE {wanted} ORDER BY due_at DESC, entry LIMIT %(limit)s"
        rows = self._ask(statement, {"entry": entry, "before": before, "limit": limit})
        return [Occurrence(**dict(zip(_NAMES, row, strict=True))) for row in rows]

    def claim_occurrence(self, entry: str, due_at: datetime, seconds: float) -> bool:
        return bool(self._ask(_CLAIM, (seconds, entry, due_at)))

    def occurrence_done(self, entry: str, due_at: datetime, job: str | None = None, error: str | None = None) -> None:
        self._ask(_DONE, (job, error, entry, due_at))

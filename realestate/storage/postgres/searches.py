"""Saved searches, and waiting for events by LISTEN and NOTIFY."""

import select
from collections.abc import Sequence
from time import monotonic
from typing import Any
from uuid import uuid4

from realestate.storage.history import EventType
from realestate.storage.postgres.connection import Duplicate, Statements
from realestate.storage.searches import NameTaken, Search

#: The channel on which the trigger `events_notify` says that there are new events.
CHANNEL = "realestate_events"
_COLUMNS = 'id, name, filter, "on", notify, is_paused, after, created_at'
_NEWEST = "(SELECT coalesce(max(seq), 0) FROM events)"
_SAVE = f"""
    INSERT INTO searches (id, name, filter, "on", notify, after) VALUES (%s, %s, %s, %s, %s, {_NEWEST})
    RETURNING {_COLUMNS}
"""
#: A search that is resumed gets what happens from now on.
_PAUSE = f"""
    UPDATE searches SET is_paused = %(paused)s, after = CASE WHEN %(paused)s THEN after ELSE {_NEWEST} END
    WHERE id = %(id)s RETURNING 1
"""
_FOLLOWED = "SELECT seq FROM cursors WHERE name = 'searches'"
_BEGIN = f"INSERT INTO cursors (name, seq) VALUES ('searches', {_NEWEST}) ON CONFLICT (name) DO NOTHING"
_FOLLOW = "UPDATE cursors SET seq = greatest(seq, %s) WHERE name = 'searches'"


class SavedSearches(Statements):
    """See `SearchStore`."""

    def save_search(self, name: str, filter: str, on: Sequence[EventType], notify: Sequence[str]) -> Search:
        self.followed()
        try:
            (row,) = self._ask(_SAVE, (uuid4().hex, name, filter, list(on), list(notify)))
        except Duplicate as error:
            raise NameTaken(f"there is a search {name!r} already: delete it first, or choose another name") from error
        return _search(row)

    def searches(self) -> Sequence[Search]:
        return [_search(row) for row in self._ask(f"SELECT {_COLUMNS} FROM searches ORDER BY name")]

    def pause_search(self, id: str, *, paused: bool) -> bool:
        return bool(self._ask(_PAUSE, {"id": id, "paused": paused}))

    def delete_search(self, id: str) -> bool:
        return bool(self._ask("DELETE FROM searches WHERE id = %s RETURNING 1", (id,)))

    def followed(self) -> int:
        rows = self._ask(_FOLLOWED)
        if not rows:
            self._ask(_BEGIN)
            rows = self._ask(_FOLLOWED)
        return int(rows[0][0])

    def follow(self, upto: int) -> None:
        self._ask(_FOLLOW, (upto,))

    def wait_for_events(self, after: int, seconds: float) -> bool:
        """Listens before it looks, so that no event is missed in between."""
        end = monotonic() + seconds
        with self.connection.cursor() as cursor:
            self.connection.once(f"LISTEN {CHANNEL}")
            while True:
                cursor.execute(f"SELECT {_NEWEST} > %s", (after,))
                if cursor.fetchone()[0]:
                    return True
                left = end - monotonic()
                if left <= 0:
                    return False
                if select.select([cursor.connection], [], [], left)[0]:
                    cursor.connection.poll()
                    cursor.connection.notifies.clear()


def _search(row: Sequence[Any]) -> Search:
    id, name, filter, on, notify, is_paused, after, created_at = row
    return Search(
        id=id,
        name=name,
        filter=filter,
        on=tuple(on),
        notify=tuple(notify),
        is_paused=is_paused,
        after=after,
        created_at=created_at,
    )

"""Small documents of monitoring."""

from collections.abc import Mapping

from psycopg2.extras import Json

from realestate.storage.postgres.connection import Statements
from realestate.storage.states import Change, State

_PUT = """
    INSERT INTO states (name, data, revision) VALUES (%(name)s, %(data)s, 1)
    ON CONFLICT (name) DO UPDATE SET data = excluded.data, revision = states.revision + 1
    WHERE states.revision = %(revision)s RETURNING 1
"""
_DELETE = "DELETE FROM states WHERE name = %(name)s AND revision = %(revision)s RETURNING 1"


class States(Statements):
    """See `StateStore`."""

    def states(self, prefix: str = "") -> Mapping[str, State]:
        return dict(self._ask("SELECT name, data FROM states WHERE starts_with(name, %s) ORDER BY name", (prefix,)))

    def change_state(self, name: str, change: Change) -> State | None:
        while True:
            found = self._ask("SELECT data, revision FROM states WHERE name = %s", (name,))
            old, revision = found[0] if found else (None, 0)
            new = change(old)
            values = {"name": name, "revision": revision, "data": Json(new)}
            if new == old or self._ask(_DELETE if new is None else _PUT, values):
                return new

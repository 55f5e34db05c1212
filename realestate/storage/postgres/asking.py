"""One statement, or several as one transaction, and its rows."""

from typing import Any

from realestate.storage.postgres.connection import Connection


class Asking:
    """What the parts of the store that keep house share."""

    connection: Connection

    def _ask(self, statement: str, values: Any = None, *, watched: bool = True) -> list[tuple[Any, ...]]:
        with self.connection.cursor(watched=watched) as cursor:
            cursor.execute(statement, values)
            return list(cursor) if cursor.description else []

"""What was erased stays away: asked where a row is new, so that what is known costs nothing."""

from collections.abc import Iterable

from realestate.storage.postgres.connection import Connection
from realestate.storage.records import erased_name
from realestate.storage.tally import Key


def stays_away(row: str) -> str:
    """A condition on a row with a portal and a ref, as part of a statement."""
    return f"EXISTS (SELECT FROM erased WHERE kind = 'listing' AND what = {row}.portal || '/' || {row}.ref)"


def erased_among(connection: Connection, keys: Iterable[Key]) -> set[Key]:
    names = {erased_name(*key): key for key in keys}
    with connection.cursor() as cursor:
        cursor.execute("SELECT what FROM erased WHERE kind = 'listing' AND what = ANY (%s)", (list(names),))
        return {names[what] for (what,) in cursor}

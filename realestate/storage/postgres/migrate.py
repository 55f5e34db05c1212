"""Checks the schema of a PostgreSQL database, and brings it to the newest version.

A database that is up to date is only read. So a role that may only read and write rows is enough, once a role that owns
the tables has migrated.
"""

from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any

from psycopg2.errors import InsufficientPrivilege

from realestate.storage.errors import StoreError, too_new
from realestate.storage.postgres.comments import are_true, keep_true

#: The number of an advisory lock. No other program may use it in this database.
_LOCK = 0x7265616C  # "real"


def migrate(connection: Any) -> int:
    """Apply the missing migrations. Return the version.

    Raises StoreError if the database is newer than this program, or if it is older and the role may not change it."""
    version = 0
    wanted = newest()
    try:
        version = stored_version(connection)
        if version > wanted:
            raise too_new(version, wanted)
        if version < wanted:
            return _apply_missing(connection)
    except InsufficientPrivilege as error:
        message = str(error).partition("\n")[0]
        raise StoreError(
            f"the database has schema {version}, and {wanted} is needed, but its role may not change or read the schema"
            f" ({message}): run `realestate migrate` with the role that owns the tables"
        ) from error
    _keep_comments(connection)
    return version


def _keep_comments(connection: Any) -> None:
    """Set the comments again if they are of an older version. A role that may not do that leaves them as they are."""
    with connection.cursor() as cursor:
        is_outdated = not are_true(cursor)
    connection.commit()
    if is_outdated:
        with suppress(InsufficientPrivilege):
            _apply_missing(connection)


def stored_version(connection: Any) -> int:
    """The version of the database; 0 if it has no tables of ours. Only reads."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('schema_version') IS NOT NULL")
        ((exists,),) = cursor.fetchall()
        if exists:
            cursor.execute("SELECT coalesce(max(version), 0) FROM schema_version")
            ((version,),) = cursor.fetchall()
    connection.commit()
    return int(version) if exists else 0


def _apply_missing(connection: Any) -> int:
    """Apply the missing migrations, each in one transaction, by one process at a time."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        connection.commit()
        try:
            version = _version(cursor)
            connection.commit()
            for number, sql in _steps():
                if number > version:
                    cursor.execute("SET LOCAL statement_timeout = 0")  # a large table may take long
                    cursor.execute(sql)
                    cursor.execute("INSERT INTO schema_version (version) VALUES (%s)", (number,))
                    connection.commit()
                    version = number
            if version == newest():  # a newer version of this program sets its own comments
                keep_true(cursor)
                connection.commit()
            return version
        finally:
            connection.rollback()
            cursor.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))
            connection.commit()


def newest() -> int:
    """The version that this program needs."""
    return max(number for number, _ in _steps())


def _version(cursor: Any) -> int:
    cursor.execute(
        "CREATE TABLE IF NOT EXISTS schema_version"
        " (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
    )
    cursor.execute("SELECT coalesce(max(version), 0) FROM schema_version")
    return int(cursor.fetchone()[0])


@cache
def _steps() -> list[tuple[int, str]]:
    folder = files("realestate.storage.migrations")
    found = [each for each in folder.iterdir() if each.name.endswith(".sql")]
    return sorted((int(each.name.split("_")[0]), each.read_text("utf-8")) for each in found)

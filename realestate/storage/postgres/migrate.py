"""Brings a PostgreSQL database to the newest schema."""

from importlib.resources import files
from typing import Any

from realestate.storage.postgres.comments import keep_true

#: The number of an advisory lock. No other program may use it in this database.
_LOCK = 0x7265616C  # "real"


def migrate(connection: Any) -> int:
    """Apply the missing migrations, each in one transaction, by one process at a time. Return the version."""
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
    return max(number for number, _ in _steps())


def _version(cursor: Any) -> int:
    cursor.execute(
        "CREATE TABLE IF NOT EXISTS schema_version"
        " (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
    )
    cursor.execute("SELECT coalesce(max(version), 0) FROM schema_version")
    return int(cursor.fetchone()[0])


def _steps() -> list[tuple[int, str]]:
    folder = files("realestate.storage.migrations")
    found = [each for each in folder.iterdir() if each.name.endswith(".sql")]
    return sorted((int(each.name.split("_")[0]), each.read_text("utf-8")) for each in found)

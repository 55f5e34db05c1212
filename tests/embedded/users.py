"""Processes that use embedded services, for tests."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg2
import redis

from realestate.embedded import poll

PROJECT = Path(__file__).parents[2]


class User:
    """A process that uses the services of a folder."""

    def __init__(self, folder: Path) -> None:
        self.modes_above = {path: path.stat().st_mode for path in folder.parents if path.exists()}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.embedded.user", folder],
            cwd=PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._found: dict[str, Any] = {}

    @property
    def found(self) -> dict[str, Any]:
        """The URLs and process ids of its services. Waits until it has them."""
        if not self._found:
            assert self.process.stdout
            line = self.process.stdout.readline()
            assert line, self.failure()
            self._found = json.loads(line)
        return self._found

    @property
    def pids(self) -> dict[str, int]:
        pids: dict[str, int] = self.found["pids"]
        return pids

    def failure(self) -> str:
        """Its error when it got no services."""
        return self.process.communicate(timeout=60)[1].strip()

    def leave(self) -> None:
        self.process.communicate(timeout=60)

    def end(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        self.leave()

    def redis(self, command: str, *arguments: str) -> Any:
        with redis.Redis.from_url(self.found["redis_url"], decode_responses=True) as client:
            return client.execute_command(command, *arguments)

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        connection = psycopg2.connect(self.found["store_url"])
        try:
            with connection, connection.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall() if cursor.description else []
        finally:
            connection.close()


StartUser = Callable[..., User]


def eventually(condition: Callable[[], bool]) -> bool:
    return poll.until(condition, 30)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with suppress(FileNotFoundError, ProcessLookupError):
        # a zombie has ended
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    return not Path("/proc/self/stat").exists()


def all_gone(user: User) -> bool:
    return not any(alive(pid) for pid in user.pids.values())


def answers(user: User) -> bool:
    try:
        return bool(user.redis("PING")) and user.sql("SELECT 1") == [(1,)]
    except (redis.ConnectionError, psycopg2.OperationalError):
        return False

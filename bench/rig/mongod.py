"""A real MongoDB, where there is one, and the plain way to write into it."""

import shutil
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pymongo import MongoClient

from bench.rig.context import Context
from realestate import environment
from realestate.embedded import children, poll
from realestate.items import Listing, as_record
from realestate.storage.mongo import MongoStore

START_SECONDS = 60
STOP_SECONDS = 30


@contextmanager
def mongod(context: Context) -> Iterator[str | None]:
    """The address of one of our own; None where no `mongod` is installed."""
    program = shutil.which("mongod")
    if program is None:
        yield None
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = context.folder / "mongod"
    data.mkdir()
    command = [program, "--dbpath", str(data), "--bind_ip", "127.0.0.1", "--port", str(port), "--nounixsocket"]
    process = children.spawn(command, env=environment.changed(), log=context.folder / "mongod.log")
    try:
        poll.until(lambda: process.poll() is not None or _answers(port), START_SECONDS)
        yield f"mongodb://127.0.0.1:{port}/bench"
    finally:
        children.stop([process], STOP_SECONDS)


class MongoDatabase:
    """A store, and a connection beside it whose writes are as safe."""

    def __init__(self, url: str) -> None:
        self.store = MongoStore(url)
        self._client: MongoClient[dict[str, Any]] = MongoClient(url, w="majority", journal=True)
        self._plain = self._client.get_default_database()["plain"]

    def close(self) -> None:
        self.store.close()
        self._client.close()

    def empty(self) -> None:
        self._client.drop_database(self._plain.database)
        self.store.close()
        self.store.migrate()

    def update_one_by_one(self, listings: Sequence[Listing]) -> None:
        """As most pipelines do it."""
        for listing in listings:
            name = {"_id": f"{listing.portal}:{listing.ref}"}
            self._plain.update_one(name, {"$set": as_record(listing)}, upsert=True)


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True

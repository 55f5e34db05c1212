"""What runs in a folder of embedded services, and the file ``services.json`` that says it.

The keeper writes the file when both servers are ready, and removes it when it stops them.
"""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

NAME = "services.json"


class EmbeddedError(RuntimeError):
    """An embedded service is missing or did not start. The message is one line that says what to do."""


@dataclass(frozen=True)
class Service:
    """One server: its URL, or the reason why it did not start."""

    url: str | None = field(default=None, repr=False)
    pid: int | None = None
    error: str | None = None

    def required_url(self) -> str:
        if self.url is None:
            raise EmbeddedError(self.error)
        return self.url


@dataclass(frozen=True)
class Services:
    """The servers of a folder. Both URLs contain a password."""

    redis: Service
    store: Service
    keeper_pid: int

    @property
    def redis_url(self) -> str:
        """Raises EmbeddedError with the reason if Redis could not be started."""
        return self.redis.required_url()

    @property
    def store_url(self) -> str:
        """Raises EmbeddedError with the reason if PostgreSQL could not be started."""
        return self.store.required_url()


def write(folder: Path, services: Services) -> None:
    """Write the file in one step, readable only by our user: it contains the passwords."""
    draft = folder / f"{NAME}.new"
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(asdict(services), file)
    draft.replace(folder / NAME)


def remove(folder: Path) -> None:
    (folder / NAME).unlink(missing_ok=True)


def read(folder: Path) -> Services | None:
    """What the file says; None if there is none. A killed keeper leaves its file: the caller checks that it runs."""
    try:
        content = json.loads((folder / NAME).read_text())
    except FileNotFoundError:
        return None
    return Services(
        redis=Service(**content["redis"]),
        store=Service(**content["store"]),
        keeper_pid=content["keeper_pid"],
    )

"""``services.json``: what the keeper tells the users, from the moment all is ready to the moment it ends."""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from realestate.embedded.errors import EmbeddedError

NAME = "services.json"


@dataclass(frozen=True)
class Service:
    """One server: where it is, or why it is not."""

    url: str | None = field(default=None, repr=False)
    pid: int | None = None
    error: str | None = None

    def required_url(self) -> str:
        if self.url is None:
            raise EmbeddedError(self.error)
        return self.url


@dataclass(frozen=True)
class Services:
    """What runs in a folder. Both URLs carry a password."""

    redis: Service
    store: Service
    keeper_pid: int

    @property
    def redis_url(self) -> str:
        """Raises EmbeddedError, saying why, where no Redis could be started."""
        return self.redis.required_url()

    @property
    def store_url(self) -> str:
        """Raises EmbeddedError, saying why, where no PostgreSQL could be started."""
        return self.store.required_url()


def announce(folder: Path, services: Services) -> None:
    """Publish it whole or not at all, for our own eyes."""
    draft = folder / f"{NAME}.new"
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(asdict(services), file)
    draft.replace(folder / NAME)


def withdraw(folder: Path) -> None:
    (folder / NAME).unlink(missing_ok=True)


def read(folder: Path) -> Services | None:
    """What was announced last; whether its keeper lives is for the reader to ask."""
    try:
        told = json.loads((folder / NAME).read_text())
    except FileNotFoundError:
        return None
    return Services(Service(**told["redis"]), Service(**told["store"]), told["keeper_pid"])

"""The names of snapshot files: `<portal>/<kind>/<begun>-<worker>-<number>.warc.gz`.

Each file holds pages of one kind, because retention deletes whole files. Portal and time are in the name, so that no
file has to be opened to be selected.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from realestate.storage.snapshots.page import KINDS, Kind, SnapshotError

SUFFIX = ".warc.gz"
_STAMP = "%Y%m%dT%H%M%SZ"
_NAME = re.compile(
    rf"(?P<portal>\w[\w.-]*)/(?P<kind>{'|'.join(KINDS)})/(?P<begun>\d{{8}}T\d{{6}}Z)-\w[\w.-]*{re.escape(SUFFIX)}"
)


@dataclass(frozen=True, slots=True)
class FileName:
    portal: str
    kind: Kind
    begun: datetime

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """Return the parts of a name, or None if it is not the name of a snapshot file."""
        found = _NAME.fullmatch(name)
        if not found:
            return None
        try:
            begun = datetime.strptime(found["begun"], _STAMP).replace(tzinfo=UTC)
        except ValueError:
            return None
        return cls(found["portal"], found["kind"], begun)  # type: ignore[arg-type]


def make(portal: str, kind: Kind, begun: datetime, worker: str, number: int) -> str:
    safe = re.sub(r"[^\w.-]+", "-", worker).strip("-.")
    return f"{portal}/{kind}/{begun.astimezone(UTC):{_STAMP}}-{safe}-{number:04d}{SUFFIX}"


def checked(name: str) -> str:
    """Return the name if it is the name of a snapshot file. Names come from a database: a wrong one could point to any
    other file."""
    if FileName.parse(name) is None:
        raise SnapshotError(f"not the name of a snapshot file: {name[:200]!r}")
    return name

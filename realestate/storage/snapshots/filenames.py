"""The names of snapshot files: `<portal>/<kind>/<begun>-<worker>-<number>.warc.gz`.

One kind a file, for only whole files are ever removed; the portal and the time in its name, so that nobody has to open
a file to know that it is not wanted.
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
        """None for a file that is not ours."""
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
    """A name may come out of a database: it must not lead anywhere else."""
    if FileName.parse(name) is None:
        raise SnapshotError(f"no file of snapshots: {name[:200]!r}")
    return name

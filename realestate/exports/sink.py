"""The file that a format writes into. It counts the bytes and computes their SHA-256."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import IO, Any

from realestate.storage.export import Row

Progress = Callable[[int], object]
"""Called with the number of rows that are written."""


class Sink(io.RawIOBase):
    """Passes on everything that is written. It cannot be read, and not be sought in."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = sha256()
        self.size = 0

    def write(self, data: Any, /) -> int:
        self._file.write(data)
        self._digest.update(data)
        count = len(data) if isinstance(data, bytes) else memoryview(data).nbytes
        self.size += count
        return count

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.size

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


@dataclass(slots=True)
class Totals:
    """Number and checksum of the rows that were written, and what the reader of the manifest should know."""

    progress: Progress
    count: int = 0
    checksum: int = 0
    shortened: int = 0
    """Texts that were cut because the format has a limit."""

    def add(self, count: int, checksum: int) -> None:
        self.count += count
        self.checksum += checksum
        self.progress(self.count)

    def add_rows(self, rows: Sequence[Row]) -> None:
        self.add(len(rows), sum(row[0] for row in rows))

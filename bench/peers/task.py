"""The task of a peer and the file of its results."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import msgspec

from bench.peers.reading import Reading, reading_of

#: The same number as ours (CONCURRENT_REQUESTS).
CONCURRENCY = 16


class Task(msgspec.Struct, kw_only=True, frozen=True):
    portal: str
    base: str
    """The portal's address."""
    refs: str
    """The file for the refs of what was yielded."""
    redis_url: str
    store_url: str

    @classmethod
    def given(cls) -> Self:
        """From the command line: a peer does not read our environment."""
        return msgspec.json.decode(sys.argv[1], type=cls)

    @property
    def reading(self) -> Reading:
        return reading_of(self.portal)

    @property
    def seeds(self) -> list[str]:
        return [self.base + path for path in self.reading.SEARCHES]

    def done(self, refs: Sequence[str]) -> None:
        """In one step: a reader that sees the file can read all of it."""
        file = Path(self.refs)
        unfinished = file.with_suffix(".part")
        unfinished.write_bytes(msgspec.json.encode(refs))
        unfinished.replace(file)

"""Memory that a worker shares with its parent process: the page it is handling, its portals, its heartbeats."""

import struct
from mmap import mmap
from typing import NamedTuple

import msgspec

_SIZE = 32_768
#: Sequence number, CPU time of the main thread at which the page would have begun without pauses, length of the record.
_PAGE = struct.Struct("=QdI")
_HEARTBEATS = struct.Struct("=Q")
_LENGTH = struct.Struct("=I")
_HEARTBEATS_AT = 32
_FLEETS_AT = 40
_PAGE_AT = 8_192
#: A longer URL is cut, and a longer name: the memory has a fixed size.
LONGEST_URL = 2_000
LONGEST_NAME = 200


class FleetRecord(msgspec.Struct, frozen=True):
    """One portal that the worker serves, and its name there."""

    portal: str
    worker: str


class PageRecord(msgspec.Struct, frozen=True):
    """What the parent needs to settle the lease of a page."""

    portal: str
    id: str
    token: str
    url: str
    job: str
    stage: str
    tries: int


class InHand(NamedTuple):
    """The page that the worker is handling."""

    step: int
    """Changes each time the worker begins to handle a page, or goes on with it."""
    began_at: float
    """CPU time of the worker's main thread."""
    page: PageRecord


class SharedPage:
    """Create it before the fork. One process writes, the other reads."""

    def __init__(self) -> None:
        self._memory = mmap(-1, _SIZE)
        self._step = 0
        self._heartbeats = 0
        self._fleets: list[FleetRecord] = []

    # ----- the worker

    def enter(self, record: bytes, began_at: float) -> None:
        self._step += 1
        _PAGE.pack_into(self._memory, 0, self._step, began_at, 0)
        self._memory[_PAGE_AT : _PAGE_AT + len(record)] = record
        _PAGE.pack_into(self._memory, 0, self._step, began_at, len(record))

    def leave(self) -> None:
        _PAGE.pack_into(self._memory, 0, self._step, 0.0, 0)

    def heartbeat(self) -> None:
        self._heartbeats += 1
        _HEARTBEATS.pack_into(self._memory, _HEARTBEATS_AT, self._heartbeats)

    def add_fleet(self, fleet: FleetRecord) -> None:
        self._fleets.append(fleet)
        text = msgspec.json.encode(self._fleets)
        if len(text) < _PAGE_AT - _FLEETS_AT - _LENGTH.size:
            self._memory[_FLEETS_AT + _LENGTH.size : _FLEETS_AT + _LENGTH.size + len(text)] = text
            _LENGTH.pack_into(self._memory, _FLEETS_AT, len(text))

    # ----- its parent

    def reset(self) -> None:
        """Before another worker is started."""
        self._memory[:] = bytes(_SIZE)

    def in_hand(self) -> InHand | None:
        step, began_at, length = _PAGE.unpack_from(self._memory, 0)
        if not length:
            return None
        record = self._memory[_PAGE_AT : _PAGE_AT + length]
        if _PAGE.unpack_from(self._memory, 0) != (step, began_at, length):
            return None  # it changes at this moment: the worker is not stuck
        try:
            return InHand(step, began_at, msgspec.json.decode(record, type=PageRecord))
        except msgspec.MsgspecError:
            return None

    def heartbeats(self) -> int:
        return int(_HEARTBEATS.unpack_from(self._memory, _HEARTBEATS_AT)[0])

    def fleets(self) -> list[FleetRecord]:
        (length,) = _LENGTH.unpack_from(self._memory, _FLEETS_AT)
        if not length:
            return []
        begin = _FLEETS_AT + _LENGTH.size
        try:
            return msgspec.json.decode(self._memory[begin : begin + length], type=list[FleetRecord])
        except msgspec.MsgspecError:
            return []

"""What a worker tells about itself with every heartbeat."""

import msgspec


class Beat(msgspec.Struct, frozen=True):
    """What a worker holds and has done since it started."""

    in_work: int = 0
    unstored: int = 0
    pages: int = 0
    stored: int = 0
    quarantined: int = 0
    dead: int = 0


def read_beat(value: bytes) -> Beat | None:
    try:
        return msgspec.json.decode(value, type=Beat)
    except msgspec.MsgspecError:
        return None

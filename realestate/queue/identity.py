"""The id of a request: its fingerprint within its job, so that the queue recognises what it has seen.

80 bits: at 100 million requests the odds of one collision stay below 1e-7. The low 64 are a member of a set of
integers, which Redis packs into 8 bytes each; the high ones choose the set.
"""

from hashlib import blake2b
from typing import NamedTuple

#: Redis keeps a set of integers packed up to this many (set-max-intset-entries).
PACKED = 512


class Identity(NamedTuple):
    id: bytes
    bucket: int
    member: str


def identify(job: str, what: bytes, buckets: int) -> Identity:
    digest = blake2b(what, digest_size=10, key=job.encode()[:64]).digest()
    high, low = int.from_bytes(digest[:2], "big"), int.from_bytes(digest[2:], "big", signed=True)
    return Identity(digest, high % buckets, str(low))


def child(parent: bytes, ordinal: int) -> bytes:
    """What identifies a child that is not to be filtered: the same page makes the same children."""
    return b"child:" + parent + ordinal.to_bytes(4, "big")


def buckets_for(expected: int) -> int:
    """Sets enough that twice the expected number still packs, as a power of two; 2^16 at most."""
    wanted = max(1, 2 * expected // PACKED)
    return min(1 << (wanted - 1).bit_length(), 1 << 16)

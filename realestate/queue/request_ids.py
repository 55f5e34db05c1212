"""The id of a request: a hash of its fingerprint and its job, by which the queue recognises duplicates.

It has 80 bits: at 100 million requests the probability of one collision is below 1e-7. The low 64 bits are a member of
a set of integers, which Redis stores in 8 bytes each. The high bits choose the set.
"""

from hashlib import blake2b
from typing import NamedTuple

#: Redis stores a set of integers compactly up to this size (set-max-intset-entries).
PACKED = 512


class RequestId(NamedTuple):
    id: bytes
    bucket: int
    member: str


def identify(job: str, what: bytes, buckets: int) -> RequestId:
    digest = blake2b(what, digest_size=10, key=job.encode()[:64]).digest()
    high = int.from_bytes(digest[:2], "big")
    low = int.from_bytes(digest[2:], "big", signed=True)
    return RequestId(digest, high % buckets, str(low))


def child(parent: bytes, ordinal: int) -> bytes:
    """Return what identifies a child with dont_filter: a page that is parsed again makes the same children."""
    return b"child:" + parent + ordinal.to_bytes(4, "big")


def buckets_for(expected: int) -> int:
    """Return how many sets are needed so that twice the expected number is stored compactly: a power of two, at most
    2^16."""
    wanted = max(1, 2 * expected // PACKED)
    return min(1 << (wanted - 1).bit_length(), 1 << 16)

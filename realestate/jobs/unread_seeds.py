"""Finds start-URL keys that no portal reads, such as `imoweb:start_urls` for immoweb."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from realestate.queue import keys
from realestate.queue.redis_client import BlockingRedisCluster, is_wrong_type

if TYPE_CHECKING:
    from redis import Redis

#: At most this many keys of each server are looked at, in pieces of SCANNED_AT_ONCE: a big Redis must not slow down
#: `realestate status`.
MOST_SCANNED = 100_000
SCANNED_AT_ONCE = 1_000
#: At most this many keys are named.
MOST_NAMED = 20
_SUFFIX = keys.start_urls("")


@dataclass(frozen=True, slots=True)
class UnreadSeeds:
    """A key with seeds that no portal reads."""

    key: str
    seeds: int
    likely: str = ""
    """The portal that was probably meant."""

    def __str__(self) -> str:
        meant = f"; {keys.start_urls(self.likely)} was probably meant" if self.likely else ""
        return f"{self.key} has {self.seeds} seeds that no portal reads{meant}"


def unread_seeds(server: "Redis", portals: Collection[str]) -> list[UnreadSeeds]:
    """The keys whose name ends like that of a list of start URLs, and belongs to no portal and to no other spider with
    a queue in this Redis."""
    found: list[UnreadSeeds] = []
    for key in sorted(set(_start_url_keys(server))):
        name = key.removesuffix(_SUFFIX)
        if name in portals or server.exists(keys.jobs(name)) or server.exists(keys.workers(name)):
            continue
        likely = get_close_matches(name, portals, n=1, cutoff=0.75)
        found.append(UnreadSeeds(key, _length(server, key), likely[0] if likely else ""))
        if len(found) >= MOST_NAMED:
            break
    return found


def _start_url_keys(server: "Redis") -> Iterator[str]:
    nodes: list[Any] = server.get_primaries() if isinstance(server, BlockingRedisCluster) else [None]
    for node in nodes:
        options = {} if node is None else {"target_nodes": node}
        cursor: Any = 0
        for _ in range(MOST_SCANNED // SCANNED_AT_ONCE):
            reply: Any = server.scan(cursor, match=f"*{_SUFFIX}", count=SCANNED_AT_ONCE, **options)
            cursor, names = reply
            if isinstance(cursor, dict):
                cursor = next(iter(cursor.values()))
            yield from (name.decode("utf-8", "backslashreplace") for name in names)
            if not cursor:
                break


def _length(server: "Redis", key: str) -> int:
    try:
        return int(server.llen(key))
    except Exception as error:
        if not is_wrong_type(error):
            raise
        return 0

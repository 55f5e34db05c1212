"""Renames the keys that version 0.1 has left in Redis. To rename another key, add it to one of the tables."""

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from realestate.queue.request_queue import RequestQueue

logger = logging.getLogger(__name__)

#: Old and new name of a portal's key, without the prefix `{<portal>}:`. Only keys that outlive a worker: the others
#: expire by themselves.
RENAMED_KEYS: tuple[tuple[str, str], ...] = (
    ("pace", "rate_limit"),
    ("exits", "proxies"),
    ("exits:free", "proxies:free_at"),
    ("exits:asked", "proxies:used_at"),
    ("floors", "crawl_delays"),
)
#: Key (its new name), old and new name of a field of a hash.
RENAMED_FIELDS: tuple[tuple[str, str, str], ...] = (("rate_limit", "floor", "crawl_delay"),)


async def migrate_keys(queue: "RequestQueue") -> int:
    """Rename the portal's old keys in one atomic step. Returns how many were renamed; 0 if it was done before.

    `RequestQueue` calls it before its first command. Workers of the old version must be stopped before: they would
    write to the old keys again and know nothing of the new rate limit.
    """
    renamed = int(await queue.run_script("migrate", keys=RENAMED_KEYS, fields=RENAMED_FIELDS))
    if renamed:
        logger.info("queue/migrated: portal=%s: %d keys of an older version are renamed", queue.portal, renamed)
    return renamed

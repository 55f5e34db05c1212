"""Renames the Redis keys of version 0.1. A worker does it once, before its first heartbeat; so do pause and resume.

A fleet of version 0.1 has to be stopped before: its workers do not know the new names.
"""

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from realestate.queue.request_queue import RequestQueue

logger = logging.getLogger(__name__)

#: Old name -> new name, both without the prefix of the portal.
RENAMED_KEYS = {
    "beats": "heartbeats",
    "pulse": "last_heartbeat",
    "mercy": "grace_until",
    "departed": "dead_workers",
    "emptying": "suspect_worker",
    "seeding": "seed_names",
    "dead": "dead_letters:times",
    "letters": "dead_letters",
    "pace": "rate_limit",
    "floors": "crawl_delays",
    "exits": "proxies",
    "exits:free": "proxies:free_at",
    "exits:asked": "proxies:used_at",
    "open": "open_jobs",
    "bell": "wake_ups",
}
#: Fields of hashes: the key's new name, the field's old and new name.
RENAMED_FIELDS = (("rate_limit", "floor", "crawl_delay"),)


async def migrate_keys(queue: "RequestQueue") -> int:
    """Give a portal's old keys and fields their new names, in one step.

    Returns how many there were; a second call finds none.
    """
    renamed = int(await queue.run("migrate_keys", renamed=list(RENAMED_KEYS.items()), fields=RENAMED_FIELDS))
    if renamed:
        logger.info("queue/migrated: portal=%s: %d keys of version 0.1 have new names now", queue.portal, renamed)
    return renamed

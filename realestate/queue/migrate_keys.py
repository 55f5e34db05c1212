"""Renames the Redis keys of version 0.1. A worker does it once, before its first heartbeat.

A fleet of version 0.1 has to be stopped before: its workers do not know the new names.
"""

from realestate.queue.request_queue import RequestQueue

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


async def migrate_keys(queue: RequestQueue) -> int:
    """Give the old keys of a portal their new names. Returns how many there were; a second call finds none."""
    return int(await queue.run("migrate_keys", renamed=list(RENAMED_KEYS.items())))

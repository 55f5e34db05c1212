"""Tells the subscribers of saved searches, in a process that a test may kill. Argument: the store's URL."""

import sys

from realestate.searches.watch import watch
from realestate.storage import open_store

print("ready", flush=True)
watch(
    lambda: open_store(sys.argv[1]),
    message_seconds=0,
    notify_urls=(),
    webhook_secret=None,
    may_be_private=True,
)

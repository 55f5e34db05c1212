"""Syncs a lake again and again, a few events at a time, in a process that a test may kill.

Arguments: the store's URL, and the folder of the lake."""

import sys

from realestate.exports import lake
from realestate.storage import open_store

lake.EVENTS_AT_ONCE = 7
while True:
    store = open_store(sys.argv[1])
    lake.sync(store, lake.Lake(sys.argv[2]))
    store.close()

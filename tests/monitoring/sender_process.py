"""Sends what is due, in a process that a test may kill. Arguments: the store's URL, and a receiver's."""

import sys
import time

from realestate.monitoring.channels import Channels
from realestate.monitoring.delivery import Sender
from realestate.storage import open_store

store = open_store(sys.argv[1])
sender = Sender(store, Channels([sys.argv[2]]))
while True:
    sender.send_due()
    time.sleep(0.05)

"""A process that uses the embedded services of the folder it is given, until its input ends."""

import json
import sys
from pathlib import Path

from realestate.embedded import EmbeddedError, services

try:
    with services(Path(sys.argv[1])) as found:
        urls = {"redis_url": found.redis_url, "store_url": found.store_url}
        pids = {"redis": found.redis.pid, "store": found.store.pid, "keeper": found.keeper_pid}
        print(json.dumps({**urls, "pids": pids}), flush=True)
        sys.stdin.read()
except EmbeddedError as error:
    sys.exit(str(error))

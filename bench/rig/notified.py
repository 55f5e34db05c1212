"""How long it takes from a stored event to the message of a saved search, beside thousands of other searches."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

from bench import Context, DoesNotCount, Goal, Measure
from bench.rig.adverts import Adverts
from bench.rig.database import Database
from bench.rig.questions import p95
from bench.store import write

SEARCHES = 10_000
EVENTS = 60
LONGEST_SECONDS = 60
#: Between two events: as of a crawl that finds news now and then.
PAUSE_SECONDS = 0.3


class Receiver(ThreadingHTTPServer):
    """Notes when the message of which listing arrived."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.arrived: dict[str, float] = {}


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        at = time.perf_counter()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert isinstance(self.server, Receiver)
        self.server.arrived.setdefault(body["data"]["ref"], at)
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def notified(context: Context, stored: Database) -> Measure:
    searches = context.sized(SEARCHES, least=50)
    events = context.sized(EVENTS, least=5)
    with receiving() as receiver:
        url = f"http://127.0.0.1:{receiver.server_port}/hook"
        _save(stored, searches, url)
        with watching(context, stored):
            adverts = Adverts(events, first=40_000_000)
            _arrival(receiver, stored, adverts)  # the searches are read at the first event
            taken = [_arrival(receiver, stored, adverts) for _ in range(events)]
    return Measure(
        name=f"stored to notified, beside {searches:,} searches: p95",
        value=p95([seconds * 1000 for seconds in taken]),
        unit="ms",
        goal=Goal(maximum=1_000),
    )


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()
    thread = threading.Thread(target=receiver.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.shutdown()
        receiver.server_close()


def _save(stored: Database, count: int, url: str) -> None:
    """One search finds every listing; the others, each with another receiver, few or none."""
    random = Random(count)
    stored.store.save_search("all", "price>0", ["listed"], [url])
    for number in range(count - 1):
        where = (
            f'city="Nowhere {random.randrange(500)}" price<{random.randrange(50, 900)}000 rooms>={random.randrange(6)}'
        )
        stored.store.save_search(f"search {number}", where, ["listed", "price_changed"], [f"{url}/{number}"])


@contextmanager
def watching(context: Context, stored: Database) -> Iterator[None]:
    """Run `realestate search watch`."""
    env = {
        **os.environ,
        "STORE_URL": stored.url,
        "REDIS_URL": context.services.redis_url,
        "SEARCH_MESSAGE_SECONDS": "0",
        "ALLOW_PRIVATE_ADDRESSES": "on",
        "WEBHOOK_SECRET": "whsec_" + "MDEy" * 8,
    }
    log = context.folder / "watch.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "realestate", "search", "watch"], env=env, stdout=file, stderr=file
        )
    try:
        yield
        if process.poll() is not None:
            raise DoesNotCount(f"realestate search watch ended: {log.read_text('utf-8', 'replace').strip()[-300:]}")
    finally:
        process.terminate()
        process.wait(30)


def _arrival(receiver: Receiver, stored: Database, adverts: Adverts) -> float:
    """Store a listing. Return the seconds until its message arrives."""
    time.sleep(PAUSE_SECONDS)
    (listing,) = adverts.new(1)
    listing.price = listing.price or Decimal(100_000)
    write(stored.store, [listing])
    began = time.perf_counter()
    while listing.ref not in receiver.arrived:
        if time.perf_counter() - began > LONGEST_SECONDS:
            raise DoesNotCount(f"no message arrived within {LONGEST_SECONDS} s")
        time.sleep(0.001)
    return receiver.arrived[listing.ref] - began

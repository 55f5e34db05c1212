"""Several workers write to one store, and some are killed: nothing is lost and nothing is stored twice."""

import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pytest

from realestate.storage import Batch, Store
from tests.storage.batches import PORTAL, all_events, batch, card, gone, later, page, pages, record
from tests.storage.conftest import OpenStore, Scaled
from tests.storage.writer_process import SIZE, batches


def together(acts: Sequence[Callable[[], None]]) -> None:
    """Run all functions at the same time. Raise the error of any of them."""
    failures: list[BaseException] = []
    barrier = threading.Barrier(len(acts))

    def job(act: Callable[[], None]) -> None:
        try:
            barrier.wait()
            act()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=job, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def writer(store: Store, *of: Batch) -> Callable[[], None]:
    def write() -> None:
        for each in of:
            store.write(each)

    return write


def histories_are_whole(store: Store) -> None:
    """Check that each listing is listed once, that each price follows the one before, and that the last is current."""
    assert store.counts()[PORTAL][1] == 0, "nothing was refused"
    events = all_events(store)
    names = [(each.event.portal, each.event.ref, each.event.revision, each.event.type) for each in events]
    assert len(names) == len(set(names))
    assert [each.seq for each in events] == sorted({each.seq for each in events})
    now = {row["ref"]: row for row in store.records(PORTAL)}
    for ref, row in now.items():
        history = [each.event for each in events if each.event.ref == ref]
        assert [event.type for event in history].count("listed") == 1
        assert [event.revision for event in history] == sorted(event.revision for event in history)
        price = history[0].data["price"]
        for event in history:
            if event.type == "price_changed":
                assert event.data["old"] == price, "an update was lost"
                price = event.data["new"]
        assert row["price"] == price
        assert store.prices(PORTAL, ref)[-1].price == Decimal(price)


def test_workers_that_write_the_same_listings_do_not_deadlock_or_store_twice(
    any_store: Store, open_another: OpenStore, scaled: Scaled
) -> None:
    size, half = scaled(200), scaled(100)
    orders = pages(size), pages(size)[::-1], pages(size)[half:] + pages(size)[:half], pages(size)
    changed = pages(size, title="New")
    acts = [writer(open_another(), batch(*order), batch(*changed), batch(*changed[::-1])) for order in orders]
    together(acts)
    counts = Counter(each.event.type for each in all_events(any_store))
    assert counts["listed"] == size
    histories_are_whole(any_store)
    assert {row["title"] for row in any_store.records(PORTAL)} == {"New"}


def test_a_change_that_two_workers_see_at_once_makes_one_event(
    any_store: Store, open_another: OpenStore, scaled: Scaled
) -> None:
    size = scaled(100)
    any_store.write(batch(*pages(size)))
    cut = pages(size, price=Decimal(340000))
    together([writer(open_another(), batch(*order)) for order in (cut, cut[::-1], cut, cut[::-1])])
    assert Counter(each.event.type for each in all_events(any_store)) == {"listed": size, "price_changed": size}


def test_no_update_is_lost(any_store: Store, open_another: OpenStore, scaled: Scaled) -> None:
    """All workers change the prices of the same few listings, from pages and from search pages."""
    any_store.write(batch(*pages(5)))
    turns = scaled(15)

    def act(dice: random.Random) -> Callable[[], None]:
        store = open_another()

        def change() -> None:
            for _ in range(turns):
                prices = {str(ref): dice.randrange(300000, 400000) for ref in range(5)}
                seen: list[Any] = [card(ref, price) for ref, price in prices.items()]
                if dice.random() < 0.5:
                    seen = [page(ref, price=Decimal(price)) for ref, price in prices.items()]
                dice.shuffle(seen)
                store.write(batch(*seen))

        return change

    together([act(random.Random(number)) for number in range(4)])
    histories_are_whole(any_store)
    assert Counter(each.event.type for each in all_events(any_store))["price_changed"] > turns * 7


def test_a_reader_that_pages_by_number_misses_no_event(
    any_store: Store, open_another: OpenStore, scaled: Scaled
) -> None:
    read: list[Any] = []
    writing = threading.Event()
    reader_store = open_another()

    def write(number: int) -> Callable[[], None]:
        store = open_another()

        def act() -> None:
            for turn in range(12):
                refs = (f"{number}-{turn}-{place}" for place in range(random.Random(turn).randrange(1, scaled(60))))
                store.write(batch(*(page(ref) for ref in refs)))

        return act

    def read_on() -> None:
        while True:
            over = not writing.is_set()
            some = reader_store.events(read[-1].seq if read else 0, 7)
            read.extend(some)
            if over and not some:
                return

    def write_all() -> None:
        together([write(number) for number in range(4)])
        writing.clear()

    writing.set()
    together([write_all, read_on])
    everything = all_events(any_store)
    assert [each.seq for each in read] == [each.seq for each in everything]
    assert len(everything) == len(list(any_store.records(PORTAL)))


def test_a_listing_seen_while_its_job_is_concluded_is_active_in_the_end(
    any_store: Store, open_another: OpenStore, scaled: Scaled
) -> None:
    """Either it was seen first and the evidence does not count, or it was delisted first and its page relists it."""
    any_store.write(batch(*pages(100)))
    for number in range(scaled(10)):
        job, seen = f"job {number}", pages(10)
        later()
        any_store.begin_job(job, PORTAL, "full", "all")
        any_store.write(batch(*(gone(str(ref)) for ref in range(10)), job=job))
        later()
        other, reader = open_another(), open_another()

        def conclude(store: Store = other, job: str = job) -> None:
            store.conclude(job, PORTAL)

        together([conclude, writer(reader, batch(*seen))])
        assert {record(any_store, str(ref))["status"] for ref in range(10)} == {"active"}
    histories_are_whole(any_store)
    for ref in map(str, range(10)):
        types = [event.type for event in any_store.history(PORTAL, ref)]
        assert types[1:] == ["delisted", "relisted"] * (len(types) // 2)


@pytest.mark.parametrize("seed", range(3))
def test_a_worker_killed_while_it_writes_leaves_no_partial_write(any_store: Store, any_url: str, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(3):
        worker = subprocess.Popen(
            [sys.executable, "-m", "tests.storage.writer_process", any_url], stdout=subprocess.PIPE
        )
        assert worker.stdout is not None
        for _ in range(dice.randrange(0, 9)):
            worker.stdout.readline()
        threading.Event().wait(dice.uniform(0, 0.02 if any_url.startswith("postgres") else 0.5))  # within a batch
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        worker.stdout.close()
    for each in batches():
        any_store.write(each)
    histories_are_whole(any_store)
    before = len(all_events(any_store))
    any_store.write(batches()[-1])
    assert len(all_events(any_store)) == before
    assert len(list(any_store.records(PORTAL))) == SIZE
    assert {row["price"] for row in any_store.records(PORTAL)} == {325000}

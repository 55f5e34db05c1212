"""The outbox of notifications on a real server of each kind."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, cast

import psycopg2
import pytest
from pymongo import MongoClient

from realestate.storage import outbox
from realestate.storage.maintenance import FullStore
from realestate.storage.outbox import LeasedNotification
from tests.storage.conftest import OpenStore

Shift = Callable[[timedelta], None]


def put(store: FullStore, key: str, target: str = "notify:a", topic: str = "alert:x", **data: Any) -> bool:
    return store.enqueue(topic=topic, dedupe_key=key, target=target, title=key, body="text", data=data)


def leased_keys(store: FullStore) -> list[str]:
    return [each.notification.dedupe_key for each in store.lease_notifications()]


def only(leased: Any) -> LeasedNotification:
    (one,) = leased
    assert isinstance(one, LeasedNotification)
    return one


@pytest.fixture
def store(any_store: Any) -> FullStore:
    return cast("FullStore", any_store)


@pytest.fixture
def pass_time(any_url: str) -> Shift:
    """Let time pass for the outbox: all its times are moved into the past."""
    names = ("created_at", "next_at", "leased_until", "settled_at")

    def shift(by: timedelta) -> None:
        if any_url.startswith("mongodb"):
            with MongoClient[Any](any_url) as client:
                documents = client.get_default_database()["notifications"]
                for each in list(documents.find()):
                    moved = {name: each[name] - by for name in names if each[name] is not None}
                    documents.update_one({"_id": each["_id"]}, {"$set": moved})
            return
        connection = psycopg2.connect(any_url)
        with connection, connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE notifications SET {', '.join(f'{name} = {name} - %(by)s' for name in names)}", {"by": by}
            )
        connection.close()

    return shift


def test_a_message_is_enqueued_once_for_each_target_and_key(store: FullStore) -> None:
    assert [put(store, "one"), put(store, "one"), put(store, "one", "notify:b")] == [True, False, True]
    newest, oldest = store.notifications()
    assert (newest.target, oldest.target) == ("notify:b", "notify:a")
    assert (oldest.state, oldest.attempts, oldest.title, oldest.data) == ("waiting", 0, "one", {})


def test_a_hundred_at_once_enqueue_one(open_another: OpenStore) -> None:
    stores = [cast("FullStore", open_another()) for _ in range(4)]
    stores[0].migrate()
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda each: [put(each, "same") for _ in range(25)], stores))
    assert sum(sum(each) for each in results) == 1
    assert len(stores[0].notifications()) == 1


def test_what_is_leased_is_leased_by_nobody_else(store: FullStore, open_another: OpenStore) -> None:
    put(store, "one")
    leased = only(store.lease_notifications())
    assert leased.notification.attempts == 1
    assert cast("FullStore", open_another()).lease_notifications() == []
    assert store.notification_sent(leased)
    assert store.notifications(state="sent")[0].settled_at is not None
    assert store.lease_notifications() == []


def test_messages_of_one_topic_keep_their_order(store: FullStore) -> None:
    for key in ("1", "2"):
        put(store, key)
        put(store, f"y{key}", topic="alert:y")
        put(store, key, "notify:b")
    first = store.lease_notifications()
    assert [(each.notification.dedupe_key, each.notification.topic, each.notification.target) for each in first] == [
        ("1", "alert:x", "notify:a"),
        ("y1", "alert:y", "notify:a"),
        ("1", "alert:x", "notify:b"),
    ]
    assert store.notification_postponed(first[0], "HTTP 500", 3600)
    assert store.notification_sent(first[1])
    assert leased_keys(store) == ["y2"], "the second of alert:x stays behind the first, which waits"


def test_a_sender_that_died_loses_nothing(store: FullStore, pass_time: Shift) -> None:
    put(store, "one")
    dead = only(store.lease_notifications())
    pass_time(timedelta(seconds=outbox.LEASE_SECONDS + 1))
    again = only(store.lease_notifications())
    assert again.notification.id == dead.notification.id, "the receiver can tell a repetition"
    assert again.notification.attempts == 2
    assert not store.notification_sent(dead), "its lease had expired"
    assert store.notification_sent(again)


def test_a_postponed_message_waits_for_its_time(store: FullStore, pass_time: Shift) -> None:
    put(store, "one")
    assert store.notification_postponed(only(store.lease_notifications()), "HTTP 500", 60)
    assert store.lease_notifications() == []
    assert store.notifications()[0].error == "HTTP 500"
    pass_time(timedelta(seconds=61))
    assert leased_keys(store) == ["one"]


def test_a_receiver_that_wants_a_pause_gets_nothing_at_all(store: FullStore, pass_time: Shift) -> None:
    put(store, "one")
    put(store, "two", topic="alert:y")
    put(store, "other", "notify:b")
    leased = {each.notification.dedupe_key: each for each in store.lease_notifications()}
    assert store.notification_postponed(leased["one"], "HTTP 429", 60, whole_target=True)
    assert store.notification_postponed(leased["two"], "later", 0)
    assert store.notification_postponed(leased["other"], "later", 0)
    assert sorted(leased_keys(store)) == ["other", "two"], "what was postponed afterwards has its own time"
    pass_time(timedelta(seconds=61))
    assert leased_keys(store) == ["one"]


def test_what_nobody_accepts_fails_and_can_be_sent_again(store: FullStore, pass_time: Shift) -> None:
    put(store, "one")
    pass_time(outbox.GIVE_UP_AFTER + timedelta(minutes=1))
    assert store.notification_postponed(only(store.lease_notifications()), "HTTP 500", 60)
    failed = only_failed(store)
    assert failed.error == "HTTP 500"
    assert store.lease_notifications() == []
    assert store.retry_notifications([failed.id]) == 1
    leased = only(store.lease_notifications())
    assert store.notification_failed(leased, "HTTP 400")
    assert only_failed(store).error == "HTTP 400"


def only_failed(store: FullStore) -> outbox.Notification:
    (one,) = store.notifications(state="failed")
    return one


def test_messages_are_found_by_topic_and_id(store: FullStore) -> None:
    put(store, "one")
    put(store, "two", topic="report:day")
    (report,) = store.notifications(topic="report")
    assert report.dedupe_key == "two"
    assert [each.dedupe_key for each in store.notifications(ids=[report.id])] == ["two"]
    assert store.notifications(topic="eport") == []


def test_only_settled_messages_are_dropped(store: FullStore, pass_time: Shift) -> None:
    put(store, "waits")
    put(store, "sent", topic="alert:y")
    for each in store.lease_notifications():
        if each.notification.dedupe_key == "sent":
            store.notification_sent(each)
    pass_time(timedelta(days=outbox.KEEP_DAYS + 1))
    assert store.drop_notifications() == 1
    assert [each.dedupe_key for each in store.notifications()] == ["waits"]


def test_data_is_read_back(store: FullStore) -> None:
    put(store, "one", portal="emlak", refs=["1", "2"], text="50 % ä")
    assert only(store.lease_notifications()).notification.data == {
        "portal": "emlak",
        "refs": ["1", "2"],
        "text": "50 % ä",
    }


def test_a_lease_costs_as_much_with_ten_thousand_sent_messages(store_url: str) -> None:
    """It reads one entry of the index for each target and topic that waits."""
    from realestate.storage.postgres import PostgresStore

    store = PostgresStore(store_url)
    store.migrate()
    connection = psycopg2.connect(store_url)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO notifications (topic, dedupe_key, target, title, body, state, settled_at)"
            " SELECT 'alert', n::text, 'notify:a', '', '', 'sent', now() FROM generate_series(1, 10000) AS n;"
            "INSERT INTO notifications (topic, dedupe_key, target, title, body)"
            " SELECT 'alert', (20000 + n)::text, 'notify:' || n % 3, '', '' FROM generate_series(1, 3000) AS n; ANALYZE"
        )
        before = _rows_read(cursor)
        assert len(store.lease_notifications()) == 3
        assert _rows_read(cursor) - before < 200
    connection.close()
    store.close()


def _rows_read(cursor: Any) -> int:
    cursor.execute("SELECT pg_sleep(1.1), pg_stat_force_next_flush()")
    cursor.execute(
        "SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables WHERE relname = 'notifications'"
    )
    return int(cursor.fetchone()[0])

"""Delivery to a real HTTP receiver: retries, signatures, kill -9, and what a receiver may do to us."""

import base64
import hmac
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest

from realestate.monitoring import delivery
from realestate.monitoring.addresses import BadAddress, shown, split_addresses, telegram_addresses
from realestate.monitoring.channels import AppriseChannel, Channels, WebhookChannel, _seconds, signed_headers
from realestate.monitoring.delivery import Sender, notify_operators, wait_seconds
from realestate.storage import FullStore, outbox
from realestate.storage.postgres import PostgresStore
from tests.monitoring.receiver import Receiver, receiving

SECRET = "whsec"


def put(store: FullStore, channels: Channels, *keys: str) -> None:
    for key in keys:
        notify_operators(store, channels, topic=f"alert:{key}", dedupe_key=key, title=key, body="text", data={"n": 1})


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries come without waiting."""
    monkeypatch.setattr(delivery, "FIRST_WAIT_SECONDS", 0.0)


@contextmanager
def sender_process(store_url: str, url: str) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen([sys.executable, "-m", "tests.monitoring.sender_process", store_url, url])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_until(condition: object, seconds: float = 30.0) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.05)


def test_a_webhook_gets_each_message_once_and_signed(any_store: FullStore, receiver: Receiver) -> None:
    channels = Channels([receiver.url], webhook_secret=SECRET)
    put(any_store, channels, "one", "two", "one")
    assert Sender(any_store, channels).send_due().sent == 2
    assert sorted(each["title"] for each in receiver.accepted) == ["one", "two"]
    headers = receiver.headers[0]
    body = receiver.bodies[0]
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(SECRET.encode(), signed, sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    message = json.loads(body)
    assert message["id"] == headers["webhook-id"]
    assert (message["topic"], message["body"], message["data"]) == (f"alert:{message['title']}", "text", {"n": 1})
    assert Sender(any_store, channels).send_due().total == 0


def test_a_secret_of_standard_webhooks_is_used_as_its_libraries_do() -> None:
    key = b"0123456789abcdefghijklmn"
    signed = signed_headers("id", b"{}", "whsec_" + base64.b64encode(key).decode(), 1_760_000_000)
    expected = base64.b64encode(hmac.new(key, b"id.1760000000.{}", sha256).digest()).decode()
    assert signed["webhook-signature"] == f"v1,{expected}"
    assert "webhook-signature" in signed_headers("id", b"{}", "whsec_but no base64", 1_760_000_000)


def test_apprise_delivers(store: PostgresStore, receiver: Receiver) -> None:
    channels = Channels([receiver.apprise_url])
    put(store, channels, "one")
    assert Sender(store, channels).send_due().sent == 1
    assert receiver.accepted[0]["title"] == "one"
    assert receiver.accepted[0]["message"] == "text"


@pytest.mark.parametrize("status", [429, 500, 502, 503])
@pytest.mark.parametrize("kind", ["url", "apprise_url"])
def test_a_receiver_that_refuses_for_ten_minutes_loses_nothing_and_gets_nothing_twice(
    store: PostgresStore, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, status: int, kind: str
) -> None:
    """Time passes in the database: what waits becomes due."""
    channels = Channels([getattr(receiver, kind)])
    sender = Sender(store, channels)
    put(store, channels, "one", "two", "three")
    refused_for, waited = timedelta(0), timedelta(0)
    while refused_for < timedelta(minutes=10):
        receiver.answers = [status] * 3
        assert sender.send_due().sent == 0
        waiting = store.notifications(state="waiting")
        assert len(waiting) == 3, "nothing is lost"
        waited = max(each.next_at for each in waiting) - datetime.now(UTC)
        _pass_time(store, waited)
        refused_for += waited
    receiver.answers = []
    requests = receiver.requests
    assert sender.send_due().sent == 3
    assert receiver.requests == requests + 3
    assert sorted(each["title"] for each in receiver.accepted) == ["one", "three", "two"]
    assert requests < 60, "the waits grow"


def _pass_time(store: PostgresStore, by: timedelta) -> None:
    with store.connection.cursor() as cursor:
        cursor.execute("UPDATE notifications SET next_at = next_at - %s", (by + timedelta(milliseconds=50),))


def test_the_waits_double_up_to_five_minutes() -> None:
    waits = [wait_seconds(attempts, lambda: 0.0) for attempts in (1, 2, 3, 7, 50)]
    assert waits == [5.0, 10.0, 20.0, 300.0, 300.0]
    assert wait_seconds(1, lambda: 1.0) == 6.0


def test_retry_after_is_honoured_for_all_messages_of_the_target(store: PostgresStore, receiver: Receiver) -> None:
    channels = Channels([receiver.url])
    put(store, channels, "one")
    receiver.answers = [429]
    receiver.retry_after = "120"
    assert Sender(store, channels).send_due().postponed == 1
    put(store, channels, "two")
    (one,) = store.notifications(topic="alert:one")
    assert timedelta(seconds=100) < one.next_at - datetime.now(UTC) < timedelta(seconds=125)


def test_retry_after_may_be_a_date_or_nonsense() -> None:
    now = datetime(2026, 11, 18, 12, tzinfo=UTC)
    assert _seconds("Wed, 18 Nov 2026 12:02:00 GMT", now) == 120
    assert _seconds("Wed, 18 Nov 2026 11:00:00 GMT", now) == 0
    assert _seconds("1e9", now) == 86400
    assert _seconds("soon", now) is None
    assert _seconds(None, now) is None


@pytest.mark.parametrize("status", [301, 400, 401, 404, 410])
def test_what_is_refused_for_good_is_not_repeated(store: PostgresStore, receiver: Receiver, status: int) -> None:
    channels = Channels([receiver.url])
    put(store, channels, "one")
    receiver.answers = [status]
    assert Sender(store, channels).send_due().failed == 1
    (failed,) = store.notifications(state="failed")
    assert failed.error == f"HTTP {status}"
    assert receiver.requests == 1, "redirects are not followed"


def test_one_bad_message_does_not_hold_back_other_topics(
    store: PostgresStore, receiver: Receiver, at_once: None
) -> None:
    channels = Channels([receiver.url])
    put(store, channels, "one", "two")
    receiver.answers = [500]
    done = Sender(store, channels).send_due(at_most=2)
    assert (done.sent, done.postponed) == (1, 1)


def test_a_receiver_that_does_not_respond_holds_back_no_other(
    any_store: FullStore, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("realestate.monitoring.channels.TIMEOUT_SECONDS", 2.0)
    with receiving() as silent:
        silent.may_answer.clear()
        for number in range(40):
            any_store.enqueue(topic=f"search:{number}", dedupe_key=f"{number}", target=silent.url, title="t", body="b")
        any_store.enqueue(topic="alert:x", dedupe_key="x", target=receiver.url, title="t", body="b")
        Sender(any_store, Channels(allow_private=True)).send_due()
        assert silent.requests <= delivery.TOGETHER, "after the first ones, all messages to it wait"
        assert len(receiver.accepted) == 1


def test_two_senders_at_once_send_each_message_once(any_url: str, any_store: FullStore, receiver: Receiver) -> None:
    channels = Channels([receiver.url])
    keys = [str(number) for number in range(20)]
    put(any_store, channels, *keys)
    with sender_process(any_url, receiver.url), sender_process(any_url, receiver.url):
        wait_until(lambda: len(any_store.notifications(state="sent", limit=50)) == 20, 60)
    assert sorted(each["title"] for each in receiver.accepted) == sorted(keys)


def test_a_sender_killed_before_it_sends_loses_nothing_and_repeats_nothing(
    any_url: str, any_store: FullStore, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed between finding and sending: it holds the lease, and the receiver heard nothing of it."""
    monkeypatch.setattr(outbox, "LEASE_SECONDS", 1.0)
    channels = Channels([receiver.url])
    put(any_store, channels, "one")
    script = (
        "import os, signal, sys; from realestate.storage import open_store\n"
        "leased = open_store(sys.argv[1]).lease_notifications(); assert len(leased) == 1\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", script, any_url]).returncode == -9
    assert any_store.notifications(state="waiting")[0].attempts == 1
    assert Sender(any_store, channels).send_due().total == 0, "its lease has not expired"
    _expire_leases(any_store)
    assert Sender(any_store, channels).send_due().sent == 1
    assert len(receiver.accepted) == 1


def test_a_sender_killed_after_it_sent_repeats_with_the_same_id(
    any_url: str, any_store: FullStore, receiver: Receiver
) -> None:
    """The only window in which something is sent twice: accepted, and not yet noted. A webhook can tell by the id."""
    channels = Channels([receiver.url])
    put(any_store, channels, "one")
    receiver.may_answer.clear()
    with sender_process(any_url, receiver.url) as process:
        assert receiver.reached.wait(30)
        process.kill()
        process.wait()
    receiver.may_answer.set()
    _expire_leases(any_store)
    assert Sender(any_store, channels).send_due().sent == 1
    assert len({headers["webhook-id"] for headers in receiver.headers}) == 1
    assert any_store.notifications(state="waiting") == []


def _expire_leases(store: FullStore) -> None:
    if isinstance(store, PostgresStore):
        with store.connection.cursor() as cursor:
            cursor.execute("UPDATE notifications SET leased_until = now() WHERE leased_until IS NOT NULL")
        return
    with store.connection.database() as database:  # type: ignore[attr-defined]
        now = database.command("hello")["localTime"]
        database["notifications"].update_many({}, {"$set": {"leased_until": now - timedelta(seconds=1)}})


# ----- targets


def test_a_target_that_this_process_does_not_know_waits_for_another(store: PostgresStore, receiver: Receiver) -> None:
    channels = Channels([receiver.url])
    put(store, channels, "one")
    assert Sender(store, Channels()).send_due().postponed == 1
    assert store.notifications(state="waiting")[0].error == "this target is not known here: is NOTIFY_URLS set?"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:{port}/hook", "http://localhost:{port}/hook", "http://169.254.169.254/", "http://[::1]/"]
)
def test_a_webhook_of_a_user_cannot_reach_our_network(store: PostgresStore, receiver: Receiver, url: str) -> None:
    store.enqueue(topic="t", dedupe_key="k", target=url.format(port=receiver.port), title="t", body="")
    assert Sender(store, Channels()).send_due().failed == 1
    assert receiver.requests == 0
    assert "public" in (store.notifications()[0].error or "")


def test_a_webhook_of_a_user_cannot_be_another_kind_of_address(store: PostgresStore, receiver: Receiver) -> None:
    store.enqueue(topic="t", dedupe_key="k", target=receiver.apprise_url, title="t", body="")
    assert Sender(store, Channels()).send_due().postponed == 1
    assert receiver.requests == 0


def test_a_room_may_resolve_targets_of_its_own(store: PostgresStore, receiver: Receiver) -> None:
    resolvers = {"search": lambda target: WebhookChannel(f"{receiver.url}?{target}", "own", may_be_private=True)}
    store.enqueue(topic="t", dedupe_key="k", target="search:7", title="t", body="")
    assert Sender(store, Channels(resolvers=resolvers)).send_due().sent == 1
    assert "webhook-signature" in receiver.headers[0]


def test_a_fault_of_a_channel_does_not_stop_the_others(store: PostgresStore, receiver: Receiver) -> None:
    class Broken:
        def send(self, notification: object) -> None:
            raise KeyError("bug")

    channels = Channels([receiver.url], resolvers={"broken": lambda _: Broken()})
    store.enqueue(topic="t", dedupe_key="k", target="broken:1", title="t", body="")
    put(store, channels, "one")
    done = Sender(store, channels).send_due()
    assert (done.sent, done.postponed) == (1, 1)


# ----- addresses


def test_addresses_may_be_separated_by_spaces_commas_and_lines() -> None:
    text = "tgram://1:a/2/, slack://x/y\n https://example.org/?a=1,2 ,"
    assert split_addresses(text) == ["tgram://1:a/2/", "slack://x/y", "https://example.org/?a=1,2"]
    assert split_addresses(" ") == []
    with pytest.raises(BadAddress, match="address 2 has no scheme"):
        split_addresses("tgram://1:a/2 nonsense")


def test_each_chat_of_a_bot_is_an_address() -> None:
    assert telegram_addresses("12:ab-c", "-100, @news") == ["tgram://12:ab-c/-100/", "tgram://12:ab-c/@news/"]
    for token, chats in (("nonsense", "1"), ("12:ab", "my chat!"), ("12:ab", " , ")):
        with pytest.raises(BadAddress) as error:
            telegram_addresses(token, chats)
        assert token not in str(error.value)


def test_the_addresses_are_understood_and_never_shown() -> None:
    urls = ["tgram://123456789:secret_token/12315544/", "https://user:secret@example.org/secret"]
    channels = Channels(urls)
    channels.check()
    assert isinstance(channels.channel(channels.operators[0]), AppriseChannel)
    assert isinstance(channels.channel(channels.operators[1]), WebhookChannel)
    assert list(channels.names().values()) == ["tgram://…", "https://example.org"]
    assert "secret" not in repr(channels.operators) + shown(urls[0]) + shown(urls[1])
    with pytest.raises(BadAddress, match="apprise does not understand it") as error:
        Channels(["nope://secret"]).check()
    assert "secret" not in str(error.value)

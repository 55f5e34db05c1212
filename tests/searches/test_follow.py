"""Each subscriber gets each event once that a saved search matches, whatever is killed."""

import subprocess
import sys
import threading
import time
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from fastapi.testclient import TestClient

from realestate.homes.build import build
from realestate.monitoring.channels import Channels, NotAccepted
from realestate.monitoring.delivery import Sender
from realestate.pipelines.clean import clean
from realestate.searches.channels import RateLimitedChannels
from realestate.searches.feed import feed_of
from realestate.searches.follow import TARGET, Follower, target_of, would_send
from realestate.storage import FullStore, open_store
from realestate.storage.history import EventType
from realestate.storage.searches import KnownSearches, NameTaken, Search
from realestate.web.app import create_app
from tests.homes.test_linkage import advert
from tests.monitoring.receiver import Receiver
from tests.storage.batches import batch, later, page, pages

ALL: tuple[EventType, ...] = ("listed", "price_changed", "delisted", "relisted", "sold")


def save(store: FullStore, name: str, filter: str, *notify: str) -> Search:
    return store.save_search(name, filter, ALL, notify)


def send(store: FullStore) -> None:
    channels = RateLimitedChannels(store, 0, may_be_private=True)
    channels.look()
    Sender(store, Channels(resolvers={TARGET: channels})).send_due()


def received(receiver: Receiver) -> list[tuple[str, str, str]]:
    return [(each["data"]["search"], each["data"]["event"], each["data"]["ref"]) for each in receiver.accepted]


def test_a_subscriber_is_told_what_happens_after_it_subscribed(any_store: FullStore, receiver: Receiver) -> None:
    any_store.write(batch(page("0")))
    save(any_store, "big", "rooms>=5", receiver.url)
    any_store.write(batch(page("1", rooms=8), page("2", rooms=2)))
    any_store.write(batch(page("1", rooms=8, price=Decimal(300_000)), job="second"))
    any_store.write(batch(page("1", rooms=8, price=Decimal(300_000), status="sold"), job="third"))
    follower = Follower(any_store)
    assert follower.wait(0)
    assert follower.follow().enqueued == 3
    assert not follower.wait(0)
    send(any_store)
    assert received(receiver) == [("big", "listed", "1"), ("big", "price_changed", "1"), ("big", "sold", "1")]
    change = receiver.accepted[1]
    assert change["title"] == "Price changed: House with a garden"
    lines = change["body"].splitlines()
    assert lines[0] == "300,000 EUR"
    assert lines[1] == "before: 350,000 EUR (-14.29 %)"
    assert "https://www.openstreetmap.org/?mlat=50.46&mlon=4.86#map=16/50.46/4.86" in lines
    assert "https://photos.example/1.jpg" in lines
    assert (change["data"]["price"], change["data"]["photo"]) == ("300000.00", "https://photos.example/1.jpg")


def test_a_home_is_told_once_and_not_each_advert_of_it(any_store: FullStore, receiver: Receiver) -> None:
    any_store.write(batch(clean(advert("0"))))
    build(any_store)
    save(any_store, "flats", "rooms=3", receiver.url)
    follower = Follower(any_store, build)
    any_store.write(batch(clean(advert("1", area_m2=63.2, floor=2, description=None))))
    follower.follow()
    later()
    any_store.write(batch(clean(advert("2", "tap", area_m2=63.2, floor=2, price=Decimal(149_500)))))
    any_store.write(batch(clean(advert("3", "tap", price=Decimal(149_500)))))
    follower.follow()
    assert any_store.home_of("tap", "2") == any_store.home_of("bina", "1")
    assert any_store.home_of("tap", "3") == any_store.home_of("bina", "0")
    send(any_store)
    assert received(receiver) == [("flats", "listed", "1")]


def test_two_searches_of_one_address_tell_it_once(any_store: FullStore, receiver: Receiver) -> None:
    save(any_store, "one", "rooms>1", receiver.url)
    save(any_store, "two", "price>1", receiver.url)
    any_store.write(batch(page("1")))
    assert Follower(any_store).follow().enqueued == 1
    send(any_store)
    assert len(receiver.accepted) == 1


def test_a_paused_search_is_not_told_and_not_told_later(any_store: FullStore, receiver: Receiver) -> None:
    search = save(any_store, "one", "rooms>1", receiver.url)
    any_store.pause_search(search.id, paused=True)
    any_store.write(batch(page("1")))
    follower = Follower(any_store)
    assert follower.follow().enqueued == 0
    any_store.pause_search(search.id, paused=False)
    any_store.write(batch(page("2")))
    assert follower.follow().enqueued == 1
    assert any_store.delete_search(search.id)
    any_store.write(batch(page("3")))
    assert follower.follow().enqueued == 0
    assert not any_store.delete_search(search.id)
    send(any_store)  # the address is gone: what waits is not sent
    assert receiver.accepted == []
    assert [each.state for each in any_store.notifications()] == ["failed"]


def test_a_name_is_given_once(any_store: FullStore) -> None:
    save(any_store, "one", "rooms>1")
    with pytest.raises(NameTaken, match="there is a search 'one' already"):
        save(any_store, "one", "rooms>2")
    assert [each.filter for each in any_store.searches()] == ["rooms>1"]


def test_searches_are_read_again_only_after_a_change(any_store: FullStore) -> None:
    known = KnownSearches(any_store)
    known.look()
    assert not known.look()
    first = save(any_store, "first", "rooms>1", "json://127.0.0.1/")
    assert known.look()
    assert [each.name for each in known.all] == ["first"]
    assert not known.look()
    any_store.pause_search(first.id, paused=True)
    assert known.look()
    assert [each.is_paused for each in known.all] == [True]
    any_store.delete_search(first.id)
    save(any_store, "second", "rooms>1", "json://127.0.0.1/")
    assert known.look(), "one less and one more"
    assert [each.name for each in known.all] == ["second"]


def test_addresses_are_in_no_target_and_no_repr(any_store: FullStore) -> None:
    secret = "tgram://123456:ABC-secret/-100"
    search = save(any_store, "one", "rooms>1", secret)
    any_store.write(batch(page("1")))
    Follower(any_store).follow()
    (message,) = any_store.notifications()
    assert "secret" not in repr((message, search, target_of(secret)))


def test_a_follower_that_dies_before_its_note_repeats_no_message(
    any_store: FullStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(any_store, "one", "rooms>1", "json://127.0.0.1/")
    any_store.write(batch(*pages(5)))

    def die(upto: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(any_store, "follow", die)
        with pytest.raises(KeyboardInterrupt):
            Follower(any_store).follow()
    assert Follower(any_store).follow().enqueued == 0
    assert len(any_store.notifications()) == 5


def test_an_address_has_a_rate_limit() -> None:
    now = 0.0
    channels = RateLimitedChannels(None, 3, clock=lambda: now)  # type: ignore[arg-type]
    assert channels.wait_seconds("a") == 0
    assert channels.wait_seconds("a") == 3
    assert channels.wait_seconds("b") == 0
    now = 3.5
    assert channels.wait_seconds("a") == 0


def test_a_message_above_the_rate_limit_waits_in_the_outbox(any_store: FullStore, receiver: Receiver) -> None:
    save(any_store, "one", "rooms>1", receiver.url)
    any_store.write(batch(*pages(3)))
    Follower(any_store).follow()
    channels = RateLimitedChannels(any_store, 3600, may_be_private=True)
    channels.look()
    done = Sender(any_store, Channels(resolvers={TARGET: channels})).send_due()
    assert (done.sent, done.failed) == (1, 0)
    waiting = [each for each in any_store.notifications() if each.state == "waiting"]
    assert len(waiting) == 2
    postponed = [each.next_at > each.created_at + timedelta(minutes=30) for each in waiting]
    assert sorted(postponed) == [False, True], "those behind it are not touched: there may be thousands"
    with pytest.raises(NotAccepted, match="rate limit"):
        channels(target_of(receiver.url)).send(any_store.notifications()[0])


def test_a_waiting_follower_is_woken_by_an_event(any_store: FullStore, any_url: str) -> None:
    any_store.write(batch(page("1")))
    follower = Follower(any_store)
    any_store.followed()
    woken: list[bool] = []
    thread = threading.Thread(target=lambda: woken.append(follower.wait(60)))
    thread.start()
    time.sleep(0.2)
    other = open_store(any_url)
    other.write(batch(page("2")))
    other.close()
    thread.join(30)
    assert woken == [True]


def test_the_feed_has_the_listings_on_the_market(any_store: FullStore) -> None:
    search = save(any_store, "big & <cheap>", "rooms>=5")
    any_store.write(batch(page("1", rooms=8, title="A <b>big</b> house\x0b\ufffe"), page("2", rooms=2)))
    any_store.write(batch(page("3", rooms=9, title=None, latitude=None, longitude=None, geo_precision=None)))
    feed = ElementTree.fromstring(feed_of(any_store, search, "https://x.example/feeds/1.atom"))
    atom = {"a": "http://www.w3.org/2005/Atom"}
    assert feed.findtext("a:title", namespaces=atom) == "big & <cheap>"
    entries = feed.findall("a:entry", atom)
    titles = [each.findtext("a:title", namespaces=atom) for each in entries]
    assert titles == ["house · Namur · 350,000 EUR", "A <b>big</b> house · Namur · 350,000 EUR"]
    links = {each.get("rel"): each.get("href") for each in entries[1].findall("a:link", atom)}
    assert links["alternate"] == "https://www.immoweb.be/en/classified/1"
    assert links["enclosure"] == "https://photos.example/1.jpg"
    assert "openstreetmap" in str(links["related"])
    required = [feed.findtext(f"a:{name}", namespaces=atom) for name in ("id", "updated")]
    assert all(required)


def test_what_a_search_would_have_told_is_shown_without_sending(any_store: FullStore) -> None:
    any_store.write(batch(*pages(4)))
    search = save(any_store, "one", "rooms>1", "json://127.0.0.1/")
    assert [each.data["ref"] for each in would_send(any_store, search, 3)] == ["1", "2", "3"]
    assert any_store.notifications() == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_nobody_is_told_twice_or_forgotten_when_the_process_is_killed(store_url: str, receiver: Receiver) -> None:
    """The receiver ignores an id that it knows: that is the only repetition (storage/outbox.py)."""
    store = open_store(store_url)
    store.migrate()
    save(store, "all", "rooms>1", receiver.url)
    script = Path(__file__).with_name("watch_process.py")
    for turn in range(4):
        command = [sys.executable, str(script), store_url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as process:
            assert process.stdout is not None
            process.stdout.readline()
            before = receiver.requests
            store.write(batch(*(page(f"{turn}-{number}") for number in range(25)), job=str(turn)))
            _until(lambda before=before: receiver.requests > before)
            time.sleep(0.03 * turn)
            process.kill()
        _free_leases(store)
    Follower(store).follow()
    _until(lambda: _sent_all(store))
    wanted = {f"{turn}-{number}" for turn in range(4) for number in range(25)}
    by_id = {each["id"]: each["data"]["ref"] for each in receiver.accepted}
    assert sorted(by_id.values()) == sorted(wanted)
    assert len(receiver.accepted) - len(by_id) <= 4 * 8, "at most what was being sent at each kill"
    store.close()


def _free_leases(store: FullStore) -> None:
    """What a killed sender had leased is free after two minutes: that is not waited for."""
    store._ask("UPDATE notifications SET leased_until = now() WHERE leased_until > now()")  # type: ignore[attr-defined]


def _sent_all(store: FullStore) -> bool:
    """Send what is left."""
    _free_leases(store)
    send(store)
    return not store.notifications(state="waiting")


def _until(holds: Any) -> None:
    end = time.monotonic() + 240
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_server_has_the_feed_of_each_search(store_url: str) -> None:
    store = open_store(store_url)
    store.migrate()
    search = save(store, "one", "rooms>1")
    store.write(batch(page("1")))
    store.close()
    with TestClient(create_app(lambda: open_store(store_url)), base_url="http://localhost") as client:
        found = client.get(f"/feeds/{search.id}.atom")
        assert found.status_code == 200
        assert found.headers["content-type"] == "application/atom+xml; charset=utf-8"
        assert b"/en/classified/1" in found.content
        assert client.get("/feeds/0123.atom").status_code == 404

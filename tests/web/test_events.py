"""Events as they happen, from a real server: the long poll and the stream."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from realestate.storage import FullStore, StoreAway, open_store
from realestate.web import events
from realestate.web.app import create_app
from tests.storage.batches import batch, page
from tests.web.server import serving

V1 = "/api/v1"
#: Longer than the events of a test take on a busy machine.
PATIENCE_SECONDS = 60


@pytest.fixture
def address(filled: FullStore, any_url: str) -> Iterator[str]:
    with serving(create_app(lambda: open_store(any_url))) as url:
        yield url


@contextmanager
def connect(address: str, path: str, **headers: str) -> Iterator[http.client.HTTPResponse]:
    with closing(http.client.HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE_SECONDS)) as connection:
        connection.request("GET", f"{V1}{path}", headers=headers)
        with connection.getresponse() as response:
            assert response.status == 200
            yield response


def next_event(stream: http.client.HTTPResponse) -> dict[str, Any]:
    """The next event of a stream, with the number and type of its own lines."""
    fields: dict[str, str] = {}
    while True:
        line = stream.readline().decode().rstrip("\n")
        if not line and "data" in fields:
            found: dict[str, Any] = json.loads(fields["data"])
            assert (str(found["number"]), found["type"]) == (fields["id"], fields["event"])
            return found
        name, _, value = line.partition(": ")
        if name:
            fields[name] = value


def test_a_stream_sends_what_happens_from_now_on(address: str, filled: FullStore) -> None:
    with connect(address, "/events/stream") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.readline() == b": connected\n"
        last = filled.last_event()
        filled.write(batch(page("1"), page("2")))
        found = [next_event(stream) for _ in range(2)]
    assert [each["number"] for each in found] == [last + 1, last + 2]
    assert [(each["portal"], each["ref"], each["type"]) for each in found] == [
        ("immoweb", "1", "listed"),
        ("immoweb", "2", "listed"),
    ]


def test_a_client_that_reconnects_misses_none(address: str, filled: FullStore) -> None:
    with connect(address, "/events/stream?after=0") as stream:
        first = next_event(stream)
    with connect(address, "/events/stream?after=0", **{"Last-Event-ID": str(first["number"])}) as stream:
        assert next_event(stream)["number"] == first["number"] + 1


def test_a_stream_of_one_portal_and_type(address: str, filled: FullStore) -> None:
    with connect(address, "/events/stream?after=0&portal=immoweb&type=sold") as stream:
        filled.write(batch(page("1")))
        filled.write(batch(page("1", status="sold"), job="second"))
        found = next_event(stream)
    assert (found["portal"], found["type"]) == ("immoweb", "sold")


def test_a_long_poll_waits_for_an_event(address: str, filled: FullStore) -> None:
    last = filled.last_event()
    found: list[Any] = []

    def wait() -> None:
        with connect(address, f"/events?after={last}&wait=30") as response:
            found.append(json.loads(response.read()))

    waiting = threading.Thread(target=wait)
    waiting.start()
    filled.write(batch(page("1")))
    waiting.join(PATIENCE_SECONDS)
    assert [each["ref"] for each in found[0]["events"]] == ["1"]
    assert found[0]["last"] == last + 1


def test_a_stream_ends_when_the_store_goes_away(
    address: str, filled: FullStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clean end: the client connects again, with the number of the last event that it got."""

    async def away(*_: object) -> None:
        raise StoreAway("gone")

    with connect(address, "/events/stream") as stream:
        assert stream.readline() == b": connected\n"
        monkeypatch.setattr(events, "_next", away)
        assert stream.read() == b"\n"

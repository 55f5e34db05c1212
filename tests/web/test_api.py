"""The API on both stores: what it returns, and what it refuses."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from redis import Redis

from realestate.queue import keys
from realestate.queue.dead_letters import dead_letter
from realestate.storage import FullStore, StoreAway
from realestate.web.app import create_app, openapi_of
from tests.storage.test_homes import CLUSTERED, WEEK
from tests.web.conftest import LISTINGS, MakeClient

OPENAPI = Path(__file__).parents[2] / "docs" / "openapi.json"
V1 = "/api/v1"


def test_all_pages_have_all_listings(client: TestClient) -> None:
    found: list[str] = []
    cursor = None
    while True:
        parameters: dict[str, Any] = {"where": "status=any", "sort": "-price", "limit": 7, "fields": "ref,price"}
        page = client.get(f"{V1}/listings", params=parameters | ({"cursor": cursor} if cursor else {})).json()
        assert all(set(row) == {"ref", "price"} for row in page["listings"])
        found += [row["ref"] for row in page["listings"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert sorted(found, key=int) == [str(number) for number in range(LISTINGS)]


def test_counts_facets_and_the_map(client: TestClient) -> None:
    where = {"where": "status=any"}
    assert client.get(f"{V1}/listings/count", params=where).json() == {
        "number": LISTINGS,
        "is_exact": True,
        "text": str(LISTINGS),
    }
    (facet,) = client.get(f"{V1}/listings/facets", params=where | {"fields": "portal"}).json()["facets"]
    assert facet == {"field": "portal", "values": [{"value": "bina", "count": LISTINGS}], "is_exact": True}
    hexagons = client.get(f"{V1}/listings/hexagons", params=where | {"resolution": 4}).json()["hexagons"]
    points = client.get(f"{V1}/listings/points", params=where | {"bbox": "49,40,51,41"}).json()["points"]
    assert sum(each["count"] for each in hexagons) == len(points) > 0


def test_one_listing_with_its_history(client: TestClient) -> None:
    found = client.get(f"{V1}/listings/bina/1").json()
    assert (found["listing"]["portal"], found["listing"]["ref"]) == ("bina", "1")
    assert found["events"][0]["type"] == "listed"
    assert found["prices"]
    missing = client.get(f"{V1}/listings/bina/nobody")
    assert (missing.status_code, missing.json()) == (404, {"error": "there is no listing bina/nobody"})


def test_homes_and_why_they_are_one(client: TestClient, filled: FullStore) -> None:
    filled.save_homes(CLUSTERED)
    page = client.get(f"{V1}/homes", params={"limit": 1}).json()
    assert [(each["home"], each["price"]) for each in page["homes"]] == [("h1", 125000.5)]
    assert page["next"] == "h1"
    page = client.get(f"{V1}/homes", params={"after": "h1"}).json()
    assert ([each["home"] for each in page["homes"]], page["next"]) == (["h2"], None)
    asked: dict[str, Any] = {
        "country": "AZ",
        "city": "Bakı",
        "operation": "sale",
        "property_type": "apartment",
        "active": True,
    }
    assert [each["home"] for each in client.get(f"{V1}/homes", params=asked).json()["homes"]] == ["h1"]
    one = client.get(f"{V1}/homes/h1").json()
    assert one["listings"] == [{"portal": "bina", "ref": "1"}, {"portal": "tap", "ref": "2"}]
    assert one["links"][0]["reasons"][0] == {"what": "floor_same", "log_odds": 3.5}
    missing = client.get(f"{V1}/homes/h9")
    assert (missing.status_code, missing.json()) == (404, {"error": "there is no home h9"})


def test_the_market_of_a_place_by_week(client: TestClient, filled: FullStore) -> None:
    older = replace(WEEK, week=date(2026, 10, 26), stock=20)
    dollars = replace(WEEK, currency="USD", stock=3)
    filled.save_market([older, WEEK, dollars, replace(WEEK, city="", stock=90)], older.week)
    found = client.get(f"{V1}/market", params={"place": "baku"}).json()["weeks"]
    assert [(each["week"], each["stock"], each["currency"]) for each in found] == [
        ("2026-10-26", 20, "AZN"),
        ("2026-11-02", 12, "AZN"),
    ]
    assert len(client.get(f"{V1}/market", params={"place": "baku", "weeks": 1}).json()["weeks"]) == 1
    assert client.get(f"{V1}/market", params={"place": "AZ"}).json()["weeks"][0]["stock"] == 90
    assert client.get(f"{V1}/market", params={"place": "baku", "operation": "rent"}).status_code == 404
    assert client.get(f"{V1}/market", params={"place": "baku", "operation": "buy"}).status_code == 422


def test_events_by_number(client: TestClient) -> None:
    first = client.get(f"{V1}/events", params={"limit": 5}).json()
    assert [each["number"] for each in first["events"]] == [1, 2, 3, 4, 5]
    rest = client.get(f"{V1}/events", params={"after": first["last"], "limit": 1000}).json()
    assert rest["events"][0]["number"] == 6
    none = client.get(f"{V1}/events", params={"after": rest["last"], "wait": 0.2}).json()
    assert none == {"events": [], "last": rest["last"]}


def test_jobs_are_submitted_shown_and_cancelled(client: TestClient) -> None:
    order = {"portal": "immoweb", "key": "nightly", "limit": 5}
    made = client.post(f"{V1}/jobs", json=order)
    assert made.status_code == 200, made.text
    job = made.json()["job"]
    assert client.post(f"{V1}/jobs", json=order).json()["job"] == job
    assert client.post(f"{V1}/jobs", json=order | {"limit": 6}).status_code == 409
    assert client.get(f"{V1}/jobs/{job}").json()["state"] == "queued"
    assert job in [each["job"] for each in client.get(f"{V1}/jobs").json()["jobs"]]
    cancelled = client.post(f"{V1}/jobs/{job}/cancel", params={"reason": "not needed"}).json()
    assert (cancelled["state"], cancelled["reason"]) == ("cancelled", "not needed")
    assert client.get(f"{V1}/jobs/unknown").status_code == 404
    wrong = client.post(f"{V1}/jobs", json={"portal": "imoweb"})
    assert wrong.status_code == 422
    assert "the portals are" in wrong.json()["error"]


def test_portals_dead_letters_and_quarantine(client: TestClient) -> None:
    portals = {each["portal"]: each for each in client.get(f"{V1}/portals").json()["portals"]}
    assert portals["bina"]["stored"] == LISTINGS
    assert portals["bina"]["queue"]["paused"] is False
    assert client.get(f"{V1}/deadletters/bina").json() == {"dead_letters": []}
    assert client.get(f"{V1}/deadletters/bina/00ff").status_code == 404
    (entry,) = client.get(f"{V1}/quarantine").json()["entries"]
    assert client.get(f"{V1}/quarantine/{entry['id']}").json()["errors"] == ["price: bad"]
    assert client.post(f"{V1}/quarantine/{entry['id']}/release").json()["id"] == entry["id"]
    assert client.get(f"{V1}/quarantine/0123").status_code == 404


def test_a_dead_letter_is_shown_and_replayed(client: TestClient, server: Redis) -> None:
    """A start URL that was refused becomes one again."""
    url = "https://bina.az/nowhere"
    text = dead_letter("seed", "not a search of the portal", seed=url)
    server.hset(keys.dead_letters("bina"), b"\x0a\xff", text)
    server.zadd(keys.dead_letter_times("bina"), {b"\x0a\xff": 1_760_000_000_000})
    (found,) = client.get(f"{V1}/deadletters/bina").json()["dead_letters"]
    assert (found["id"], found["reason"], found["seed"]) == ("0aff", "seed", url)
    assert client.get(f"{V1}/deadletters/bina/0aff").json() == found
    assert client.post(f"{V1}/deadletters/bina/0aff/replay").json() == {"replayed": 1}
    assert server.lrange(keys.start_urls("bina"), 0, -1) == [url.encode()]
    assert client.get(f"{V1}/deadletters/bina/0aff").status_code == 404
    assert client.post(f"{V1}/deadletters/bina/0aff/replay").status_code == 404


WRONG = [
    ("listings?where=prise<3", "did you mean 'price'?"),
    ("listings?where=city~'", "no letter or digit"),
    ("listings?where=ref=';DROP TABLE listings'", "expected"),
    ("listings?sort=title", "sort is one of"),
    ("listings?cursor=abc", "the cursor is not one"),
    ("listings?cursor=" + "A" * 5000, "the cursor is not one"),
    ("listings?limit=0", "limit: "),
    ("listings?limit=many", "limit: "),
    ("listings?fields=phone", "no field 'phone'"),
    ("listings?where=" + "x" * 9000, "at most"),
    ("listings?where=ref=%00", "NUL"),
    ("listings/facets?fields=title", "are not counted"),
    ("listings/hexagons?resolution=15", "resolution: "),
    ("listings/points?bbox=1,2", "four numbers"),
    ("listings/points?bbox=nan,nan,nan,nan", "is a number"),
    ("events?after=-1", "after: "),
    ("events?after=99999999999999999999", "after: "),
    ("events?type=exploded", "type: "),
    ("deadletters/UPPER", "portal: "),
    ("deadletters/bina/0af", "id: "),
    ("quarantine/xyz", "id: "),
]


@pytest.mark.parametrize(("path", "sentence"), WRONG)
def test_a_wrong_request_gets_a_sentence(client: TestClient, path: str, sentence: str) -> None:
    found = client.get(f"{V1}/{path}")
    assert found.status_code == 422, found.text
    assert sentence in found.json()["error"]


def test_too_much_is_refused(client: TestClient) -> None:
    assert client.get(f"{V1}/listings?where={'x' * 20_000}").status_code == 414
    huge = client.post(f"{V1}/jobs", content=b"[" + b"1," * 1_000_000 + b"1]")
    assert (huge.status_code, "more than" in huge.json()["error"]) == (413, True)
    nested = b'{"portal": "bina", "then": [{"submit": ' * 100 + b'{"portal": "bina"}' + b"}]}" * 100
    bodies = [
        b"{",
        b"[]",
        b'"text"',
        b'{"portal": "a\\u0000"}',
        b'{"portal": 1}',
        b"\xff",
        b'{"portal": "\\ud800"}',
        nested,
    ]
    for body in bodies:
        found = client.post(f"{V1}/jobs", content=body, headers={"content-type": "application/json"})
        assert found.status_code == 422, body
        assert found.json()["error"]


def test_every_response_has_the_headers(client: TestClient) -> None:
    for path in ("/healthz", f"{V1}/listings", f"{V1}/nowhere", f"{V1}/listings?limit=0"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        if path.startswith(V1):
            assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "access-control-allow-origin" not in headers


def test_a_store_that_is_away_is_503(make_client: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make_client()

    def away(*_: object) -> None:
        raise StoreAway("the secret address 10.0.0.1")

    monkeypatch.setattr("realestate.web.stores.Stores.lent", away)
    found = client.get(f"{V1}/listings")
    assert (found.status_code, "10.0.0.1" in found.text) == (503, False)
    assert client.get("/healthz").status_code == 503


def test_the_openapi_file_is_true(filled: FullStore) -> None:
    """If this fails: python -m tests.web.openapi"""
    described = openapi_of(create_app(lambda: filled))
    assert described["openapi"].startswith("3.1")
    assert json.loads(OPENAPI.read_text()) == json.loads(json.dumps(described))

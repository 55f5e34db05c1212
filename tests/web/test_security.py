"""Who may use the API."""

import base64

import pytest
from fastapi import Request
from fastapi.testclient import TestClient

from realestate.storage import FullStore
from realestate.web.keys import new_key, read_keys
from realestate.web.security import Principal
from tests.web.conftest import MakeClient

V1 = "/api/v1"
READER, READER_KEY = new_key("reader", "read")
OPERATOR, OPERATOR_KEY = new_key("operator", "operate")
KEYS = read_keys(f"{READER_KEY},{OPERATOR_KEY}")


@pytest.fixture
def guarded(make_client: MakeClient, filled: FullStore) -> TestClient:
    return make_client(api_keys=KEYS)


def with_key(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def with_password(secret: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'any name:{secret}'.encode()).decode()}"}


def test_only_healthz_works_without_a_key(guarded: TestClient) -> None:
    assert guarded.get("/healthz").status_code == 200
    routes = [path for path in guarded.app.openapi()["paths"] if path.startswith(V1)]  # type: ignore[attr-defined]
    assert len(routes) > 15
    for path in routes:
        methods = guarded.app.openapi()["paths"][path]  # type: ignore[attr-defined]
        for method in methods:
            filled = path.replace("{portal}", "bina").replace("{ref}", "1").replace("{id}", "ab").replace("{job}", "x")
            assert guarded.request(method, filled, json={}).status_code == 401, (method, path)


@pytest.mark.parametrize(
    "header",
    ["Bearer wrong", "Bearer ", "Basic abc", f"Bearer {READER}x", f"bearer  {READER[:-1]}"],
    ids=[
        "wrong",
        "empty",
        "basic",
        "longer",
        "shorter",
    ],  # a key is random: each process would name its tests otherwise
)
def test_a_wrong_key_is_refused(guarded: TestClient, header: str) -> None:
    found = guarded.get(f"{V1}/listings", headers={"Authorization": header})
    assert found.status_code == 401
    assert found.headers["www-authenticate"] == "Bearer"


def test_a_reader_may_not_change_anything(guarded: TestClient) -> None:
    assert guarded.get(f"{V1}/listings", headers=with_key(READER)).status_code == 200
    refused = guarded.post(f"{V1}/jobs", json={"portal": "immoweb"}, headers=with_key(READER))
    assert (refused.status_code, "scope is read" in refused.json()["error"]) == (403, True)
    assert guarded.post(f"{V1}/jobs", json={"portal": "immoweb"}, headers=with_key(OPERATOR)).status_code == 200


def test_each_key_has_its_own_rate_limit(make_client: MakeClient, filled: FullStore) -> None:
    client = make_client(api_keys=KEYS, rate_limit="2/hour")
    other_server = make_client(api_keys=KEYS, rate_limit="2/hour")
    count = f"{V1}/listings/count"
    assert [each.get(count, headers=with_key(READER)).status_code for each in (client, other_server, client)] == [
        200,
        200,
        429,
    ]
    assert client.get(count, headers=with_key(OPERATOR)).status_code == 200


def test_without_keys_only_this_machine_is_served(make_client: MakeClient, filled: FullStore) -> None:
    client = make_client()
    assert client.get(f"{V1}/portals").status_code == 200
    elsewhere = client.get(f"{V1}/portals", headers={"host": "evil.example"})
    assert (elsewhere.status_code, "set API_KEYS" in elsewhere.json()["error"]) == (403, True)
    order = {"portal": "immoweb"}
    foreign = client.post(f"{V1}/jobs", json=order, headers={"origin": "https://evil.example"})
    assert foreign.status_code == 403


def test_whoever_is_signed_in_to_the_web_app_may_read(guarded: TestClient) -> None:
    assert guarded.post("/sign-in", data={"key": OPERATOR}, follow_redirects=False).status_code == 303
    assert guarded.get(f"{V1}/listings").status_code == 200
    assert guarded.get("/feeds/0123.atom").status_code == 404
    assert guarded.post(f"{V1}/jobs", json={"portal": "immoweb"}).status_code == 403, "a page has a form with a token"


def test_a_feed_needs_a_key_as_its_password(guarded: TestClient, filled: FullStore) -> None:
    """Programs that read feeds cannot send the header of the API."""
    search = filled.save_search("all", "", ["listed"], [])
    feed = f"/feeds/{search.id}.atom"
    wrong: list[dict[str, str]] = [
        {},
        with_password("wrong"),
        {"Authorization": "Basic ?"},
        {"Authorization": "Basic"},
    ]
    for headers in wrong:
        refused = guarded.get(feed, headers=headers)
        assert (refused.status_code, refused.headers["www-authenticate"][:5]) == (401, "Basic")
        assert "all" not in refused.text
    for headers in (with_password(READER), with_key(READER)):
        assert guarded.get(feed, headers=headers).status_code == 200
    assert guarded.get(f"{V1}/listings", headers=with_password(READER)).status_code == 401


def test_other_authenticators_may_be_added(guarded: TestClient) -> None:
    def by_cookie(request: Request) -> Principal | None:
        return Principal("ann", frozenset({"read"})) if request.cookies.get("session") == "ann" else None

    guarded.app.state.security.authenticators.append(by_cookie)  # type: ignore[attr-defined]
    assert guarded.get(f"{V1}/portals", headers={"cookie": "session=ann"}).status_code == 200
    assert guarded.post(f"{V1}/jobs", json={}, headers={"cookie": "session=ann"}).status_code == 403
    assert guarded.get(f"{V1}/portals", headers={"cookie": "session=bob"}).status_code == 401

"""Sign-in: who sees a page, who may act, and when a session ends."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect
from redis import Redis

from realestate import embedded
from realestate.queue import keys as names
from realestate.storage.postgres import PostgresStore
from realestate.web.app import create_app
from realestate.web.keys import BadKeys, find_key, new_key, read_keys
from realestate.web.pages.access import safe_next
from realestate.web.pages.sessions import COOKIE, SESSION_SECONDS, Sessions, signers_of
from tests.web.pages.conftest import Opened
from tests.web.server import serving

READER, READS = new_key("analyst", "read")
BOSS, OPERATES = new_key("boss", "operate")


@pytest.fixture(scope="module")
def guarded(filled_store: PostgresStore, redis_of_module: Redis, services: embedded.Services) -> Iterator[str]:
    """A server with two keys."""
    made = create_app(
        lambda: PostgresStore(filled_store.url), services.redis_url, api_keys=read_keys(f"{READS},{OPERATES}")
    )
    with serving(made) as address:
        yield address


@contextmanager
def signed_in(address: str, key: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, follow_redirects=True, timeout=60) as client:
        assert client.post("/sign-in", data={"key": key, "next": "/"}).status_code == 200
        yield client


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/listings",
        "/listings/map.json?bbox=1,1,2,2&zoom=3",
        "/listings/bina/1000",
        "/live/overview",
        "/operations",
        "/market",
        "/market.csv",
        "/live/operations",
        "/licences",
    ],
)
def test_nothing_is_shown_without_a_session(guarded: str, path: str) -> None:
    answer = httpx.get(guarded + path)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/sign-in?next=")
    part = httpx.get(guarded + path, headers={"HX-Request": "true"})
    assert part.status_code == 401
    assert part.headers["hx-redirect"].startswith("/sign-in?next=")


def test_a_person_signs_in_and_out(guarded: str, open_page: Callable[..., Opened]) -> None:
    opened = open_page(f"{guarded}/listings?where=country%3DBE")
    page = opened.page
    page.get_by_label("API key").fill("not-a-key")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not one of the keys")
    page.get_by_label("API key").fill(READER)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/listings?where=country%3DBE")
    (cookie,) = page.context.cookies()
    assert cookie["name"] == COOKIE
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert cookie["expires"] > 0
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in")
    page.goto(guarded)
    page.wait_for_url("**/sign-in?next=%2F")
    assert page.context.cookies() == []


def test_a_reader_may_not_operate(guarded: str, redis_of_module: Redis) -> None:
    with signed_in(guarded, READER) as reader:
        assert reader.get("/listings").status_code == 200
        assert 'href="/operations"' not in reader.get("/listings").text
        assert reader.get("/operations").status_code == 403
        assert reader.post("/operations/portals/bina/pause", data={"csrf": "x"}).status_code == 403
    assert redis_of_module.hget(names.rate_limit("bina"), "paused") is None


def test_a_form_of_another_site_is_refused(guarded: str, redis_of_module: Redis) -> None:
    with signed_in(guarded, BOSS) as boss:
        token = re.search(r'name="csrf" value="(\w+)"', boss.get("/operations").text)
        assert token
        form = {"csrf": token[1], "reason": "x"}
        cross = {"Sec-Fetch-Site": "cross-site"}
        assert boss.post("/operations/portals/bina/pause", data=form, headers=cross).status_code == 403
        assert boss.post("/operations/portals/bina/pause", data={"csrf": "0" * 96}).status_code == 403
        assert redis_of_module.hget(names.rate_limit("bina"), "paused") is None
        assert boss.post("/operations/portals/bina/pause", data=form).status_code == 200
        assert redis_of_module.hget(names.rate_limit("bina"), "paused") == b"1"
        assert boss.post("/operations/portals/bina/resume", data=form).status_code == 200
    with signed_in(guarded, BOSS) as another:
        assert another.post("/operations/portals/bina/pause", data=form).status_code == 403


def test_an_act_is_logged(guarded: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "realestate.web")
    with signed_in(guarded, BOSS) as boss:
        token = re.search(r'name="csrf" value="(\w+)"', boss.get("/operations").text)
        assert token
        boss.post("/operations/portals/tap/pause", data={"csrf": token[1], "reason": "new layout"})
    lines = [each.getMessage() for each in caplog.records]
    assert "web/operate: by=boss act=pause portal='tap' reason='new layout'" in lines
    assert not any(BOSS in line for line in lines)


def test_live_parts_end_with_the_session(
    filled_store: PostgresStore, services: embedded.Services, redis_of_module: Redis
) -> None:
    made = create_app(lambda: PostgresStore(filled_store.url), services.redis_url, api_keys=read_keys(OPERATES))
    with serving(made) as address, signed_in(address, BOSS) as boss:
        with boss.stream("GET", "/live/overview", timeout=60) as live:
            lines = live.iter_lines()
            assert next(lines).startswith("retry")
            made.state.web.sessions.clock = lambda: time.time() + SESSION_SECONDS + 1
            assert sum(line.startswith("event") for line in lines) <= 1  # the server ends it
        again = boss.get("/live/overview", headers={"HX-Request": "true"}, follow_redirects=False)
        assert again.headers["hx-redirect"].startswith("/sign-in")


def test_a_changed_or_old_cookie_is_no_session() -> None:
    now = [1000.0]
    sessions = Sessions(signers_of(read_keys(READS)), clock=lambda: now[0])

    def session_of(cookie: str) -> bool:
        request = httpx.Request("GET", "http://x/")
        request.cookies = {COOKIE: cookie}  # type: ignore[attr-defined]
        return sessions.of(request) is not None  # type: ignore[arg-type]

    from fastapi import Response

    response = Response()
    sessions.begin(response, "analyst", is_https=True)
    header = response.headers["set-cookie"]
    assert "Secure" in header
    cookie = header.split(";")[0].partition("=")[2]
    assert session_of(cookie)
    assert not session_of(cookie[:-1] + ("0" if cookie[-1] != "0" else "1"))
    assert not session_of("9" + cookie)
    assert not session_of("")
    assert not session_of("....")
    now[0] += SESSION_SECONDS + 1
    assert not session_of(cookie)
    now[0] = 1000.0
    sessions.signers = signers_of(read_keys(OPERATES))
    assert not session_of(cookie)


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:x", "x", "/a\nb"]
)
def test_nobody_is_sent_elsewhere_after_signing_in(target: str) -> None:
    assert safe_next(target) == "/"


def test_keys_are_found_by_their_hash() -> None:
    keys = read_keys(f" {READS},\n{OPERATES}")
    found = find_key(keys, BOSS)
    assert found is not None
    assert found.name == "boss"
    assert found.scopes == frozenset({"read", "operate"})
    assert find_key(keys, BOSS + "x") is None
    assert find_key({}, BOSS) is None
    assert BOSS not in OPERATES


@pytest.mark.parametrize(
    "text", ["secret", "a:read", "a:admin:" + "0" * 64, "a:read:" + "g" * 64, ":read:" + "0" * 64, f"{READS} {READS}"]
)
def test_wrong_keys_are_refused_without_showing_them(text: str) -> None:
    with pytest.raises(BadKeys) as error:
        read_keys(text)
    assert "secret" not in str(error.value)
    assert "0" * 64 not in str(error.value)


def test_many_wrong_keys_are_slowed_down(filled_store: PostgresStore, tmp_path: Path) -> None:
    made = create_app(lambda: PostgresStore(filled_store.url), None, api_keys=read_keys(READS))
    with serving(made) as address, httpx.Client(base_url=address) as client:
        for number in range(10):
            assert "not one of the keys" in client.post("/sign-in", data={"key": str(number)}).text
        assert "Too many wrong keys" in client.post("/sign-in", data={"key": READER}).text

"""A lost connection, an empty store, a saved search: each in a real browser."""

import re
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import expect
from redis import Redis

from realestate import embedded
from realestate.storage.postgres import PostgresStore
from realestate.web.app import create_app
from tests.conftest import migrated_database
from tests.web.pages.conftest import Opened
from tests.web.pages.test_pages import AXE
from tests.web.server import serving


def test_a_lost_connection_is_said_and_found_again(
    filled_store: PostgresStore, services: embedded.Services, open_page: Callable[..., Opened]
) -> None:
    def app() -> object:
        return create_app(lambda: PostgresStore(filled_store.url), services.redis_url)

    with serving(app()) as address:  # type: ignore[arg-type]
        page = open_page(address).page
        page.wait_for_selector("body[data-connection=open]")
        expect(page.locator("#lost")).to_be_hidden()
        before = page.locator("#overview").inner_html()
    expect(page.locator("#lost")).to_be_visible()
    expect(page.locator("#lost")).to_contain_text("The connection to the server is lost")
    assert page.locator("#overview").inner_html() != ""
    with serving(app(), urlsplit(address).port or 0) as again:  # type: ignore[arg-type]
        assert again == address
        page.wait_for_selector("body[data-connection=open]")
        expect(page.locator("#lost")).to_be_hidden()
        assert "Alerts" in page.locator("#overview").inner_text()
        assert before


@pytest.fixture(scope="module")
def empty(services: embedded.Services, redis_of_module: Redis) -> Iterator[str]:
    """The address of a server with an empty store."""
    with (
        migrated_database(services.store_url) as url,
        serving(create_app(lambda: PostgresStore(url), services.redis_url)) as running,
    ):
        yield running


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("/", "realestate crawl immoweb"),
        ("/listings", "realestate crawl immoweb"),
        ("/market", "realestate crawl immoweb"),
        ("/operations", "realestate work"),
    ],
)
def test_an_empty_page_says_what_to_do_next(
    empty: str, path: str, command: str, open_page: Callable[..., Opened]
) -> None:
    opened = open_page(empty + path, width=360, dark=True)
    page = opened.page
    page.wait_for_selector("body[data-ready=yes]")
    expect(page.locator(".command").filter(has_text=command).first).to_be_visible()
    page.evaluate(AXE.read_text("utf-8"))
    assert (
        page.evaluate("axe.run({resultTypes: ['violations']}).then((found) => found.violations.map((e) => e.id))") == []
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert opened.problems == []


def test_a_selection_is_saved_as_a_search(
    address: str, filled_store: PostgresStore, open_page: Callable[..., Opened]
) -> None:
    opened = open_page(f"{address}/listings?where=city%3DGent")
    page = opened.page
    page.get_by_text("Save this search").click()
    page.get_by_label("Name").fill("Gent <b>cheap</b>")
    page.get_by_label("Tell").fill("not an address")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator(".note.bad")).to_contain_text("Not saved: the receiver:")
    assert filled_store.searches() == []
    page.get_by_text("Save this search").click()
    page.get_by_label("Name").fill("Gent <b>cheap</b>")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator(".note.good")).to_contain_text("is saved")
    (saved,) = filled_store.searches()
    assert (saved.name, saved.filter, saved.notify) == ("Gent <b>cheap</b>", "city=Gent", ())
    assert "where=city%3DGent" in page.url
    page.get_by_text("Save this search").click()
    row = page.locator(".saved li")
    expect(row).to_contain_text("Gent <b>cheap</b>")
    feed = row.get_by_role("link", name=re.compile("^Feed")).get_attribute("href")
    assert feed
    assert httpx.get(address + feed).status_code == 200
    row.get_by_role("button", name=re.compile("^Delete")).click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("^Delete")).click()
    expect(page.locator(".note.good")).to_have_text("The search is deleted.")
    assert filled_store.searches() == []
    assert opened.problems == []

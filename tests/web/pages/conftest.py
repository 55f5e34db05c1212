"""A browser, and the server with a small market. Both are started once for a file of tests."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect
from redis import Redis

from realestate import embedded
from realestate.storage.postgres import PostgresStore
from realestate.web.app import create_app
from tests.conftest import migrated_database
from tests.web.browser import chromium
from tests.web.market import fill, fill_market
from tests.web.server import serving
from tests.web.states import fill_states

TIMETABLE = """
[[entry]]
name = "bina-day"
cron = "*/10 8-18 * * *"
zone = "Asia/Baku"
submit = { portal = "bina", mode = "incremental" }

[[entry]]
name = "housekeeping"
cron = "30 3 * * *"
run = "retain"
"""
#: A machine with two cores that draws maps without a graphics card is slow.
PATIENCE_MS = 45_000
expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Opened:
    """A page, with what went wrong in it and where its requests went."""

    page: Page
    problems: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)

    def elsewhere(self, address: str) -> list[str]:
        """The requests to other hosts."""
        own = urlsplit(address).netloc
        urls = (each.url for each in self.requests)
        return [
            url
            for url in urls
            if urlsplit(url).scheme in ("http", "https", "ws", "wss") and urlsplit(url).netloc != own
        ]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """For one file: until it is stopped, its event loop runs in this thread, where other files start theirs."""
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def filled_store(services: embedded.Services) -> Iterator[PostgresStore]:
    with migrated_database(services.store_url) as url:
        store = PostgresStore(url)
        fill(store)
        fill_market(store)
        fill_states(store)
        yield store
        store.close()


@pytest.fixture(scope="module")
def redis_of_module(services: embedded.Services) -> Iterator[Redis]:
    client = Redis.from_url(services.redis_url)
    client.flushall()
    yield client
    client.close()


@pytest.fixture(scope="module")
def address(
    filled_store: PostgresStore,
    redis_of_module: Redis,
    services: embedded.Services,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """The address of a server with the market, and with a timetable."""
    timetable = tmp_path_factory.mktemp("timetable") / "timetable.toml"
    timetable.write_text(TIMETABLE)
    app = create_app(lambda: PostgresStore(filled_store.url), services.redis_url, timetable=timetable)
    with serving(app) as running:
        yield running


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Opened]]:
    """Opens a page of some width, light or dark. Whatever its console says, and each failed request, is a problem."""
    contexts: list[BrowserContext] = []

    def open_one(url: str, *, width: int = 1280, dark: bool = False, language: str = "en-GB") -> Opened:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            locale=language,
            accept_downloads=True,
        )
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        opened = Opened(context.new_page())
        page = opened.page

        def note(said: ConsoleMessage) -> None:
            if said.type in ("error", "warning"):
                opened.problems.append(said.text)

        page.on("console", note)
        page.on("pageerror", lambda error: opened.problems.append(str(error)))
        page.on("request", lambda request: opened.requests.append(request))
        page.goto(url)
        return opened

    yield open_one
    for each in contexts:
        each.close()

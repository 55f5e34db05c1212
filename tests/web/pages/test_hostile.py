"""Titles and descriptions that attack the reader, from a portal to the store and a browser: all are text."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis

from realestate import embedded
from realestate.demo.simulators import simulator_process
from realestate.simulator.hostile_texts import HOSTILE_TEXTS
from realestate.storage.postgres import PostgresStore
from realestate.web.app import create_app
from tests.conftest import migrated_database
from tests.end_to_end.conftest import PYTHON, worker_environment
from tests.web.pages.conftest import Opened
from tests.web.server import serving

LISTINGS = 16
#: What a script of a text would do.
OWNED = "owned"


@pytest.fixture(scope="module")
def crawled(
    services: embedded.Services, redis_of_module: Redis, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a server with what was crawled, and the records that a perfect crawl stores."""
    folder: Path = tmp_path_factory.mktemp("hostile")
    with (
        migrated_database(services.store_url) as url,
        simulator_process(folder / "simulator.log", LISTINGS, 7, "--hostile-texts") as simulator,
    ):
        variables = {**worker_environment(services.redis_url, url, folder), "SIMULATOR_URL": simulator}
        command = [PYTHON, "-m", "realestate", "crawl", "bina"]
        done = subprocess.run(
            command, env={**variables, "RATE_LIMIT": "0"}, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        truth = [json.loads(line) for line in httpx.get(f"{simulator}/_truth/bina").text.splitlines()]
        with serving(create_app(lambda: PostgresStore(url), services.redis_url)) as running:
            yield running, truth


def test_hostile_texts_are_text(crawled: tuple[str, list[dict[str, Any]]], open_page: Callable[..., Opened]) -> None:
    address, truth = crawled
    hostile = [each for each in truth if each["title"] in HOSTILE_TEXTS]
    assert len(hostile) == len(HOSTILE_TEXTS)
    opened = open_page(f"{address}/listings", width=360)
    page = opened.page
    page.wait_for_selector("#map[data-state=ready][data-map=loaded]")
    names = page.locator("#results tbody th a").all_text_contents()
    assert sum(name in HOSTILE_TEXTS for name in names) == sum(len(text) <= 90 for text in HOSTILE_TEXTS)
    for each in hostile:
        page.goto(f"{address}/listings/bina/{each['ref']}")
        page.wait_for_selector("body[data-ready=yes]")
        assert (
            page.locator("#description").locator("xpath=../..").locator(".prose").text_content() == each["description"]
        )
        assert page.title() != OWNED
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert (
            page.locator("main :is(script:not([type='application/json']), svg[onload], img[onerror], b)").count() == 0
        )
    page.goto(address)
    page.wait_for_selector("#overview a[href^='/listings/bina/']")
    assert page.title() != OWNED
    assert opened.problems == []
    assert opened.elsewhere(address) == []

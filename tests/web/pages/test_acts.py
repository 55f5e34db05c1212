"""What people do on the pages: search, draw an area, submit and cancel a job, replay a dead letter."""

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect
from redis import Redis

from realestate import embedded
from realestate.queue import keys
from realestate.queue.connection import connect_to
from realestate.queue.dead_letters import dead_letter
from realestate.queue.redis_client import briefly
from realestate.queue.request_queue import QueueSettings, RequestQueue
from realestate.storage import Batch
from realestate.storage.postgres import PostgresStore
from realestate.storage.query import parse_filter
from realestate.web.pages import map as maps
from tests.storage.batches import quarantined
from tests.web.pages.conftest import Opened


def where_of(page: Page) -> str:
    return parse_qs(urlsplit(page.url).query).get("where", [""])[0]


def count_of(page: Page) -> int:
    text = page.locator("h1").text_content() or ""
    return int(re.sub(r"\D", "", text))


def test_filters_change_the_results_and_the_address(
    address: str, filled_store: PostgresStore, open_page: Callable[..., Opened]
) -> None:
    opened = open_page(f"{address}/listings")
    page = opened.page
    page.wait_for_selector("#map[data-map=loaded]")
    before = count_of(page)
    page.get_by_label("For", exact=True).select_option("rent")
    page.wait_for_url("**/listings?where=**")
    expect(page.locator("h1")).not_to_have_text(f"{before} listings")
    assert parse_filter(where_of(page)) == parse_filter("operation=rent")
    assert count_of(page) == filled_store.count(parse_filter("operation=rent")).number < before
    page.get_by_label("Price to").fill("900")
    page.get_by_role("button", name="Search").click()
    page.wait_for_url(re.compile("900"))
    wanted = parse_filter("operation=rent price<=900")
    expect(page.locator("h1")).to_have_text(re.compile(rf"^{filled_store.count(wanted).number}\b"))
    assert parse_filter(where_of(page)) == wanted
    # The address is the search: it shows the same to somebody else.
    again = open_page(page.url).page
    assert count_of(again) == filled_store.count(wanted).number
    assert again.get_by_label("Price to").input_value() == "900"
    page.get_by_role("link", name="Remove: price at most 900").click()
    page.wait_for_url(lambda url: "900" not in url)
    page.go_back()
    page.wait_for_url(re.compile("900"))
    expect(page.locator("h1")).to_have_text(re.compile(rf"^{filled_store.count(wanted).number}\b"))
    assert opened.problems == []


def test_a_facet_narrows_down(address: str, filled_store: PostgresStore, open_page: Callable[..., Opened]) -> None:
    page = open_page(f"{address}/listings").page
    page.locator("#facets").get_by_role("link", name=re.compile("^Gent")).click()
    page.wait_for_url("**city**")
    expect(page.locator("h1")).to_have_text(re.compile(rf"^{filled_store.count(parse_filter('city=Gent')).number}\b"))
    assert where_of(page) == "city=Gent"


def test_without_javascript_the_search_works_too(address: str, open_page: Callable[..., Opened]) -> None:
    answer = open_page(f"{address}/listings?operation=rent&price_max=900&sort=price").page
    assert where_of(answer) == "operation=rent price<=900"
    assert "sort=price" in answer.url


def test_drawing_an_area_filters(address: str, open_page: Callable[..., Opened]) -> None:
    opened = open_page(f"{address}/listings?where=country%3DAZ", width=1920)
    page = opened.page
    page.wait_for_selector("#map[data-map=loaded][data-state=ready]")
    before = count_of(page)
    page.get_by_role("button", name="Draw an area").click()
    page.wait_for_selector("#map[data-drawing=yes]")
    page.locator("#map").evaluate("map => map.scrollIntoView({block: 'center', behavior: 'instant'})")
    box = page.locator("#map canvas").first.bounding_box()
    assert box
    middle_x = box["x"] + box["width"] / 2
    middle_y = box["y"] + box["height"] / 2
    for number, (x, y) in enumerate([(-90, -90), (90, -90), (90, 90), (-90, 90)], 1):
        page.mouse.move(middle_x + x, middle_y + y, steps=3)
        page.mouse.click(middle_x + x, middle_y + y)
        page.wait_for_selector(f'#map[data-corners="{number}"]')
    page.mouse.move(middle_x - 90, middle_y - 90, steps=3)
    page.mouse.click(middle_x - 90, middle_y - 90)
    page.wait_for_url("**polygon**")
    expect(page.locator("h1")).not_to_have_text(f"{before} listings")
    assert 0 < count_of(page) < before
    assert "polygon" in where_of(page)
    assert len((page.locator("#results").get_attribute("data-area") or "").split(";")) == 4
    page.get_by_role("button", name="Clear the area").click()
    page.wait_for_url(lambda url: "polygon" not in url)
    expect(page.locator("h1")).to_have_text(f"{before} listings")
    # By keyboard: what the map shows is an area too.
    page.locator("#map").evaluate("map => map.map.jumpTo({center: [49.87, 40.41], zoom: 13})")
    page.get_by_role("button", name="Only this view").press("Enter")
    page.wait_for_url("**bbox**")
    expect(page.locator("h1")).not_to_have_text(f"{before} listings")
    assert opened.problems == []


def test_the_map_has_hexagons_then_points(
    address: str, open_page: Callable[..., Opened], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maps, "FEW", 10)  # so few results are points at any zoom
    opened = open_page(f"{address}/listings?where=country%3DAZ")
    page = opened.page
    page.wait_for_selector("#map[data-map=loaded][data-kind=hexagons]")
    expect(page.locator("#map-status")).to_have_text(re.compile(r"^\d+ listings in this view in \d+ hexagons\.$"))
    expect(page.locator("#legend strong")).to_contain_text("Median price per m²")
    page.locator("#map").evaluate("map => map.map.jumpTo({center: [49.87, 40.41], zoom: 12.5})")
    page.wait_for_selector("#map[data-kind=points]")
    expect(page.locator("#legend strong")).to_have_text("Single listings")
    assert opened.problems == []


def test_an_area_of_the_map_is_a_question(address: str, open_page: Callable[..., Opened]) -> None:
    page = open_page(f"{address}/listings").page
    bad = page.evaluate("fetch('/listings/map.json?bbox=9,9,1,1&zoom=5').then(async (r) => [r.status, await r.json()])")
    assert bad[0] == 422
    assert "west must be smaller" in bad[1]["error"]


@pytest.fixture
def letters(services: embedded.Services, redis_of_module: Redis) -> list[bytes]:
    """Two dead letters: seeds that were refused."""
    ids = [b"letter-1", b"letter-2"]

    async def add() -> None:
        server = connect_to(services.redis_url, briefly())
        queue = RequestQueue(server, "bina", QueueSettings())
        for id in ids:
            text = dead_letter("seed", "<b>not a page</b>", url="https://bina.az/x", seed="https://bina.az/x")
            await queue.add_dead_letter(id, text)
        await server.aclose()

    # Playwright has a loop in this thread.
    with ThreadPoolExecutor(1) as other:
        other.submit(lambda: asyncio.run(add())).result()
    return ids


def test_a_dead_letter_is_replayed_after_a_question(
    letters: list[bytes], address: str, redis_of_module: Redis, open_page: Callable[..., Opened]
) -> None:
    opened = open_page(f"{address}/operations")
    page = opened.page
    section = page.locator("#letters")
    expect(section.locator("tbody tr")).to_have_count(2)
    assert "<b>not a page</b>" in (section.text_content() or "")
    chosen = section.locator("input[name=chosen]:checked")
    section.get_by_label("Choose all that are listed").check()
    expect(chosen).to_have_count(2)
    section.get_by_label("Choose all that are listed").uncheck()
    expect(chosen).to_have_count(0)
    section.locator("input[name=chosen]").first.check()
    section.get_by_role("button", name="Replay chosen").click()
    page.get_by_role("button", name="Keep it as it is").click()
    assert redis_of_module.zcard(keys.dead_letter_times("bina")) == 2
    section.get_by_role("button", name="Replay chosen").click()
    page.get_by_role("dialog").get_by_role("button", name="Replay chosen").click()
    expect(page.locator(".note.good")).to_have_text("1 dead letter is in the queue again.")
    expect(section.locator("tbody tr")).to_have_count(1)
    assert redis_of_module.llen(keys.start_urls("bina")) == 1
    assert opened.problems == []


def test_the_page_of_a_quarantined_listing_is_fetched_again(
    address: str, filled_store: PostgresStore, redis_of_module: Redis, open_page: Callable[..., Opened]
) -> None:
    url = "https://www.immoweb.be/en/classified/10000077"
    elsewhere = "https://elsewhere.example/78"
    kept = [replace(quarantined(ref), url=each) for ref, each in (("77", url), ("78", elsewhere))]
    filled_store.write(Batch((), kept))
    before = redis_of_module.llen(keys.start_urls("immoweb"))
    opened = open_page(f"{address}/operations")
    section = opened.page.locator("#quarantine")
    section.get_by_label("Choose immoweb 77").check()
    section.get_by_role("button", name="Fetch chosen again").click()
    opened.page.get_by_role("dialog").get_by_role("button", name="Fetch chosen again").click()
    expect(opened.page.locator(".note.good")).to_have_text("1 page is fetched again.")
    assert [each.ref for each in filled_store.quarantined(portal="immoweb", ref="77")] == []
    seeds = redis_of_module.lrange(keys.start_urls("immoweb"), 0, -1)
    assert len(seeds) == before + 1
    assert sum(url in str(seed) for seed in seeds) == 1
    # A page that its portal may not fetch stays where it is, and the reason is said.
    section.get_by_label("Choose immoweb 78").check()
    section.get_by_role("button", name="Fetch chosen again").click()
    opened.page.get_by_role("dialog").get_by_role("button", name="Fetch chosen again").click()
    expect(opened.page.locator(".note.bad")).to_contain_text("Not fetched: immoweb")
    assert [each.ref for each in filled_store.quarantined(portal="immoweb", ref="78")] == ["78"]
    assert opened.problems == []


def test_a_job_is_submitted_progresses_and_is_cancelled(
    address: str, redis_of_module: Redis, open_page: Callable[..., Opened]
) -> None:
    opened = open_page(f"{address}/operations")
    page = opened.page
    form = page.locator("#submit")
    form.get_by_label("Portal").select_option("immoweb")
    form.get_by_label("For", exact=True).select_option("rent")
    form.get_by_label("At most listings").fill("5")
    form.get_by_role("button", name="Submit").click()
    page.get_by_role("dialog").get_by_role("button", name="Submit").click()
    shown = page.locator(".note.good")
    expect(shown).to_have_text(re.compile(r"^Job [0-9a-f]{12} of immoweb is submitted\."))
    job = re.search(r"[0-9a-f]{12}", shown.text_content() or "")
    assert job
    row = page.locator(f'tr[data-job="{job[0]}"]')
    expect(row).to_have_attribute("data-state", "queued")
    assert redis_of_module.llen(keys.start_urls("immoweb")) > 0
    # A worker opens the job, and the row says so without loading the page again.
    redis_of_module.hset(keys.open_jobs("immoweb"), job[0], '{"mode": "full", "scope": "", "checking": true}')
    expect(row).to_have_attribute("data-state", "concluding")
    row.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.locator(".note.good")).to_have_text(f"Job {job[0]} of immoweb is cancelled.")
    expect(row).to_have_attribute("data-state", "cancelled")
    assert opened.problems == []


def test_a_portal_is_paused_and_goes_on(address: str, redis_of_module: Redis, open_page: Callable[..., Opened]) -> None:
    page = open_page(f"{address}/operations").page
    page.get_by_role("button", name="Pause emlak").click()
    page.get_by_role("dialog").get_by_role("button", name="Pause emlak").click()
    expect(page.locator(".note.good")).to_have_text("emlak is paused on all workers.")
    assert redis_of_module.hget(keys.rate_limit("emlak"), "paused") == b"1"
    page.get_by_role("button", name="Resume emlak").click()
    page.get_by_role("dialog").get_by_role("button", name="Resume emlak").click()
    expect(page.locator(".note.good")).to_have_text("emlak goes on.")


def test_words_of_a_foreign_link_are_not_shown(address: str, open_page: Callable[..., Opened]) -> None:
    page = open_page(f"{address}/operations?did=WW91IHdvbg.0000").page
    expect(page.locator("main > .note")).to_have_count(0)


def test_a_form_without_its_token_is_refused(
    address: str, redis_of_module: Redis, open_page: Callable[..., Opened]
) -> None:
    page = open_page(f"{address}/operations").page
    form = "{method: 'POST', body: new URLSearchParams({csrf: 'x'})}"
    status = page.evaluate(f"fetch('/operations/portals/tap/pause', {form}).then((response) => response.status)")
    assert status == 403
    assert redis_of_module.hget(keys.rate_limit("tap"), "paused") is None

"""Every page in a real browser: no error, no request elsewhere, nothing that axe finds, no sideways scrolling."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from realestate.storage.postgres import PostgresStore
from tests.web.pages.conftest import Opened

AXE = Path(__file__).parents[1] / "axe" / "axe.min.js"
PAGES = {
    "overview": "/",
    "listings": "/listings",
    "hostile": "/listings/bina/1000",
    "listing": "/listings/bina/1024",
    "market": "/market",
    "operations": "/operations",
    "coverage": "/operations/coverage/bina",
    "licences": "/licences",
    "no listing": "/listings/bina/unknown",
    "bad filter": "/listings?where=prize%3C5",
}
#: What a page may weigh in all, as it is sent: HTML, and all with scripts and data.
HTML_BYTES = 50_000
PLAIN_BYTES = 150_000
HEAVY_BYTES = 900_000
HEAVY = ("market", "coverage", "listings", "hostile", "listing", "bad filter")


def settle(opened: Opened) -> None:
    """Wait until the page's scripts and its map are ready."""
    opened.page.wait_for_selector("body[data-ready=yes]")
    if opened.page.query_selector("#map"):
        opened.page.wait_for_selector("#map[data-state=ready][data-map=loaded]")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1920])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_in_order(name: str, width: int, dark: bool, address: str, open_page: Callable[..., Opened]) -> None:
    opened = open_page(address + PAGES[name], width=width, dark=dark)
    settle(opened)
    page = opened.page
    expected = {"no listing": "404", "bad filter": "422"}.get(name, "")
    problems = [each for each in opened.problems if not expected or expected not in each]
    assert problems == []
    assert opened.elsewhere(address) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.title") != "owned"
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    violations = [(each["id"], [node["html"][:200] for node in each["nodes"]][:3]) for each in found["violations"]]
    assert violations == []
    assert len(found["passes"]) > 10


@pytest.mark.parametrize("name", PAGES)
def test_a_page_weighs_little(name: str, address: str, open_page: Callable[..., Opened]) -> None:
    opened = open_page(address + PAGES[name])
    settle(opened)
    sizes = {each.url: each.sizes()["responseBodySize"] for each in opened.requests if "/live/" not in each.url}
    assert sizes[address + PAGES[name]] <= HTML_BYTES
    most = HEAVY_BYTES if name in HEAVY else PLAIN_BYTES
    assert sum(sizes.values()) <= most, json.dumps(sizes, indent=1)


def test_every_row_is_a_link(address: str, open_page: Callable[..., Opened]) -> None:
    page = open_page(f"{address}/listings").page
    links = page.locator("#results tbody tr a")
    assert links.count() == page.locator("#results tbody tr").count() == 50
    target = links.first.get_attribute("href")
    assert target
    links.first.click()
    page.wait_for_url(f"**{target}")
    assert page.locator("h1").count() == 1


def test_numbers_are_written_as_the_reader_does(address: str, open_page: Callable[..., Opened]) -> None:
    url = f"{address}/listings/bina/1022"  # a sale: its price has thousands
    english = open_page(url, language="en-GB").page.locator(".figures dd").first.text_content()
    german = open_page(url, language="de-DE").page.locator(".figures dd").first.text_content()
    assert english
    assert german
    assert "," in english
    assert "." not in english
    assert german == english.replace(",", ".")


def test_a_chart_has_its_points(address: str, filled_store: PostgresStore, open_page: Callable[..., Opened]) -> None:
    prices = filled_store.prices("bina", "1024")
    opened = open_page(f"{address}/listings/bina/1024")
    figure = opened.page.locator("figure[data-points]")
    # The last one is today: the price is still the same.
    assert figure.get_attribute("data-points") == str(len(prices) + 1)
    assert len(prices) > 1
    opened.page.locator("figure summary").click()
    assert figure.locator("tbody tr").filter(has_text="20").count() >= len(prices) + 1
    with opened.page.expect_download() as saved:
        opened.page.get_by_role("button", name="PNG").click()
    assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG")
    with opened.page.expect_download() as table:
        opened.page.get_by_role("link", name="CSV").click()
    assert Path(table.value.path()).read_text("utf-8").count("\n") == len(prices) + 1


def test_the_legend_of_a_chart_has_the_newest_values(address: str, open_page: Callable[..., Opened]) -> None:
    page = open_page(f"{address}/market").page
    page.wait_for_selector("figure[data-points]")
    index = page.locator("figure[data-chart=index]")
    newest = index.locator("tbody tr").last.locator("td").last.text_content()
    assert newest
    expect(index.locator(".u-legend")).to_contain_text(newest)


@pytest.mark.parametrize("path", ["/", "/market", "/operations", "/listings/bina/1024"])
def test_on_a_phone_no_value_of_a_table_is_out_of_sight(
    path: str, address: str, open_page: Callable[..., Opened]
) -> None:
    page = open_page(address + path, width=360).page
    tables = page.locator("table.rows:visible")
    assert tables.count() or path.startswith("/listings")
    too_wide = "tables => tables.filter(table => table.scrollWidth > table.closest('.scroll').clientWidth).length"
    assert tables.evaluate_all(too_wide) == 0
    # What stands in the heading of a column is said beside each value.
    bare = page.locator("table.rows tbody td.number:visible:not([data-label])")
    assert bare.count() == 0


def test_on_a_phone_rare_conditions_are_folded(address: str, open_page: Callable[..., Opened]) -> None:
    page = open_page(f"{address}/listings", width=360).page
    expect(page.get_by_label("Price to")).to_be_hidden()
    page.get_by_label("Price, area, rooms and order").check()
    expect(page.get_by_label("Price to")).to_be_visible()
    expect(page.locator("#facets")).to_be_hidden()
    page.get_by_label("Narrow down by portal, place and more").check()
    expect(page.locator("#facets")).to_be_visible()
    wide = open_page(f"{address}/listings", width=1920).page
    expect(wide.get_by_label("Price to")).to_be_visible()
    expect(wide.locator("#facets")).to_be_visible()
    expect(wide.get_by_label("Narrow down by portal, place and more")).to_be_hidden()


def test_table_and_map_are_side_by_side(address: str, open_page: Callable[..., Opened]) -> None:
    page = open_page(f"{address}/listings", width=1920).page
    table = page.locator("#results").bounding_box()
    beside = page.locator(".beside").bounding_box()
    assert table
    assert beside
    assert abs(table["y"] - beside["y"]) < 2
    assert table["x"] + table["width"] <= beside["x"]
    # The whole map and its legend are seen without scrolling.
    assert beside["y"] + beside["height"] <= 900


def test_the_keyboard_reaches_the_content_first(address: str, open_page: Callable[..., Opened]) -> None:
    page = open_page(address).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_the_market_has_charts_tables_and_csv(address: str, open_page: Callable[..., Opened]) -> None:
    opened = open_page(f"{address}/market")
    page = opened.page
    page.wait_for_selector("figure[data-points]")
    charts = page.locator("figure[data-points]")
    assert charts.count() == 8
    assert {charts.nth(place).get_attribute("data-points") for place in range(8)} == {"30"}
    # Three homes in Gent: how many there are is shown, their prices are not.
    row = page.locator("#places").locator("xpath=ancestor::section").locator("tbody tr").filter(has_text="Gent")
    cells = row.locator("td").all_text_contents()
    assert cells[2].strip() == "3"
    assert cells[3].strip() == "–"
    answer = page.evaluate("fetch('/market.csv').then((response) => response.text())")
    assert answer.splitlines()[0].startswith("week,country,city")
    assert len(answer.splitlines()) == 31
    row.get_by_role("link").click()
    page.wait_for_url("**in_city=Gent**")
    assert "Gent" in (page.locator("h2").first.text_content() or "")
    assert opened.problems == []

"""The page of a listing: the same home elsewhere, raw pages, flags, events in the chart, photos that wait."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Route, expect

from realestate.homes.scorer import shipped
from realestate.storage import Batch
from realestate.storage.homes import Clustered, Home, HomeLink, HomesRun, Member
from realestate.storage.postgres import PostgresStore
from realestate.storage.prices import rehashed
from realestate.storage.snapshots import SnapshotRef
from realestate.web.pages.listing import is_in_common, reason_in_words
from tests.web.pages.conftest import Opened
from tests.web.pages.test_parts import text_of

NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)
#: bina/1024 and bina/1022 are one home.
HOME = Home(home="h1", country="AZ", first_seen_at=NOW, last_seen_at=NOW)
RUN = HomesRun(
    built_at=NOW,
    last_event=5,
    listings=2,
    homes=1,
    candidates=1,
    skipped_keys=0,
    skipped_listings=0,
    in_blocks=0,
    coverage={},
)
LINK = HomeLink(
    "h1", "bina/1024", "bina/1022", 0.973, [("floor_same", 3.5), ("price_within_3", 2.0), ("city_same", -1)]
)
PAGE = SnapshotRef(
    portal="bina",
    url="https://bina.az/items/1024",
    ref="1024",
    stage="extract",
    job="first",
    status=200,
    kind="all",
    fetched_at=NOW,
    file="bina-2026-11-02.warc.gz",
    offset=4711,
    length=99,
    digest="sha1:X",
)


@pytest.fixture(scope="module")
def listing(address: str, filled_store: PostgresStore) -> str:
    """The address of a listing of which everything is known."""
    filled_store.save_homes(Clustered(RUN, [HOME], [Member("bina", ref, "h1") for ref in ("1022", "1024")], [LINK]))
    known = filled_store.current("bina", ["1024"])["1024"].state.listing
    flagged = rehashed(replace(known, ref="5000", quality_flags=frozenset({"price_outlier"})))
    filled_store.write(Batch([(flagged, "second")], snapshots=[PAGE]))
    return f"{address}/listings/bina/1024"


def test_the_same_home_elsewhere_has_its_reason(listing: str) -> None:
    shown = text_of(listing).replace("\u00a0", " ")
    assert "same floor, prices within 3 % (97 % sure)" in shown
    assert "city" not in shown.partition("prices within 3 %")[2][:30]  # what speaks against it is no reason


def test_raw_pages_are_listed_with_their_place(listing: str) -> None:
    assert "2 Nov 2026, 09:00 extract 200 bina-2026-11-02.warc.gz at 4711" in text_of(listing)


def test_unusual_values_are_named(listing: str) -> None:
    assert "These values are unusual: price outlier" in text_of(listing.replace("1024", "5000"))
    assert "unusual" not in text_of(listing)


def test_the_chart_has_the_events(address: str, open_page: Callable[..., Opened]) -> None:
    page = open_page(f"{address}/listings/immoweb/1007").page
    data = json.loads(page.locator("script#price-history").text_content() or "")
    assert [word for _, word in data["marks"]] == ["delisted"]
    expect(page.locator("#events").locator("xpath=../..")).to_contain_text("Delisted")
    expect(page.locator(".figures")).to_contain_text("Was on the market")


def test_photos_are_loaded_by_a_click_only(listing: str, address: str, open_page: Callable[..., Opened]) -> None:
    opened = open_page(listing)
    page = opened.page
    page.wait_for_selector("body[data-ready=yes]")
    assert opened.elsewhere(address) == []
    referrers: list[str | None] = []

    def answer(route: Route) -> None:
        referrers.append(route.request.header_value("referer"))
        route.fulfill(body='<svg xmlns="http://www.w3.org/2000/svg"/>', content_type="image/svg+xml")

    page.route("https://photos.example/**", answer)
    page.get_by_role("button", name="Load photo 2").click()
    expect(page.get_by_role("img", name="Photo 2")).to_be_visible()
    assert opened.elsewhere(address) == ["https://photos.example/24/1.jpg"]
    page.get_by_role("button", name="Load all 3 photos").click()
    expect(page.locator(".photos img")).to_have_count(3)
    assert sorted(opened.elsewhere(address)) == [f"https://photos.example/24/{place}.jpg" for place in range(3)]
    assert set(referrers) == {None}


def test_each_reason_for_a_link_has_words() -> None:
    for name in shipped().weights:
        found = reason_in_words(name)
        assert found
        if is_in_common(name):
            assert not re.search("differ|unknown|many", found), (name, found)
            assert not re.search(r"block |[a-z]_| (same|alike)\b", found), (name, found)

"""The parts of the pages, as they are sent: alerts, data in words, the timetable, field coverage, downloads, today's
market, and what a page may load."""

import csv
import io
import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import httpx
import pytest
from fastapi.testclient import TestClient

from realestate import embedded
from realestate.storage import FullStore, StoreError
from realestate.storage.coverage import COVERED, FieldCoverage
from realestate.storage.history import Event
from realestate.storage.postgres import PostgresStore
from realestate.storage.query import parse_filter
from realestate.storage.query.results import RESOLUTIONS
from realestate.storage.store import MarketRow
from realestate.web.app import create_app
from realestate.web.pages import map as maps
from realestate.web.pages.filters import sort_heads
from realestate.web.pages.formats import Formats, ago
from realestate.web.pages.market import place_of
from realestate.web.pages.overview import event_line
from realestate.web.pages.quality import cells, quality_of
from realestate.web.pages.web import Tiles
from tests.conftest import migrated_database
from tests.web.market import fill
from tests.web.server import serving, wait_until
from tests.web.states import ALERT_TEXT

PAGES = ("/", "/listings", "/listings/bina/1024", "/market", "/operations", "/operations/coverage/bina", "/licences")


def text_of(address: str) -> str:
    """What a reader sees, without markup."""
    html = httpx.get(address, timeout=60).text
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


@pytest.mark.parametrize("path", PAGES)
def test_nothing_unsafe_and_nothing_from_elsewhere_is_allowed(address: str, path: str) -> None:
    found = httpx.get(address + path, timeout=60)
    policy = dict(each.split(" ", 1) for each in found.headers["content-security-policy"].split("; "))
    assert "unsafe" not in str(policy)
    assert policy["default-src"] == "'none'"
    assert {policy[name] for name in ("script-src", "style-src", "connect-src", "worker-src")} == {"'self'"}
    assert policy["img-src"].split()[:2] == ["'self'", "data:"]
    # Nothing that the policy would forbid is in the page.
    assert not re.search(r"<(style|[a-z]+ [^>]*\bon[a-z]+=|[a-z]+ [^>]*\bstyle=)", found.text)
    assert not re.search(r'<script(?![^>]*(src=|type="application/json"))', found.text)


def test_the_overview_tells_of_alerts_and_of_the_data(address: str) -> None:
    shown = text_of(address)
    assert ALERT_TEXT in shown
    assert shown.index(ALERT_TEXT) < shown.index("critical, silenced")  # what is known comes last
    assert "<code>realestate status</code>" in httpx.get(address).text
    wait_until(lambda: "price 100 %, area 100 %" in text_of(address).replace("\u00a0", " "), "the fields are counted")


def test_the_timetable_has_its_next_times(address: str) -> None:
    shown = text_of(f"{address}/operations")
    assert "bina-day incremental bina" in shown
    assert "Asia/Baku */10 8-18 * * *" in shown
    assert re.search(r"housekeeping retain \w{3} \d+ \w{3}, 03:30 ", shown)


def test_the_fields_of_a_portal_are_shown_by_day(address: str, filled_store: PostgresStore) -> None:
    wait_until(lambda: "Being counted" not in text_of(f"{address}/operations"), "the fields are counted")
    assert "Portal Newest day Listings price area rooms" in text_of(f"{address}/operations")
    rows = list(csv.DictReader(io.StringIO(httpx.get(f"{address}/operations/coverage/bina.csv").text)))
    assert rows
    assert [*rows[0]] == ["day", "listings", *COVERED]
    assert all(int(row["price"]) == int(row["listings"]) for row in rows)
    assert httpx.get(f"{address}/operations/coverage/nothing").status_code == 404


def days_of(*shares: float) -> list[FieldCoverage]:
    """Days of 100 listings, of which this share has an area."""
    return [
        FieldCoverage(
            "bina",
            date(2026, 11, 1) + timedelta(days=place),
            100,
            dict.fromkeys(COVERED, 100) | {"area_m2": int(share * 100)},
        )
        for place, share in enumerate(shares)
    ]


def test_a_field_that_is_missing_from_one_day_on_is_said() -> None:
    found = quality_of(days_of(0.97, 0.95, 0.4), 300, 0, Formats())
    assert found is not None
    assert (found.kind, found.word) == ("bad", "fields are missing")
    assert found.why == "area: 40\u00a0% on 3 Nov 2026, 96\u00a0% before"
    fallen = [cell for cell in cells(days_of(0.97, 0.95, 0.4)) if cell.has_fallen]
    assert [cell.share for cell in fallen] == [0.4]
    steady = quality_of(days_of(0.97, 0.95, 0.9), 300, 0, Formats())
    assert steady is not None
    assert (steady.kind, steady.word) == ("good", "as before")
    many = quality_of(days_of(0.97, 0.95, 0.9), 300, 100, Formats())
    assert many is not None
    assert many.why == "25\u00a0% failed validation and are in quarantine"
    assert quality_of([], 0, 0, Formats()) is None


@pytest.mark.parametrize("where", ["operation=rent", "city=Gent status=any", ""])
def test_a_download_has_exactly_the_selection(address: str, filled_store: PostgresStore, where: str) -> None:
    found = httpx.get(f"{address}/listings/export.csv", params={"where": where}, timeout=60)
    assert found.headers["content-disposition"] == 'attachment; filename="listings.csv"'
    rows = list(csv.DictReader(io.StringIO(found.text)))
    assert len(rows) == filled_store.count(parse_filter(where)).number > 0
    if "rent" in where:
        assert {row["operation"] for row in rows} == {"rent"}
    places = httpx.get(f"{address}/listings/export.geojson", params={"where": where}, timeout=60).json()
    assert len(places["features"]) == len(rows)


def test_a_download_that_cannot_be_made_says_so(address: str) -> None:
    assert httpx.get(f"{address}/listings/export.csv", params={"where": "prize<5"}).status_code == 422
    assert httpx.get(f"{address}/listings/export.exe").status_code == 422


@pytest.fixture(scope="module")
def without_weeks(services: embedded.Services) -> Iterator[str]:
    """The address of a server whose store has listings, and no week that is over."""
    with migrated_database(services.store_url) as url:
        store = PostgresStore(url)
        fill(store)
        store.close()
        with serving(create_app(lambda: PostgresStore(url), services.redis_url)) as running:
            yield running


def test_before_the_first_week_is_over_the_market_is_that_of_today(without_weeks: str) -> None:
    shown = text_of(f"{without_weeks}/market")
    assert "this is today's market" in shown.replace("&#39;", "'")
    assert re.search(r"For sale .*Muide, Gent BE \d+ [\d,]+ EUR", shown.replace("\u00a0", " "))
    rows = list(csv.DictReader(io.StringIO(httpx.get(f"{without_weeks}/market.csv?of=be").text)))
    assert {row["country"] for row in rows} == {"BE"}
    assert all(int(row["listings"]) >= 5 for row in rows)
    assert "Bakı" not in text_of(f"{without_weeks}/market?of=be&operation=sale")
    html = httpx.get(f"{without_weeks}/market?of=be&operation=sale").text
    (link,) = re.findall(r'href="(/listings\?[^"]+)" dir="auto">Muide', html)
    listed = httpx.get(without_weeks + link.replace("&amp;", "&"), timeout=60).text
    assert "Muide" in listed
    assert "Ledeberg, Gent" not in listed


def test_hexagons_have_the_colour_of_their_median(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "FEW", 10)
    asked = {"bbox": "-10,35,60,60", "zoom": "8", "where": "status=any"}
    found = httpx.get(f"{address}/listings/map.json", params=asked, timeout=60).json()
    assert found["kind"] == "hexagons"
    colours = {each["properties"]["colour"] for each in found["features"]["features"]}
    assert colours <= {*maps.COLOURS, maps.UNKNOWN}
    assert len(colours) > 1
    for each in found["features"]["features"]:
        is_unknown = "too few" in each["properties"]["text"]
        assert (each["properties"]["colour"] == maps.UNKNOWN) == is_unknown
    assert found["legend"]["title"].startswith("Median price per m²")
    asked["zoom"] = "13"
    assert httpx.get(f"{address}/listings/map.json", params=asked, timeout=60).json()["kind"] == "points"
    assert json.dumps(found).count("null") == 0


def test_a_rent_of_a_square_metre_has_its_cents() -> None:
    german = Formats.of("de-DE")
    assert german.per_m2(Decimal("8.614"), "AZN") == "8,61\u00a0AZN"
    assert german.per_m2(Decimal("2690.99"), "AZN") == "2.691\u00a0AZN"
    assert german.per_m2(None) == "–"
    limits = maps.legend({"EUR": [8.5, 12.0]}, "rent", german, "")
    assert [each["label"] for each in limits["steps"]] == ["", "8,5", "12"]


@pytest.mark.parametrize(
    ("city", "district", "words"),
    [
        ("Bakı", "Nəsimi", "Nəsimi, Bakı"),
        ("Bakı", "?", "Bakı, district unknown"),
        ("?", "?", "city unknown"),
        ("?", "Nizami", "Nizami, city unknown"),
        ("Ath", "Ath", "Ath"),
    ],
)
def test_a_place_says_what_is_not_known_of_it(city: str, district: str, words: str) -> None:
    assert place_of(MarketRow("AZ", city, district, "sale", "AZN", 9, Decimal(1), None)) == words


@pytest.mark.parametrize(("zoom", "status"), [("-2", 200), ("0.4", 200), ("nan", 422), ("inf", 422), ("x", 422)])
def test_the_whole_world_is_a_view_of_the_map(
    address: str, zoom: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maps, "FEW", 10)
    asked = {"bbox": "-180,-85,180,85", "zoom": zoom}
    found = httpx.get(f"{address}/listings/map.json", params=asked, timeout=60)
    assert found.status_code == status
    if status == 200:
        assert re.fullmatch(r"\d+ listings in this view in \d+ hexagons\.", found.json()["text"])


@pytest.mark.parametrize(
    ("path", "status", "title"),
    [
        ("/nothing", 404, "There is no such page"),
        ("/listings?where=" + "a" * 9100, 422, "This address cannot be read"),
        ("/listings/export.csv?where=prize%3C5", 422, "This cannot be shown"),
    ],
)
def test_a_person_gets_a_page_and_a_program_json(address: str, path: str, status: int, title: str) -> None:
    page = httpx.get(address + path, headers={"Accept": "text/html"})
    assert page.status_code == status
    assert f"<h1>{title}</h1>" in page.text
    data = httpx.get(address + path)
    assert data.status_code == status
    assert data.headers["content-type"] == "application/json"
    assert data.json()["error"]


@pytest.mark.parametrize(
    ("error", "status", "title"),
    [(StoreError("away"), 503, "The database is not available"), (ValueError("x"), 500, "This page cannot be made")],
)
def test_a_page_that_cannot_be_made_says_why(error: Exception, status: int, title: str) -> None:
    def fail() -> FullStore:
        raise error

    with TestClient(create_app(fail), base_url="http://localhost", raise_server_exceptions=False) as client:
        found = client.get("/listings", headers={"Accept": "text/html"})
        assert found.status_code == status
        assert f"<h1>{title}</h1>" in found.text
        assert "unsafe" not in found.headers["content-security-policy"]
        part = client.get("/listings?where=city%3DGent", headers={"HX-Request": "true"})
        assert (part.status_code, part.headers["hx-redirect"]) == (status, "/listings?where=city%3DGent")
        assert client.get("/api/v1/listings").json()["error"]


def test_the_headings_of_columns_sort() -> None:
    heads = {each.field: each for each in sort_heads(parse_filter("city=Gent"), "price")}
    assert (heads["price"].direction, heads["price"].words) == ("ascending", "dearest first")
    assert heads["price"].address == "/listings?where=city%3DGent&sort=-price"
    assert (heads["area_m2"].direction, heads["area_m2"].address.rpartition("=")[2]) == ("", "-area_m2")
    assert heads["first_seen_at"].address == "/listings?where=city%3DGent"


@pytest.mark.parametrize(
    ("where", "corners"),
    [
        ("bbox=3,51,4,52", "3.0,51.0;4.0,51.0;4.0,52.0;3.0,52.0"),
        ("polygon=3,51;4,51;4,52", "3.0,51.0;4.0,51.0;4.0,52.0"),
        ("city=Gent", ""),
    ],
)
def test_the_map_shows_the_area_of_the_search(address: str, where: str, corners: str) -> None:
    html = httpx.get(f"{address}/listings", params={"where": where}, timeout=60).text
    assert f'data-area="{corners}"' in html


def test_hexagons_are_large_enough_to_be_seen_at_any_zoom() -> None:
    resolutions = [maps.resolution_of(zoom / 10) for zoom in range(160)]
    assert resolutions == sorted(resolutions)
    assert (resolutions[0], resolutions[-1]) == (RESOLUTIONS[0], 8)


def test_the_latest_changes_have_their_prices(address: str) -> None:
    listed = Event("bina", "1", 1, "listed", datetime.now(UTC), "first", {"price": "900", "currency": "AZN"})
    assert (event_line(listed).new, event_line(listed).currency) == (Decimal(900), "AZN")
    assert re.search(r"Price changed [\d,]+ → [\d,]+\s?AZN", text_of(address).replace("&nbsp;", " "))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(59, "59 s ago"), (61, "1 min ago"), (3960, "1 h ago"), (86399, "23 h ago"), (86400, "1 d ago")],
)
def test_a_time_ago_has_one_unit(seconds: int, words: str) -> None:
    now = datetime.now(UTC)
    assert ago(now - timedelta(seconds=seconds), now).replace("\u00a0", " ") == words


def test_what_the_map_loads_is_compressed(address: str) -> None:
    asked = f"{address}/listings/map.json?bbox=-10,35,60,60&zoom=13"
    sizes = {}
    for encoding in ("gzip", "identity"):
        with httpx.stream("GET", asked, headers={"Accept-Encoding": encoding}, timeout=60) as found:
            assert found.headers.get("content-encoding") == ("gzip" if encoding == "gzip" else None)
            sizes[encoding] = sum(len(part) for part in found.iter_raw())
    assert sizes["gzip"] * 4 < sizes["identity"]


def test_tiles_are_used_only_if_they_are_configured(address: str, filled_store: PostgresStore) -> None:
    assert "data-tiles" not in httpx.get(f"{address}/listings").text
    tiles = Tiles("https://tiles.example/{z}/{x}/{y}.png", "© the makers of the map")
    with serving(create_app(lambda: PostgresStore(filled_store.url), tiles=tiles)) as running:
        found = httpx.get(f"{running}/listings", timeout=60)
        assert 'data-tiles="https://tiles.example/{z}/{x}/{y}.png"' in found.text
        assert "© the makers of the map" in found.text
        policy = found.headers["content-security-policy"]
        assert "img-src 'self' data: https://tiles.example;" in policy
        assert "connect-src 'self' https://tiles.example;" in policy
        assert "tiles.example" not in httpx.get(running, timeout=60).headers["content-security-policy"]

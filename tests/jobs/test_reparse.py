"""Parse real files of raw pages again. Only the store is a fake."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from scrapy.http import HtmlResponse, JsonResponse, Response, TextResponse

from realestate.cli.reparse import print_result
from realestate.items import Listing
from realestate.jobs.reparse import Corrections, Parser, Reparsed, differences, judge, reparse, response_of
from realestate.storage.history import State, Suspect
from realestate.storage.maintenance import SLACK, Current
from realestate.storage.prices import rehashed
from realestate.storage.snapshots import Page, pages
from tests.examples import a_listing
from tests.recorded import FOLDER
from tests.storage.snapshots.examples import a_writer

FETCHED = datetime(2026, 11, 4, 12, 0, tzinfo=UTC)
STORED = FETCHED + timedelta(seconds=2)
HTML = (("Content-Type", "text/html; charset=utf-8"),)


def recorded(name: str, **changes: Any) -> Page:
    """A recorded page as a worker would have stored it."""
    expected = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    portal, _, short = name.partition("/")
    body = FOLDER / f"{name}.html"
    kept = Page(
        portal=portal,
        url=expected["url"],
        status=200,
        headers=HTML if body.exists() else (("Content-Type", "application/json"),),
        body=(body if body.exists() else FOLDER / f"{name}.page.json").read_bytes(),
        fetched_at=FETCHED,
        kind="sampled",
        stage="extract" if short.startswith("listing") else "discover",
        hints=expected.get("hints", {}),
    )
    return replace(kept, **changes)


def as_stored(page: Page, **changes: Any) -> Listing:
    """The stored listing of the page."""
    parser = Parser(page.portal)
    (listing,) = (parser.through_pipelines(item) for item in parser.items(page))
    assert isinstance(listing, Listing)
    return rehashed(replace(listing, **{"last_fetched_at": STORED, **changes}))


class Book:
    """A fake store: listings by ref, and the calls that it got."""

    repriced = False

    def __init__(self, *rows: Listing) -> None:
        self.rows = {row.ref: row for row in rows}
        self.corrected: list[Listing] = []
        self.released: list[Listing] = []

    def current(self, portal: str, refs: Sequence[str]) -> Mapping[str, Current]:
        return {ref: Current(State(self.rows[ref], 1), self.repriced) for ref in refs if ref in self.rows}

    def correct(self, listings: Sequence[Listing], run: str) -> Mapping[str, int]:
        for listing in listings:
            self.rows[listing.ref] = replace(listing, last_fetched_at=self.rows[listing.ref].last_fetched_at)
        self.corrected += listings
        return {"corrected": len(listings)}

    def release(self, listings: Sequence[Listing], run: str) -> Mapping[str, int]:
        self.rows |= {each.ref: replace(each, last_fetched_at=FETCHED + timedelta(days=9)) for each in listings}
        self.released += listings
        return {"released": len(listings)}

    def medians(self) -> list[Any]:
        return []


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Any]:
    """Return a function that writes raw pages to files and reparses them."""
    with closing(a_writer(tmp_path)) as writer:

        def act(book: Book, *kept: Page, dry_run: bool = False) -> Reparsed:
            for page in kept:
                writer.write(page)
            return reparse(kept[0].portal, pages(str(tmp_path), kept[0].portal), book, dry_run=dry_run)

        yield act


HOUSE = "immoweb/listing-house-sale"


def test_the_fake_store_has_the_methods_of_the_protocol() -> None:
    assert isinstance(Book(), Corrections)


def test_a_page_with_the_same_values_changes_nothing(run: Any) -> None:
    page = recorded(HOUSE)
    book = Book(as_stored(page))
    result = run(book, page)
    assert (dict(result.pages), dict(result.listings)) == ({"ok": 1}, {"unchanged": 1})
    assert not book.corrected
    assert not book.released


def test_a_better_parser_corrects_single_fields(run: Any) -> None:
    page = recorded(HOUSE)
    right = as_stored(page)
    book = Book(rehashed(replace(right, area_m2=1.0, title="wrong", city=None)))
    result = run(book, page)
    assert {(change.ref, change.name, change.old, change.new) for change in result.changes} == {
        ("21500123", "area_m2", 1.0, 176.0),
        ("21500123", "title", "wrong", right.title),
        ("21500123", "city", None, right.city),
    }
    assert dict(result.fields) == {"area_m2": 1, "title": 1, "city": 1}
    (listing,) = book.corrected
    assert (listing.area_m2, listing.last_fetched_at) == (176.0, FETCHED)
    assert run(book, page).listings["corrected"] == 0, "the second time there is nothing to correct"


def test_a_dry_run_reports_the_same_and_changes_nothing(run: Any) -> None:
    page = recorded(HOUSE)
    book = Book(as_stored(page, area_m2=1.0))
    result = run(book, page, replace(recorded("immoweb/listing-project"), kind="failed"), dry_run=True)
    assert [(change.name, change.old, change.new) for change in result.changes] == [("area_m2", 1.0, 176.0)]
    assert result.listings["released"] == 1
    assert not book.corrected
    assert not book.released


def test_an_old_page_does_not_correct_newer_values(run: Any) -> None:
    page = recorded(HOUSE)
    book = Book(as_stored(page, price=1, last_fetched_at=FETCHED + timedelta(days=3)))
    assert run(book, page).listings["stale"] == 1
    assert not book.corrected


def test_a_listing_that_is_no_longer_stored_is_not_restored(run: Any) -> None:
    """It was erased, or it has expired."""
    book = Book()
    assert run(book, recorded(HOUSE)).listings["stale"] == 1
    assert book.rows == {}


def test_a_failed_page_that_parses_now_is_released_once(run: Any) -> None:
    page = recorded(HOUSE, kind="failed")
    book = Book()
    assert run(book, page).listings["released"] == 1
    (listing,) = book.released
    assert (listing.ref, listing.last_fetched_at) == ("21500123", FETCHED)
    assert run(book, page).listings["released"] == 0


def test_several_failed_pages_of_one_listing_are_released_in_their_order(run: Any) -> None:
    days = [2, 0, 1]
    book = Book()
    run(book, *(recorded(HOUSE, kind="failed", fetched_at=FETCHED + timedelta(days=day)) for day in days))
    assert [each.last_fetched_at for each in book.released] == [FETCHED + timedelta(days=day) for day in (0, 1, 2)]


@pytest.mark.parametrize(
    ("kind", "read_after", "verdict"),
    [
        ("sampled", timedelta(seconds=2), "correct"),
        ("all", -SLACK, "correct"),  # a worker's clock may be ahead
        ("sampled", SLACK * 1.01, "stale"),
        ("sampled", -SLACK * 1.01, "stale"),
        ("sampled", None, "stale"),
        ("failed", None, "release"),
        ("failed", timedelta(days=-1), "release"),
        ("failed", timedelta(), "correct"),  # it was released before and can be corrected now
        ("failed", timedelta(seconds=-1), "release"),
        ("failed", timedelta(seconds=1), "stale"),
    ],
)
def test_a_page_is_compared_with_the_stored_listing_by_time(
    kind: Any, read_after: timedelta | None, verdict: str
) -> None:
    row = None if read_after is None else a_listing(last_fetched_at=FETCHED + read_after)
    assert judge(kind, FETCHED, row) == verdict


def test_every_page_has_an_outcome_and_none_stops_the_reparse(run: Any) -> None:
    good = recorded(HOUSE)
    url = good.url
    result = run(
        Book(as_stored(good)),
        replace(good, body=b"<html>a wall</html>", kind="failed"),
        replace(good, body=b"", kind="failed"),
        replace(good, body=b"\x89PNG\r\n\x1a\n\x00", headers=(("Content-Type", "image/png"),), kind="failed"),
        replace(good, url="https://www.immoweb.be/en/search/house"),
        replace(good, url="https://elsewhere.example/en/classified/21500123", kind="failed"),
        replace(good, body=good.body.replace(b"FOR_SALE", b"FOR_BARTER"), kind="failed"),
        recorded("immoweb/search"),
        good,
    )
    assert dict(result.pages) == {"broken": 4, "gone": 1, "ok": 3}
    assert dict(result.listings) == {"invalid": 1, "unchanged": 1}
    assert (url, "BrokenPage: no window.classified") in result.broken


def test_the_hints_of_the_search_page_are_used_again(run: Any) -> None:
    page = recorded("emlak/listing-house-rent-daily")
    book = Book(as_stored(page, rent_period="month"))
    assert [(change.name, change.new) for change in run(book, page).changes] == [("rent_period", "day")]


def test_a_status_is_no_correction() -> None:
    """A page of last week does not show that a listing is active today."""
    assert differences(Current(State(a_listing(status="delisted"), 1)), a_listing(status="active"), FETCHED) == []


def test_the_update_time_is_corrected_and_equal_times_in_other_time_zones_are_equal() -> None:
    row, baku = Current(State(a_listing(posted_at=FETCHED), 1)), ZoneInfo("Asia/Baku")
    assert differences(row, a_listing(posted_at=FETCHED.astimezone(baku)), FETCHED) == []
    (change,) = differences(row, a_listing(posted_at=FETCHED.replace(tzinfo=baku)), FETCHED)
    assert (change.name, change.old, change.new) == (
        "posted_at",
        "2026-11-04T12:00:00+00:00",
        "2026-11-04T12:00:00+04:00",
    )


@pytest.mark.parametrize(
    "row",
    [
        Current(State(a_listing(price=Decimal(1000)), 1), repriced=True),
        Current(State(a_listing(price=Decimal(1000)), 1, Suspect(Decimal(9), "run"))),
    ],
    ids=["repriced", "in doubt"],
)
def test_a_price_that_changed_since_is_not_replaced(row: Current) -> None:
    changes = differences(row, a_listing(price=Decimal(2000), title="New"), FETCHED)
    assert [change.name for change in changes] == ["title"]


@pytest.mark.parametrize(
    ("headers", "body", "kind", "text"),
    [
        (HTML, "<html>ə</html>".encode(), HtmlResponse, "<html>ə</html>"),
        ((("Content-Type", "text/html; charset=windows-1251"),), "Ж".encode("cp1251"), HtmlResponse, "Ж"),
        (
            (),
            b"<html><meta charset=windows-1251>\xc6</html>",
            HtmlResponse,
            "<html><meta charset=windows-1251>Ж</html>",
        ),
        ((("Content-Type", "application/json"),), b'{"a": 1}', JsonResponse, '{"a": 1}'),
        ((("Content-Type", "image/png"),), b"\x89PNG\r\n\x1a\n\0", Response, None),
    ],
)
def test_a_response_is_the_one_that_the_spider_got(
    headers: tuple[tuple[str, str], ...], body: bytes, kind: type[Response], text: str | None
) -> None:
    response = response_of(recorded(HOUSE, headers=headers, body=body, status=203, hints={"a": [1]}))
    assert type(response) is kind
    assert (response.status, response.body, response.cb_kwargs) == (203, body, {"a": [1]})
    if isinstance(response, TextResponse):
        assert response.text == text


def test_the_result_is_printed_as_text_and_as_json(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    page = recorded(HOUSE)
    result = run(
        Book(as_stored(page, area_m2=1.0, description="x" * 9000)), page, replace(page, body=b"", kind="failed")
    )
    print_result(result, dry_run=True, as_json=False)
    out = capsys.readouterr().out
    assert "21500123: area_m2: 1.0 -> 176.0\n" in out
    assert f"still cannot be parsed: {page.url}: " in out
    assert "immoweb: 2 pages: 1 ok, 1 broken" in out
    assert max(map(len, out.splitlines())) < 300
    print_result(result, dry_run=True, as_json=True)
    read = json.loads(capsys.readouterr().out)
    assert read["pages"] == {"ok": 1, "broken": 1}
    assert read["fields"]["area_m2"] == 1
    assert {"ref": "21500123", "name": "area_m2", "old": 1.0, "new": 176.0} in read["changes"]

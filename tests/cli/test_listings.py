"""How events, prices and jobs are printed."""

import json
from contextlib import nullcontext
from dataclasses import fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from realestate.cli import connections
from realestate.cli.crawl import CrawlOutcome, _in_all
from realestate.cli.errors import UsageError
from realestate.cli.listings import _event_filter, events, print_events, print_events_as_json, print_history
from realestate.storage.history import Event, EventFilter, PriceSeen
from realestate.storage.store import Numbered

AT = datetime(2026, 9, 1, 12, 30, tzinfo=UTC)
MONTHLY = {"price": 305, "currency": "AZN", "price_basis": "total", "rent_period": "month"}
ON_REQUEST = {"price": None, "currency": None, "price_basis": "on_request", "rent_period": None}


def event(type: Any, data: dict[str, Any]) -> Event:
    return Event("emlak", "840001", 1, type, AT, "j", data)


@pytest.mark.parametrize(
    ("happened", "words"),
    [
        (event("listed", MONTHLY), "305 AZN a month"),
        (event("listed", ON_REQUEST), "on request"),
        (
            event("price_changed", {"old": 1000, "new": 900.5, "currency": "AZN", "percent": -9.95}),
            "1,000 -> 900.5 AZN (-9.9",
        ),
        (event("price_meaning_changed", {"old": MONTHLY, "new": ON_REQUEST}), "305 AZN a month -> on request"),
        (event("updated", {"fields": ["photos", "title"]}), "photos, title"),
        (event("corrected", {"fields": {"rooms": [2, 3]}}), "rooms 2 -> 3"),
        (event("updated", {"fields": {"title": [None, "New"], "photos": [[], ["x"]]}}), "title - -> New, photos"),
        (event("updated", {"fields": {"description": ["Sunny. " * 9, None]}}), "description"),
        (event("delisted", {"evidence": {"evidence": "404", "detail": "status 404"}}), "status 404"),
        (event("relisted", {"was": "sold"}), "was sold"),
    ],
    ids=lambda value: value.type if isinstance(value, Event) else "",
)
def test_each_event_is_printed_on_one_readable_line(
    happened: Event, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_events([Numbered(7, happened)])
    (line,) = capsys.readouterr().out.splitlines()
    assert line.split()[:4] == ["7", "2026-09-01", "12:30", "emlak/840001"]
    assert words in line


def test_the_columns_of_events_are_aligned_whatever_the_length_of_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    long = replace(event("sold", {}), portal="property24", ref="116001177")
    print_events([Numbered(7, event("delisted", {"evidence": {"kind": "404"}})), Numbered(8, long)])
    first, second = capsys.readouterr().out.splitlines()
    assert first.index("delisted") == second.index("sold")
    assert "property24/116001177  sold" in second


def test_events_as_json_are_one_object_per_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_events_as_json([Numbered(7, event("listed", MONTHLY)), Numbered(8, event("sold", {}))])
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["seq"], each["type"], each["ref"]) for each in events] == [
        (7, "listed", "840001"),
        (8, "sold", "840001"),
    ]
    assert events[0]["data"] == MONTHLY


def test_a_history_has_its_prices_and_marks_suspect_ones(capsys: pytest.CaptureFixture[str]) -> None:
    money: Any = {"price": Decimal("305.50"), "currency": "AZN", "price_basis": "total", "rent_period": "month"}
    seen = PriceSeen("emlak", "840001", 1, AT, "j", "search", **money, suspect=True)
    print_history([event("listed", MONTHLY)], [seen])
    printed = capsys.readouterr().out
    assert "305.50 AZN a month" in printed
    assert "search" in printed
    assert "suspect, not confirmed yet" in printed


def test_events_are_filtered_by_portal_type_and_time() -> None:
    wanted = _event_filter("emlak", "price_changed", "2026-11-01", "2026-11-02T10:00+04:00")
    assert wanted == EventFilter(
        portal="emlak",
        type="price_changed",
        since=datetime(2026, 11, 1, tzinfo=UTC),
        until=datetime(2026, 11, 2, 6, tzinfo=UTC),
    )
    assert _event_filter(None, None, None, None) == EventFilter()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ((None, "price", None, None), "there is no event of type 'price': use one of listed, price_changed"),
        ((None, None, "yesterday", None), "--since 'yesterday' is not a day or a time: write 2026-11-01"),
    ],
)
def test_a_wrong_filter_is_explained(asked: tuple[Any, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        _event_filter(*asked)


def test_a_crawl_says_how_many_listings_are_on_the_market() -> None:
    values: dict[str, Any] = dict.fromkeys((each.name for each in fields(CrawlOutcome)), 0)
    listings = CrawlOutcome(**values | {"kept": 603, "on_market": 600, "gone": 3})
    assert _in_all(listings) == "603 in all: 600 on the market, 3 gone"
    assert _in_all(CrawlOutcome(**values | {"kept": 20})) == "20 in all", "books are not on a market"


def test_a_question_without_an_answer_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Empty:
        def events(self, after: int, limit: int, wanted: EventFilter) -> list[Numbered]:
            return []

    monkeypatch.setattr(connections, "opened_store", lambda: nullcontext(Empty()))
    events(after=0, limit=100, portal="emlak", type="price_changed", since=None, until=None, json=False)
    written = capsys.readouterr()
    assert (written.out, written.err) == ("", "no event matches\n")

"""How events, prices and jobs are printed."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from realestate.cli.listings import print_events, print_events_as_json, print_history
from realestate.storage.history import Event, PriceSeen
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
            "1,000 -> 900.5 (-9.9",
        ),
        (event("price_meaning_changed", {"old": MONTHLY, "new": ON_REQUEST}), "305 AZN a month -> on request"),
        (event("updated", {"fields": ["photos", "title"]}), "photos, title"),
        (event("corrected", {"fields": {"rooms": [2, 3]}}), "rooms"),
        (event("delisted", {"evidence": {"evidence": "404", "detail": "status 404"}}), "status 404"),
        (event("relisted", {"was": "sold"}), '{"was":"sold"}'),
    ],
    ids=lambda value: value.type if isinstance(value, Event) else "",
)
def test_each_event_is_printed_on_one_readable_line(
    happened: Event, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_events([Numbered(7, happened)])
    (line,) = capsys.readouterr().out.splitlines()
    assert line.split()[:4] == ["7", "09-01", "12:30", "emlak/840001"]
    assert words in line


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

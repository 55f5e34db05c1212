import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from realestate.cli import tell
from realestate.storage.history import Event, PriceSeen
from realestate.storage.store import Conclusion, Job, Numbered

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
def test_each_event_is_one_line_a_person_can_read(
    happened: Event, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tell.events([Numbered(7, happened)], as_json=False)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.split()[:4] == ["7", "09-01", "12:30", "emlak/840001"]
    assert words in line


def test_events_for_a_program_are_lines_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    tell.events([Numbered(7, event("listed", MONTHLY)), Numbered(8, event("sold", {}))], as_json=True)
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["seq"], each["type"], each["ref"]) for each in told] == [
        (7, "listed", "840001"),
        (8, "sold", "840001"),
    ]
    assert told[0]["data"] == MONTHLY


def test_a_history_has_its_prices_and_says_what_is_doubted(capsys: pytest.CaptureFixture[str]) -> None:
    money: Any = {"price": Decimal("305.50"), "currency": "AZN", "price_basis": "total", "rent_period": "month"}
    seen = PriceSeen("emlak", "840001", 1, AT, "j", "search", **money, suspect=True)
    tell.history([event("listed", MONTHLY)], [seen], as_json=False)
    told = capsys.readouterr().out
    assert "305.50 AZN a month" in told
    assert "search" in told
    assert "not believed yet" in told
    tell.history([event("listed", MONTHLY)], [seen], as_json=True)
    assert json.loads(capsys.readouterr().out)["prices"][0]["price"] == 305.5


def test_a_run_says_why_it_is_not_complete(capsys: pytest.CaptureFixture[str]) -> None:
    run = Job(
        "5f0c", "emlak", "full", "all", AT, complete=False, reason="2 search pages", verdict="withheld", departures=9
    )
    tell.runs([run], as_json=False)
    told = capsys.readouterr().out
    assert all(word in told for word in ("5f0c", "no", "9", "withheld", "2 search pages"))
    tell.runs([run], as_json=True)
    assert json.loads(capsys.readouterr().out)[0]["complete"] is False


def test_a_conclusion_counts(capsys: pytest.CaptureFixture[str]) -> None:
    tell.conclusion(Conclusion("applied", 9, 20, 8), as_json=False)
    assert capsys.readouterr().out == "8 listings delisted, of 9 found gone and 20 offered\n"

"""The suites that need many workers, much data or much time, run with small sizes."""

from collections.abc import Callable

import pytest

from bench import Context, Measure, growth, scale, startup

#: Whole crawls by several workers.
pytestmark = pytest.mark.slow
Small = Callable[[float], Context]


def names_and_units(found: list[Measure]) -> list[tuple[str, str]]:
    assert all(each.value > 0 for each in found)
    return [(each.name, each.unit) for each in found]


def test_the_curve_is_measured_beside_one_worker(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "FLEETS", (1, 2))
    monkeypatch.setattr(scale, "LATENCY_SECONDS", 0.01)
    found = list(scale.measures(small(0.01)))
    assert names_and_units(found) == [
        ("2 workers, 10 ms a page", "pages/s"),
        ("2 workers, no latency, all on this machine", "pages/s"),
    ]
    assert {each.peer for each in found} == {"1 worker"}


def test_the_goal_of_the_curve_is_at_its_end() -> None:
    assert {fleet: str(goal) for fleet, goal in scale.GOALS.items()} == {scale.FLEETS[-1]: "≥ 7 ×"}


def test_growth_is_measured_beside_the_beginning(small: Small) -> None:
    found = list(growth.measures(small(0.001)))
    assert names_and_units(found) == [
        ("memory of a worker after 200 pages", "MB"),
        ("memory after 200 pages, beside it", "MB"),
        ("crawl with 1,000 queued and 1,000 stored", "pages/s"),
    ]
    assert [each.peer for each in found] == [None, "after 50", "with nothing"]


def test_the_first_signs_of_life_are_measured(small: Small) -> None:
    found = list(startup.measures(small(0.01)))
    assert names_and_units(found) == [
        ("realestate --help", "ms"),
        ("worker to its first request", "s"),
        ("realestate demo to its first stored listing", "s"),
    ]

"""What counts as slower: only ratios with a goal, in the direction of the goal."""

import json
from pathlib import Path

import pytest

from bench import Goal, Measure, as_json
from bench.results import comparing
from bench.results.comparing import NoRecord, compared, fallen, read

FASTER, CHEAPER = Goal(of="ratio", minimum=2), Goal(of="ratio", maximum=0.5)


def measure(ratio: float | None, goal: Goal = FASTER, name: str = "crawl", suite: str = "crawl") -> Measure:
    peer = {} if ratio is None else {"peer": "plain", "peer_value": 100.0}
    return Measure(name=name, suite=suite, value=100.0 * (ratio or 1), unit="pages/s", goal=goal, **peer)  # type: ignore[arg-type]


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "performance.json"


def written(record: Path, *measures: Measure) -> list[comparing.Recorded]:
    record.write_text(as_json(measures))
    return read(record)


@pytest.mark.parametrize(
    ("goal", "then", "now", "is_worse"),
    [
        (FASTER, 3.0, 3.0, False),
        (FASTER, 3.0, 2.56, False),
        (FASTER, 3.0, 2.54, True),
        (FASTER, 3.0, 9.0, False),
        (CHEAPER, 0.4, 0.4, False),
        (CHEAPER, 0.4, 0.47, False),
        (CHEAPER, 0.4, 0.48, True),
        (CHEAPER, 0.4, 0.1, False),
        # a value's goal is the machine's too, and without a goal it is a peer's business
        (Goal(minimum=1), 3.0, 1.0, False),
        (Goal(), 3.0, 1.0, False),
    ],
)
def test_a_ratio_may_be_worse_by_15_percent(record: Path, goal: Goal, then: float, now: float, is_worse: bool) -> None:
    before = written(record, measure(then, goal))
    assert bool(fallen([measure(now, goal)], before)) == is_worse


def test_the_line_names_the_ratio_that_fell_and_by_how_much(record: Path) -> None:
    assert fallen([measure(2.0)], written(record, measure(4.0))) == ["crawl: crawl: 2.00 ×, was 4.00 × (-50%)"]


def test_times_are_not_compared(record: Path) -> None:
    """A machine of half the speed changes both sides."""
    slow = Measure(name="crawl", suite="crawl", value=150, unit="pages/s", goal=FASTER, peer="plain", peer_value=50)
    assert fallen([slow], written(record, measure(3.0))) == []


def test_a_measure_that_only_one_file_has_is_not_compared(record: Path) -> None:
    before = written(record, measure(3.0, name="old"), measure(3.0, suite="other"), measure(None, name="alone"))
    today = [measure(1.0), measure(1.0, name="alone")]
    assert fallen(today, before) == []
    assert compared(today, before) == 0
    assert compared([measure(1.0, name="old")], before) == 1


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"name": "x"}]', "[[[[" * 9_999, '[{"suite": 1}]'])
def test_a_file_with_other_content_is_an_error(record: Path, text: str) -> None:
    record.write_text(text)
    with pytest.raises(NoRecord, match=r"performance\.json"):
        read(record)


def test_a_missing_file_is_an_error(record: Path) -> None:
    with pytest.raises(NoRecord, match=r"performance\.json"):
        read(record)


def test_fields_of_a_later_version_are_ignored(record: Path) -> None:
    record.write_text(json.dumps([{**measure(3.0).as_record(), "cores": 2}]))
    assert read(record)[0].ratio == 3.0

"""The suite runs and yields the right measures. `python -m bench queue` measures how fast."""

from collections.abc import Callable

import pytest

from bench import Context, Measure, queue


@pytest.fixture(scope="module")
def found(small: Callable[[float], Context]) -> list[Measure]:
    return list(queue.measures(small(0.0005)))


def test_everything_is_measured_and_positive(found: list[Measure]) -> None:
    assert [each.unit for each in found] == [
        "requests/s",
        "round trips",
        "pages/s",
        "bytes",
        "bytes",
        "bytes",
        "requests/s",
        "ms",
    ]
    assert all(each.value > 0 for each in found)
    assert len({each.name for each in found}) == len(found)


def test_every_measure_has_a_peer_except_those_that_stock_cannot_do(found: list[Measure]) -> None:
    alone = [each.name for each in found if each.peer is None]
    assert alone == ["memory of a URL and when it was seen, of 2,500", "status at 2,000 queued"]
    assert all(each.ratio for each in found if each.peer)


def test_stock_takes_three_round_trips_a_request(found: list[Measure]) -> None:
    assert found[1].peer_value == 3


def test_a_fingerprint_takes_less_than_half_of_stocks(found: list[Measure]) -> None:
    """Bytes, not time: the same on every machine."""
    dedupe = found[3]
    assert dedupe.ratio is not None
    assert dedupe.ratio < 0.5

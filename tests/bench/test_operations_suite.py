"""The suite runs and yields the right measures. `python -m bench operations` measures how fast."""

from collections.abc import Callable

import pytest

from bench import Context, Measure, operations


@pytest.fixture(scope="module")
def found(small: Callable[[float], Context]) -> list[Measure]:
    return list(operations.measures(small(0.0005)))


def test_everything_is_measured(found: list[Measure]) -> None:
    assert [each.unit for each in found] == ["ms", "ms", "ms", "ms", "ms", "s", "commands/s", "µs"]
    assert all(each.value > 0 for each in found if each.unit not in ("ms", "%"))
    assert len({each.name for each in found}) == len(found)

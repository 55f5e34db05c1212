"""The suite runs and says what it should; how fast is for `realestate bench store` to tell."""

import pytest

from realestate import bench
from realestate.bench import Measure, store


@pytest.fixture(scope="module")
def found() -> list[Measure]:
    with bench.fresh(scale=0.01, rounds=1) as context:
        return list(store.measures(context))


def test_everything_is_measured_beside_a_peer(found: list[Measure]) -> None:
    assert [each.unit for each in found] == ["listings/s", "listings/s", "listings/s", "ms", "µs"]
    assert all(each.value > 0 and each.peer and each.ratio for each in found)
    assert len({each.name for each in found}) == len(found)


def test_storing_is_the_same_number_beside_each_peer(found: list[Measure]) -> None:
    first, beside_copy, again, *_ = found
    assert first.value == beside_copy.value == again.peer_value

"""The suite runs and yields the right measures. `python -m bench store` measures how fast."""

import shutil

import pytest

import bench
from bench import Measure, store
from bench.rig.adverts import Adverts


@pytest.fixture(scope="module")
def found() -> list[Measure]:
    with bench.fresh(scale=0.01, rounds=1) as context:
        return list(store.measures(context))


def test_everything_is_measured_beside_a_peer(found: list[Measure]) -> None:
    units = ["listings/s", "listings/s", "listings/s", "ms", "µs", "listings/s"]
    assert [each.unit for each in found] == units[: 6 if shutil.which("mongod") else 5]
    assert all(each.value > 0 and each.peer and each.ratio for each in found)
    assert len({each.name for each in found}) == len(found)


def test_storing_is_the_same_number_beside_each_peer(found: list[Measure]) -> None:
    first, beside_copy, again, *_ = found
    assert first.value == beside_copy.value == again.peer_value


def test_mongodb_is_measured_beside_one_update_a_listing(mongodb_url: str) -> None:
    """It runs on the server of the tests. Only on a real MongoDB the number has a meaning."""
    with bench.fresh(scale=0.01, rounds=1) as context:
        found = store.in_mongodb(context, Adverts(20), mongodb_url)
    assert found.value > 0
    assert found.peer == "update_one each"
    assert found.ratio

"""The suite of the data going out runs with a small size."""

from collections.abc import Callable

import pytest

from bench import Context, out
from bench.rig import datasette, notified

#: A filled database, a server and many processes.
pytestmark = pytest.mark.slow


def test_every_way_out_is_measured(small: Callable[[float], Context], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notified, "PAUSE_SECONDS", 0.05)
    found = list(out.measures(small(0.002)))
    assert all(each.value > 0 for each in found)
    goals = {each.name: (each.unit, str(each.goal)) for each in found}
    expected = {
        "storing new listings": ("listings/s", ""),
        "storing listings seen again": ("listings/s", "≥ 0.95 ×"),
        "storing a sweep, 2% of it new": ("listings/s", "≥ 0.95 ×"),
        "page 1 of any order: p95": ("ms", "≤ 20"),
        "page 2 of any order: p95": ("ms", "≤ 20"),
        "page 1 of a selective search: p95": ("ms", "≤ 20"),
        "map: box or polygon: p95": ("ms", "≤ 25"),
        "map: hexagons at any zoom: p95": ("ms", "≤ 10"),
        "number of results: p95": ("ms", "≤ 20"),
        "all facets: p95": ("ms", "≤ 50"),
        "over HTTP, page 1 of any order: p95": ("ms", "≤ 50"),
        "over HTTP, page 2 of any order: p95": ("ms", "≤ 50"),
        "stored to notified, beside 50 searches: p95": ("ms", "≤ 1000"),
    }
    assert expected.items() <= goals.items()
    assert {each.unit for each in found if each.name.startswith("exporting")} == {"rows/s", "MB"}
    assert any(each.name.startswith("the lake") for each in found)
    beside = [each for each in found if each.peer == "Datasette"]
    assert len(beside) == (3 if datasette.is_installed() else 0)

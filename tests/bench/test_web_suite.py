"""The suite of the web app runs with a small size."""

from collections.abc import Callable

import pytest

from bench import Context, web

#: A server of its own, and a filled database.
pytestmark = pytest.mark.slow


def test_every_page_is_measured(small: Callable[[float], Context], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "PLACES", 3)
    found = list(web.measures(small(0.0005)))
    assert len(found) == 30
    assert all(each.value > 0 for each in found)
    assert {each.unit for each in found} == {"ms", "kB"}
    goals = {each.name: str(each.goal) for each in found}
    assert goals["overview: p95"] == "≤ 100"
    assert goals["listings of a city: compressed"] == "≤ 50"

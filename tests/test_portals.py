"""One test for all recorded pages. The difference that pytest shows names the wrong field."""

import json
from pathlib import Path

import pytest

from tests import recorded

EXPECTATIONS = recorded.expectations()


@pytest.mark.parametrize("expected", EXPECTATIONS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_recorded_page(expected: Path) -> None:
    assert recorded.read(expected) == json.loads(expected.read_text("utf-8"))


def test_every_recorded_page_has_its_expectation() -> None:
    assert {recorded.page_of(expected) for expected in EXPECTATIONS} == recorded.pages()

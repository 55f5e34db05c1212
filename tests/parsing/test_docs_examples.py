"""The examples of docs/parsing.md give what the page says."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "parsing.md"


def test_the_examples_give_what_the_page_says() -> None:
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert result.attempted > 30
    assert result.failed == 0

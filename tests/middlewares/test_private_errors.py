"""Contacts are removed from the errors of parsers."""

from typing import Any

import pytest
from scrapy.http import Response

from realestate.middlewares.private_errors import PrivateErrorsMiddleware
from realestate.privacy.errors import MAX_LENGTH

RESPONSE = Response("https://emlak.az/1.html")


def cleaned(error: Exception) -> Exception:
    PrivateErrorsMiddleware("AZ").process_spider_exception(RESPONSE, error)
    return error


@pytest.mark.parametrize(
    "error",
    [
        ValueError("could not convert string to float: '(050) 000-12-00'"),
        KeyError("somebody@example.com"),
        TypeError({"phone": "+994500001200", "mail": ["somebody@example.com"]}),
        ValueError("x", "(050) 000-12-00", b"+994500001200"),
    ],
)
def test_a_contact_is_replaced_by_a_mark(error: Exception) -> None:
    text = repr(cleaned(error))
    assert "000-12-00" not in text
    assert "500001200" not in text
    assert "somebody" not in text
    assert "[…]" in text


@pytest.mark.parametrize(
    "values", [("no price in 'x'",), (1, None, 2.5), ("at 2026-11-01T10:00:00+00:00",), ({"a": 1},)]
)
def test_an_error_without_a_contact_stays_as_it_is(values: tuple[Any, ...]) -> None:
    assert cleaned(ValueError(*values)).args == values


def test_errors_that_led_to_it_are_cleaned_too() -> None:
    first, second, third = ValueError("(050) 000-12-00"), TypeError("(050) 000-13-00"), KeyError("(050) 000-14-00")
    third.__cause__, second.__context__ = second, first
    cleaned(third)
    assert [str(each.args[0]) for each in (first, second, third)] == ["[…]"] * 3


def test_errors_in_a_circle_end() -> None:
    one, two = ValueError("a"), ValueError("b")
    one.__context__, two.__context__ = two, one
    cleaned(one)


def test_a_whole_page_in_an_error_is_cut() -> None:
    assert len(str(cleaned(ValueError("x" * 1_000_000)))) == MAX_LENGTH

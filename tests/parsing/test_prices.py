from decimal import Decimal

import pytest

from realestate.parsing import prices
from realestate.parsing.prices import Price


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("245 000", 245000),
        ("245 000 AZN", 245000),
        ("245\u00a0000", 245000),
        ("600 AZN / ay", 600),
        ("80 AZN / gün", 80),
    ],
)
def test_reads_an_amount(text: str, amount: int) -> None:
    assert prices.parse(text, "AZN") == Price(Decimal(amount), "AZN", "total")


@pytest.mark.parametrize("text", ["Razılaşma ilə", "razılaşma  İLƏ", "RAZILAŞMA İLƏ", "POA", "Price on request"])
def test_on_request_is_no_amount_and_no_currency(text: str) -> None:
    assert prices.parse(text, "AZN") == Price(None, None, "on_request")


@pytest.mark.parametrize("text", [None, "", "0", "bilinmir", "€1.7K"])
def test_a_text_without_a_price_says_nothing(text: str | None) -> None:
    assert prices.parse(text, "EUR") == Price()


def test_a_number_from_json_is_the_price_and_none_is_on_request() -> None:
    assert prices.of(749000, "EUR") == Price(Decimal(749000), "EUR", "total")
    assert prices.of(940.5, "EUR").amount == Decimal("940.5")
    assert prices.of(None, "EUR") == prices.of(0, "EUR") == prices.of(-1, "EUR") == Price(basis="on_request")


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("600 AZN / ay", "month"),
        ("80 AZN / gün", "day"),
        ("80 AZN/gün", "day"),
        ("£300 pw", "week"),
        ("245 000 AZN", None),
    ],
)
def test_the_words_beside_a_rent_tell_its_period(text: str, period: str | None) -> None:
    assert prices.period(text) == period

"""How the numbers of a measure are written."""

import pytest

from bench.results.wording import amount, number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.23714, "0.2371"),
        (2.5, "2.5"),
        (100.0, "100"),
        (999.96, "1000"),
        (1434.2, "1,434"),
        (21_850, "21,850"),
    ],
)
def test_a_number_is_written_without_an_exponent(value: float, text: str) -> None:
    assert number(value) == text


def test_a_single_measurement_has_no_spread() -> None:
    assert amount(397.14, "pages/s", 0.3) == "397.1 pages/s ±15%"
    assert amount(0.0, "", 0.0) == "0"
    assert amount(3.0, "bans", 0.0) == "3 bans"

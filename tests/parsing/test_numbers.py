from decimal import Decimal

import pytest

from realestate.parsing import numbers


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("158 000", "158000"),
        ("158\u00a0000", "158000"),
        ("158\u2009000", "158000"),
        ("1\u202f250\u202f000 AZN", "1250000"),
        ("€ 239.000", "239000"),
        ("€749,000", "749000"),
        ("€749.000,50", "749000.50"),
        ("$ 144 117.00", "144117.00"),
        ("£1,300 pcm", "1300"),
        ("2.300 €", "2300"),
        ("1'250'000 CHF", "1250000"),
        ("85,5 m²", "85.5"),
        ("85.5m2", "85.5"),
        ("0.125", "0.125"),
        ("6 sot", "6"),
        ("176 m² square meters", "176"),
        ("1700€ + 125€ per month", "1700"),
        ("1.234.567", "1234567"),
        ("/ 2 000 elan tapıldı", "2000"),
        ("-12", "-12"),
        ("2/9", "2"),
    ],
)
def test_reads_numbers_as_people_write_them(text: str, value: str) -> None:
    assert numbers.first(text) == Decimal(value)


@pytest.mark.parametrize("text", ["", None, "-", "€1.7K", "€ 239K", "Razılaşma ilə", "1,2,3.4.5", "m2"])
def test_makes_no_number_of_what_is_none(text: str | None) -> None:
    assert numbers.first(text) is None


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (4, 4),
        (0, 0),
        ("3", 3),
        ("3 otaq", 3),
        (2.0, 2),
        (-1, None),
        (2.5, None),
        (True, None),
        (None, None),
        ("-", None),
    ],
)
def test_a_count_is_whole_and_never_minus_one(value: object, count: int | None) -> None:
    assert numbers.whole(value) == count


@pytest.mark.parametrize(("value", "measure"), [(200, 200.0), ("200", 200.0), (-7, -7.0), (-1, None), (None, None)])
def test_a_measure_may_be_below_zero_but_minus_one_is_unknown(value: object, measure: float | None) -> None:
    assert numbers.signed(value) == measure


@pytest.mark.parametrize(("value", "measure"), [(176, 176.0), ("85,5", 85.5), (0, None), (-1, None), (False, None)])
def test_a_measure_is_above_zero(value: object, measure: float | None) -> None:
    assert numbers.positive(value) == measure

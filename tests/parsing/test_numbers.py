from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as some

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
        ("3 85", "3"),
        ("1 250,5 m²", "1250.5"),
        ("12,34,567", "1234567"),
        ("1.234,5678", "1234.5678"),
        ("2500AZN", "2500"),
        ("85,", "85"),
    ],
)
def test_reads_numbers_as_people_write_them(text: str, value: str) -> None:
    assert numbers.first(text) == Decimal(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        None,
        "-",
        "€1.7K",
        "€ 239K",
        "Razılaşma ilə",
        "1,2,3.4.5",
        "m2",
        "1 700K",
        "£1.2m",
        "28.08.2026",
        "1.000.00",
        "1 250.000.000",
        "9" * 19,
        "9" * 100000,
        "1 " + "000 " * 9,
    ],
)
def test_other_texts_give_no_number(text: str | None) -> None:
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
        (float("nan"), None),
        (float("inf"), None),
        (10**400, None),
        ([3], None),
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


@pytest.mark.parametrize("read", [numbers.positive, numbers.signed, numbers.whole, numbers.worded])
@pytest.mark.parametrize("value", [10**400, float("nan"), float("-inf"), "NaN", "1e400", {}, b"5", "\ud800"])
def test_other_values_give_none_and_raise_no_error(read: Callable[[object], object], value: object) -> None:
    assert read(value) is None


@pytest.mark.parametrize(
    ("value", "count"), [("THREE", 3), (" one ", 1), ("4", 4), (5, 5), ("MORE", None), (None, None), ("zero", 0)]
)
def test_a_count_may_be_an_english_word(value: object, count: int | None) -> None:
    assert numbers.worded(value) == count


@given(
    whole=some.integers(1, 10**12),
    cents=some.integers(0, 99),
    marks=some.sampled_from(
        [(",", "."), (".", ","), (" ", "."), (" ", ","), ("\u00a0", ","), ("\u202f", ","), ("'", ".")]
    ),
)
def test_a_number_is_read_as_it_was_written(whole: int, cents: int, marks: tuple[str, str]) -> None:
    thousands, decimal = marks
    written = f"{whole:,}".replace(",", thousands) + f"{decimal}{cents:02}"
    assert numbers.first(f"€ {written} / ay") == Decimal(f"{whole}.{cents:02}")


@given(some.text())
def test_any_text_gives_a_finite_number_or_none(text: str) -> None:
    number = numbers.first(text)
    assert number is None or number.is_finite()

import pytest

from realestate.parsing import floors
from realestate.parsing.floors import Floor


@pytest.mark.parametrize(
    ("value", "floor"),
    [
        ("2/9", Floor(2, 9)),
        ("2 / 9", Floor(2, 9)),
        ("4/9 mərtəbə", Floor(4, 9)),
        ("Mərtəbə: 16/18", Floor(16, 18)),
        ("floor 3 of 9", Floor(3, 9)),
        ("-1/5", Floor(-1, 5)),
        ("parter/4", Floor(0, 4)),
        ("3", Floor(3)),
        ("3rd floor", Floor(3)),
        ("2-ci mərtəbə", Floor(2)),
        ("1. OG", Floor(1)),
        ("FLOOR_3", Floor(3)),
        ("GROUND_FLOOR", Floor(0)),
        ("Rez-de-chaussée", Floor(0)),
        ("Gelijkvloers", Floor(0)),
        ("EG", Floor(0)),
        ("ZİRZƏMİ", Floor(-1)),
        ("Lower ground floor", Floor(-1)),
        (0, Floor(0)),
        (-1, Floor(-1)),
        (5.0, Floor(5)),
    ],
)
def test_reads_floors(value: object, floor: Floor) -> None:
    assert floors.parse(value) == floor


def test_some_portals_write_the_total_first() -> None:
    assert floors.parse("9/5", total_first=True) == Floor(5, 9)


@pytest.mark.parametrize(
    "value", [None, "", "-", True, "12/2026", "01/02/2026", "floor_higher_10", 10**9, 2.5, float("nan"), [], "1/2/3"]
)
def test_a_text_without_a_floor_gives_none(value: object) -> None:
    assert floors.parse(value) == Floor()

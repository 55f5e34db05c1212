import pytest

from realestate.parsing import areas


@pytest.mark.parametrize(
    ("text", "m2", "is_land"),
    [
        ("85 m2", 85, False),
        ("85,5 m²", 85.5, False),
        ("85.5m2", 85.5, False),
        ("176 m² square meters", 176, False),
        ("120 kv.m", 120, False),
        ("85 kv m", 85, False),
        ("85 kvm", 85, False),
        ("85 м²", 85, False),
        ("2 hektar", 20000, True),
        ("6 sot", 600, True),
        ("2,5 SOT", 250, True),
        ("1,5 ha", 15000, True),
        ("1 000 sq ft", 92.90304, False),
    ],
)
def test_reads_areas_in_their_units(text: str, m2: float, is_land: bool) -> None:
    area = areas.parse(text)
    assert area is not None
    assert area.m2 == pytest.approx(m2)
    assert area.is_land is is_land


@pytest.mark.parametrize("text", [None, "", "85", "m2", "- m2", "0 m2", "çox"])
def test_an_area_needs_a_number_and_a_unit(text: str | None) -> None:
    assert areas.parse(text) is None

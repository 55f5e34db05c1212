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
        ("1,000 sq. ft.", 92.90304, False),
        ("85 m<sup>2</sup>", 85, False),
        ("86m²", 86, False),
        ("1 250 m²", 1250, False),
        ("120 kv. metr", 120, False),
        ("131 qm", 131, False),
        ("60 m kw.", 60, False),
        ("3-otaqlı yeni tikili, Nizami r., 85 m²", 85, False),
        ("Sahə, m²: 85", 85, False),
        ("85 (m²)", 85, False),
        ("5 ar", 500, True),
        ("2 acres", 8093.7128448, True),
        ("SAHƏ 8 SOT", 800, True),
    ],
)
def test_reads_areas_in_their_units(text: str, m2: float, is_land: bool) -> None:
    area = areas.parse(text)
    assert area is not None
    assert area.m2 == pytest.approx(m2)
    assert area.is_land is is_land


@pytest.mark.parametrize(
    "text", [None, "", "85", "m2", "- m2", "0 m2", "çox", "85 - 120 m²", "85 m²–120 m²", "1.7K m2"]
)
def test_an_area_needs_a_number_and_a_unit(text: str | None) -> None:
    assert areas.parse(text) is None


@pytest.mark.parametrize(
    ("value", "unit", "m2"),
    [
        (85, "m²", 85),
        ("131,5", "METRES_SQUARED", 131.5),
        (12, "sot", 1200),
        (6, "MTK", 6),
        (1000, "sqft", 92.90304),
        (2, "HAR", 20000),
        (1, "ACRES", 4046.8564224),
        (0, "m²", None),
        (-1, "m²", None),
        (True, "m²", None),
        (85, "bananas", None),
        (85, None, None),
        (None, "m²", None),
    ],
)
def test_reads_a_number_and_its_unit_from_json(value: object, unit: str | None, m2: float | None) -> None:
    area = areas.of(value, unit)
    assert (area and area.m2) == (m2 and pytest.approx(m2))


def test_the_unit_of_the_label_is_for_a_value_without_one() -> None:
    assert areas.parse("85", "m2") == areas.Area(85, is_land=False)
    assert areas.parse("6", "Sot") == areas.Area(600, is_land=True)
    assert areas.parse("6 sot", "m2") == areas.Area(600, is_land=True)
    assert areas.parse("-", "m2") is None


def test_finds_the_areas_of_a_house_and_its_land() -> None:
    assert areas.every("Həyət evi 120 m², 4 sot") == [areas.Area(120, is_land=False), areas.Area(400, is_land=True)]

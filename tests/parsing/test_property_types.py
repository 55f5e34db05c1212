import pytest

from realestate.parsing import property_types


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Semi-D", "house"),
        ("Detached", "house"),
        ("End of Terrace", "house"),
        ("Townhouse", "house"),
        ("Einfamilienhaus", "house"),
        ("Doppelhaushälfte", "house"),
        ("Apartment", "apartment"),
        ("FLAT", "apartment"),
        ("Eigentumswohnung", "apartment"),
        ("Garconniere", "apartment"),
        ("Warehouse", "commercial"),
        ("COMMERCIAL_PROPERTY", "commercial"),
        ("Geschäftslokal", "commercial"),
        ("Vacant Land", "land"),
        ("Site", "land"),
        ("TERRAIN", "land"),
        ("Grundstück", "land"),
        ("Büro", "office"),
        ("Parking space", "garage"),
        ("Website", None),
        ("Houseboat mooring", None),
        ("", None),
        (None, None),
        (5, None),
        ({"a": 1}, None),
    ],
)
def test_finds_the_property_type_of_a_text(written: object, meant: str | None) -> None:
    assert property_types.of(written) == meant


def test_a_long_text_has_no_property_type() -> None:
    assert property_types.of("house " * 100) is None

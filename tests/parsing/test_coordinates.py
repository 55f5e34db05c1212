import pytest

from realestate.parsing import coordinates
from realestate.parsing.coordinates import Point

HERE, NOWHERE = Point(40.4093, 49.8671), Point()


@pytest.mark.parametrize("text", ["(40.4093, 49.8671)", "40.4093,49.8671", "40.4093 49.8671", " [40.4093 ; 49.8671] "])
def test_a_pair_has_the_latitude_first(text: str) -> None:
    assert coordinates.parse(text) == HERE


@pytest.mark.parametrize("text", [None, "", "()", "(0, 0)", "(91.0, 49.0)", "(40.4093, )", "(40.4, 49.8, 5)", "a, b"])
def test_zero_zero_is_no_point(text: str | None) -> None:
    assert coordinates.parse(text) == NOWHERE


def test_geojson_has_the_longitude_first() -> None:
    assert coordinates.geojson([49.8671, 40.4093]) == HERE
    assert coordinates.geojson({"type": "Point", "coordinates": [49.8671, 40.4093, 12.0]}) == HERE
    assert coordinates.geojson([49.8671]) == coordinates.geojson(None) == coordinates.geojson("x") == NOWHERE


@pytest.mark.parametrize("odd", [None, "", "x", True, float("nan"), float("inf"), 10**400, [], "1e5", 91])
def test_values_out_of_range_give_no_point(odd: object) -> None:
    assert coordinates.of(odd, 49.8671) == NOWHERE
    assert coordinates.of("40.4093", 49.8671) == HERE

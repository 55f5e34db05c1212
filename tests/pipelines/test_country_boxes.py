import pytest

from realestate.pipelines.country_boxes import ISLANDS, MAINLAND, may_contain

#: Towns near the borders of each country.
TOWNS = [
    *(("BE", 51.10, 2.59), ("BE", 49.68, 5.82), ("BE", 50.63, 6.03), ("BE", 51.48, 4.76)),
    *(("AZ", 40.41, 49.87), ("AZ", 39.21, 45.41), ("AZ", 38.45, 48.88), ("AZ", 41.63, 46.64)),
    *(("IE", 53.35, -6.26), ("IE", 51.68, -9.45), ("IE", 55.25, -7.26)),
    *(("AT", 48.21, 16.37), ("AT", 47.50, 9.75), ("AT", 46.61, 13.85)),
    *(("PL", 52.23, 21.01), ("PL", 53.91, 14.25), ("PL", 49.29, 19.95), ("PL", 54.36, 18.65)),
    *(("GB", 51.51, -0.13), ("GB", 60.15, -1.15), ("GB", 50.07, -5.71), ("GB", 54.34, -7.63), ("GB", 52.48, 1.75)),
    *(("ZA", -33.92, 18.42), ("ZA", -22.35, 30.04), ("ZA", -28.78, 32.04), ("ZA", -34.42, 19.24)),
    *(("FR", 48.39, -4.49), ("FR", 41.39, 9.16), ("FR", 14.60, -61.07), ("FR", -20.88, 55.45)),
    *(("ES", 28.12, -15.43), ("ES", 35.29, -2.94), ("PT", 32.65, -16.91), ("PT", 37.74, -25.67)),
    *(("LU", 49.61, 6.13), ("NL", 53.22, 6.57), ("DE", 54.91, 8.31), ("DE", 47.41, 10.28)),
]
ABROAD = [
    *(("BE", 48.86, 2.35), ("BE", 52.37, 4.90), ("AZ", 41.65, 41.64), ("AZ", 35.69, 51.39), ("IE", 51.51, -0.13)),
    *(("AT", 45.46, 9.19), ("PL", 50.45, 30.52), ("GB", 48.86, 2.35), ("ZA", 33.92, 18.42), ("FR", 50.85, -60.0)),
]


@pytest.mark.parametrize(("country", "latitude", "longitude"), TOWNS)
def test_a_town_is_in_its_country(country: str, latitude: float, longitude: float) -> None:
    assert may_contain(country, latitude, longitude)


@pytest.mark.parametrize(("country", "latitude", "longitude"), ABROAD)
def test_a_town_abroad_is_not_in_the_country(country: str, latitude: float, longitude: float) -> None:
    assert not may_contain(country, latitude, longitude)


def test_a_country_without_a_box_may_contain_any_point() -> None:
    assert may_contain("XX", 0.5, 0.5)


def test_every_box_has_its_sides_in_order() -> None:
    boxes = [*MAINLAND.values(), *(box for boxes in ISLANDS.values() for box in boxes)]
    assert all(-90 < box.south < box.north < 90 and -180 < box.west < box.east < 180 for box in boxes)
    assert set(ISLANDS) <= set(MAINLAND)

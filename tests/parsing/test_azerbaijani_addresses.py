import pytest

from realestate.parsing import azerbaijani_addresses
from realestate.parsing.azerbaijani_addresses import Place


def test_reads_each_part_of_an_address() -> None:
    assert azerbaijani_addresses.parse("Bakı ş., Nəsimi r., 28 May m., Füzuli küç. 12") == Place(
        city="Bakı", district="Nəsimi", metro_station="28 May", street="Füzuli küç. 12"
    )


def test_an_avenue_is_a_street_although_it_ends_like_a_district() -> None:
    assert azerbaijani_addresses.parse("Bakı ş., Azadlıq pr.") == Place(city="Bakı", street="Azadlıq pr.")


def test_whole_words_and_bare_cities_are_understood() -> None:
    place = azerbaijani_addresses.parse("Bakı, Yasamal rayonu, Badamdar qəsəbəsi, Nizami metrosu")
    assert place == Place(city="Bakı", district="Yasamal", settlement="Badamdar", metro_station="Nizami")
    assert azerbaijani_addresses.parse("Sumqayıt şəhəri").city == "Sumqayıt"


def test_a_settlement_is_not_a_district() -> None:
    assert azerbaijani_addresses.parse("Bakı ş., Binə q.") == Place(city="Bakı", settlement="Binə")


@pytest.mark.parametrize("address", [None, "", ",,", "somewhere nice"])
def test_an_empty_address_has_no_parts(address: str | None) -> None:
    assert azerbaijani_addresses.parse(address) == Place()


@pytest.mark.parametrize(
    ("title", "station"),
    [
        ("Satılır 3 otaqlı 85 m2 yeni tikili Nizami m.", "Nizami"),
        ("İcarəyə verilir 2 otaqlı 60 m2 köhnə tikili 28 May m.", "28 May"),
        ("Satılır 4 otaqlı həyət evi Binə q.", None),
        ("Satılır 6 sot torpaq", None),
        (None, None),
    ],
)
def test_a_title_may_end_with_a_metro_station(title: str | None, station: str | None) -> None:
    assert azerbaijani_addresses.metro_at_end(title) == station


@pytest.mark.parametrize(
    ("part", "place"),
    [
        ("28 May m.", Place(metro_station="28 May")),
        ("Nəsimi r.", Place(district="Nəsimi")),
        ("NƏSİMİ RAYONU", Place(district="NƏSİMİ")),
        ("Binə q.", Place(settlement="Binə")),
        ("Azadlıq Prospekti m.", Place(metro_station="Azadlıq Prospekti")),
        ("BAKI", Place(city="BAKI")),
        ("Satılır 5 otaqlı köhnə tikili 105 m², Nizami m.", Place(metro_station="Nizami")),
        ("m.", Place()),
    ],
)
def test_reads_an_address_of_one_part(part: str, place: Place) -> None:
    assert azerbaijani_addresses.parse(part) == place

"""Which operation, type, counts and fields the words of many languages name."""

import pytest

from realestate.parsing.unknown_pages import vocabulary


@pytest.mark.parametrize(
    ("text", "language", "operation", "kind"),
    [
        ("Semi-detached house for sale in Leeds", "en", "sale", "house"),
        ("2 bed flat to rent", "en", "rent", "apartment"),
        ("Apartment building for sale", "en", "sale", "building"),
        ("House with garage", "en", None, "house"),
        ("Garage for rent", "en", "rent", "garage"),
        ("3-Zimmer-Wohnung mieten", "de", "rent", "apartment"),
        ("WG-Zimmer in 3-Zimmer-Wohnung", "de", "rent", "room"),
        ("Etagenwohnung in Gießen kaufen", "de", "sale", "apartment"),
        ("Appartement à louer", "fr", "rent", "apartment"),
        ("Location maison 4 pièces", "fr", "rent", "house"),
        ("Great location near the park", "en", None, None),
        ("Piso en alquiler en Sevilla", "es", "rent", "apartment"),
        ("Casa adosada en venta", "es", "sale", "house"),
        ("Moradia para arrendar", "pt", "rent", "house"),
        ("Trilocale in vendita", "it", "sale", "apartment"),
        ("Appartement te huur", "nl", "rent", "apartment"),
        ("Mieszkanie na sprzedaż", "pl", "sale", "apartment"),
        ("Dom do wynajęcia", "pl", "rent", "house"),
        ("KİRALIK 2+1 DAİRE", "tr", "rent", "apartment"),
        ("Satılık arsa", "tr", "sale", "land"),
        ("Снять квартиру", "ru", "rent", "apartment"),
        ("Продаётся дом", "ru", "sale", "house"),
        ("Apartament de închiriat", "ro", "rent", "apartment"),
        ("Διαμέρισμα προς πώληση", "el", "sale", "apartment"),
        ("Villa till salu", "sv", "sale", "house"),
        ("Leilighet til leie", "no", "rent", "apartment"),
        ("Lejlighed til leje", "da", "rent", "apartment"),
        ("Vuokrataan kaksio", "fi", "rent", "apartment"),
        ("Prodej bytu", "cs", "sale", "apartment"),
        ("Eladó családi ház", "hu", "sale", "house"),
        ("House for sale or rent", "en", None, "house"),
    ],
)
def test_operation_and_type(text: str, language: str, operation: str | None, kind: str | None) -> None:
    assert vocabulary.operation(text, language) == operation
    assert vocabulary.property_type(text, language) == kind


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("4 bedroom house, 2 baths", {"bedrooms": 4, "bathrooms": 2}),
        ("4-Zimmer-Wohnung", {"rooms": 4}),
        ("3 pokoje, 50 m²", {"rooms": 3}),
        ("3 chambres", {"bedrooms": 3}),
        ("2 quartos", {"bedrooms": 2}),
        ("ab 2-3 Zimmer", {}),
        ("1.5 bath", {}),
        ("3 rooms, 4 rooms", {}),
        ("", {}),
    ],
)
def test_counts(text: str, counts: dict[str, int]) -> None:
    assert vocabulary.counts(text) == counts


def test_a_label_names_a_field_in_any_spelling() -> None:
    for label in ("Wohnfläche", "WOHNFLÄCHE:", "Wohnfläche ca. (m²)", "Wohn\u00adfläche"):
        assert vocabulary.fields_of_label(label, "de") == ("area_m2",)
    assert vocabulary.fields_of_label("Land", "de")[0] == "country"
    assert vocabulary.fields_of_label("Land", "en")[0] == "plot_m2"
    assert vocabulary.fields_of_label("Il", "it") == (), "a city in Turkish, an article in Italian"
    assert vocabulary.fields_of_label("Anything else") == ()


def test_titles_of_results_are_plural() -> None:
    for text in (
        "Apartments for sale",
        "Huurwoningen Amsterdam",
        "Mieszkania na sprzedaż",
        "4.423 casas e apartamentos",
    ):
        assert vocabulary.is_plural(text)
    assert not vocabulary.is_plural("Apartment for sale")


def test_a_long_text_is_not_searched() -> None:
    assert vocabulary.operation("for sale " * 100) is None
    assert vocabulary.property_type("house " * 100) is None

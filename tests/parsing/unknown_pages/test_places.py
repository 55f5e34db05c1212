"""Where a home is, on pages that say it only in their breadcrumbs, their titles or an address."""

from decimal import Decimal

import pytest

from realestate.parsing import unknown_pages
from realestate.parsing.unknown_pages import Reading, cities, countries
from tests.parsing.unknown_pages.pages import next_data, page, rows

URL = "https://www.homes.example.com/homes/1234567"
FACTS = {"es": {"Habitaciones": "3", "Superficie construida": "90 m²"}, "en": {"Bedrooms": "3", "Floor area": "90 m²"}}


def read(title: str, price: str, *parts: str, lang: str = "en", above: str = "") -> Reading:
    facts = rows({"Price": price, **FACTS.get(lang, FACTS["en"])})
    return unknown_pages.read(page(above, f"<h1>{title}</h1>", *parts, facts, lang=lang), URL)


def crumbs(*names: str) -> str:
    links = "".join(f'<a href="/x">{name}</a>' for name in names)
    return f'<div class="breadcrumbs">{links}</div>'


def place(reading: Reading) -> tuple[str | None, str | None]:
    return reading.fields.get("city"), reading.country


# ----- cities


@pytest.mark.parametrize(
    ("title", "price", "lang", "city", "country"),
    [
        ("Duplex for sale in Calle Ancha, Goya, Madrid", "1,600,000 €", "en", "Madrid", "ES"),
        ("Piso en venta en Calle Ancha, Madrid", "160.000 €", "es", "Madrid", "ES"),
        ("3-Zimmer-Wohnung kaufen in Berlin Mitte", "349.000 €", "de", "Berlin", "DE"),
        ("Appartement à vendre à Lyon 3ème", "349 000 €", "fr", "Lyon", "FR"),
        ("Kraków, Stare Miasto, mieszkanie na sprzedaż", "650 000 zł", "pl", "Kraków", "PL"),
        ("Apartment for sale in Cape Town", "R 3 700 000", "en", "Cape Town", "ZA"),
        ("Продажа квартиры, Алматы", "30 000 000 ₸", "ru", "Алматы", "KZ"),
    ],
)
def test_a_large_city_in_the_title_is_the_city(title: str, price: str, lang: str, city: str, country: str) -> None:
    assert place(read(title, price, lang=lang)) == (city, country)


@pytest.mark.parametrize(
    ("line", "city"),
    [
        ("10115 Berlin Mitte", "Berlin"),
        ("60311 Frankfurt am Main", "Frankfurt am Main"),
        ("61348 Bad Homburg", "Bad Homburg"),
        ("12345 Musterstadt Nord", "Musterstadt Nord"),
    ],
)
def test_a_district_behind_a_large_city_is_not_a_part_of_its_name(line: str, city: str) -> None:
    assert read("Wohnung", "349.000 €", f"<p>{line}</p>", lang="de").fields["city"] == city


def test_names_in_latin_letters_are_keys_on_a_page_in_cyrillic_letters() -> None:
    home = {"id": 1234567, "title": "x", "rooms": 2, "city": "Primerovo", "district": "Nova_r-n", "price": 5_000_000}
    russian = read("Квартира", "5 000 000 ₽", next_data({"ad": home}), lang="ru").fields
    assert "city" not in russian
    assert "district" not in russian
    cyrillic = home | {"city": "Примерово", "district": "Новый"}
    assert read("Квартира", "5 000 000 ₽", next_data({"ad": cyrillic}), lang="ru").fields["city"] == "Примерово"
    english = read("Flat", "£500,000", next_data({"ad": home})).fields
    assert (english["city"], english.get("district")) == ("Primerovo", None)


def test_an_amount_before_the_street_is_not_a_part_of_it() -> None:
    fields = read("Office Building $4,500,000 101 Main St, Casper, WY 82609", "$4,500,000").fields
    assert (fields["street"], fields["city"]) == ("101 Main St", "Casper")


def test_the_breadcrumbs_name_the_city() -> None:
    above = crumbs("Home", "For sale", "Cape Town", "Rondebosch")
    assert place(read("House for sale in Rondebosch", "R 3 700 000", above=above)) == ("Cape Town", "ZA")
    above = crumbs("Inicio", "Madrid", "Madrid Capital", "Salamanca")
    assert read("Piso en venta en Calle Ancha", "990.000 €", above=above, lang="es").fields["city"] == "Madrid"


@pytest.mark.parametrize(
    ("title", "price"),
    [
        ("House for sale in Oxford Gardens", "£400,000"),  # a street
        ("House for sale in London Road", "£400,000"),
        ("Flat for sale, Valencia", "$400,000"),  # in California, for all we know
        ("Flat for sale in Warsaw, Berlin style", "400,000 €"),
        ("Flat for sale, Salamanca, Madrid, Granada", "400,000 CHF"),  # of a country with another currency
    ],
)
def test_what_is_no_city_for_sure_is_left_out(title: str, price: str) -> None:
    assert "city" not in read(title, price).fields


def test_two_cities_that_are_named_as_often_are_none() -> None:
    assert cities.find(["Málaga", "Marbella"], [], "ES", None) is None
    assert cities.find(["Málaga", "Marbella"], ["Casa en Marbella"], "ES", None) == cities.City("Marbella", "ES")


def test_a_city_of_another_country_is_not_taken() -> None:
    assert cities.find(["Toledo"], [], "US", "USD") is None
    assert cities.find(["Valencia"], [], None, "EUR") == cities.City("Valencia", "ES")
    assert cities.find(["Córdoba"], [], None, "ARS") == cities.City("Córdoba", "AR")


# ----- countries


@pytest.mark.parametrize(
    ("title", "price", "lang", "country"),
    [
        ("Chalet en venta", "160.000 €", "es", "ES"),
        ("Moradia à venda", "160.000 €", "pt", "PT"),
        ("Casa à venda", "R$ 160.000", "pt", "BR"),
        ("Hus til salgs", "4 500 000 NOK", "no", "NO"),
        ("Haus zu verkaufen", "160.000 €", "de", None),  # or Austria
        ("House for sale", "£160,000", "en", None),  # homes abroad are offered in pounds
    ],
)
def test_the_language_and_the_currency_tell_a_country(title: str, price: str, lang: str, country: str | None) -> None:
    assert read(title, price, lang=lang).country == country


def test_a_country_in_the_breadcrumbs_counts() -> None:
    assert read("House for sale", "£160,000", above=crumbs("Home", "United Kingdom", "England")).country == "GB"


def test_the_form_of_a_postal_code_tells_a_country() -> None:
    assert countries.of_postal_code("RG17 7DR", "GBP") == "GB"
    assert countries.of_postal_code("1015 AA", "EUR") == "NL"
    assert countries.of_postal_code("49600", "EUR") is None
    assert countries.of_postal_code("RG17 7DR", "EUR") is None


# ----- addresses


@pytest.mark.parametrize(
    ("title", "below"),
    [
        ("120 Forest Ave, Casper, WY 82609 ( For Sale )", ""),
        ("Property details", "<p>120 Forest Ave, Casper, WY 82609</p>"),
    ],
)
def test_an_address_in_the_united_states_has_all_parts(title: str, below: str) -> None:
    reading = read(title, "$33,500", below, "<p>Mobile home for sale</p>")
    found = reading.fields
    assert (found["street"], found["city"], found["region"]) == ("120 Forest Ave", "Casper", "WY")
    assert (found["postal_code"], reading.country) == ("82609", "US")
    assert (reading.price.amount, reading.price.currency) == (Decimal(33500), "USD")  # "$" is the country's own


def test_a_city_before_its_postal_code() -> None:
    found = read("Wohnung 93 m² zur Miete Mitte, Berlin (10178)", "1.250 €", lang="de").fields
    assert (found["city"], found["postal_code"]) == ("Berlin", "10178")


def test_a_list_of_places_is_no_street() -> None:
    street = "<dl><dt>Street</dt><dd>{}</dd></dl>"
    assert "street" not in read("House for sale", "250 000 zł", street.format("Wrocław, Fabryczna")).fields
    assert read("House for sale", "250 000 zł", street.format("ul. Polna 3, Wrocław")).fields["street"]


# ----- prices of such pages


def test_without_a_heading_the_price_is_looked_for_where_the_title_is() -> None:
    menu = "".join(f"<p>Menu entry {number}</p>" for number in range(80))
    body = f"{menu}<h2>120 Forest Ave, Casper</h2><h2>$489,000</h2>" + rows(FACTS["en"])
    head = "<title>120 Forest Ave, Casper, WY 82609 (For Sale) | House</title>"
    assert unknown_pages.read(page(body, head=head), URL).price.amount == 489000


def test_a_price_far_above_the_prices_per_square_foot_is_the_price() -> None:
    body = "<h1>House for sale</h1><div>£465,000</div><div>£289</div><div>£3,106</div>" + rows(FACTS["en"])
    assert unknown_pages.read(page(body), URL).price.amount == 465000
    body = body.replace("£3,106", "£430,000")
    assert unknown_pages.read(page(body), URL).price.amount is None


def test_mexican_pages_write_their_pesos_as_mn() -> None:
    body = "<h1>Departamento en venta</h1><div>MN 1,500,000</div>" + rows(FACTS["es"])
    reading = unknown_pages.read(page(body, lang="es-MX"), URL)
    assert (reading.price.amount, reading.price.currency) == (Decimal(1500000), "MXN")


def test_a_page_without_any_title_has_to_say_more() -> None:
    few = {"Kaltmiete": "959,87 €", "Baujahr": "1930"}
    more = {**few, "Wohnfläche": "61,53 m²", "Etage": "1", "Zimmer": "2"}
    assert unknown_pages.read(page(rows(few), lang="de"), URL).kind == "other"
    assert unknown_pages.read(page(rows(more), lang="de"), URL).kind == "listing"

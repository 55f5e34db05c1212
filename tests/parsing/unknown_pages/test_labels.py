"""Rows of labels and values, in the elements that sites use for them."""

from typing import Any

import pytest

from realestate.parsing.unknown_pages import labels
from realestate.parsing.unknown_pages.document import Document
from tests.parsing.unknown_pages.pages import URL, page


def read(body: str, lang: str = "en", url: str = URL) -> dict[str, Any]:
    return labels.fields(labels.rows(Document(page("<h1>A home</h1>", body, lang=lang), url)))


@pytest.mark.parametrize(
    "body",
    [
        "<dl><dt>Bedrooms</dt><dd>3</dd><dt>Bathrooms</dt><dd>2</dd></dl>",
        "<table><tr><th>Bedrooms</th><td>3</td></tr><tr><th>Bathrooms</th><td>2</td></tr></table>",
        "<table><tr><td>Bedrooms</td><td>:</td><td>3</td></tr><tr><td>Bathrooms</td><td>:</td><td>2</td></tr></table>",
        "<ul><li><b>Bedrooms:</b> 3</li><li><b>Bathrooms:</b> 2</li></ul>",
        "<ul><li>Bedrooms: 3</li><li>Bathrooms: 2</li></ul>",
        "<ul><li>3 bedrooms</li><li>2 bathrooms</li></ul>",
        "<div><span>Bedrooms</span><span>3</span><span>Bathrooms</span><span>2</span></div>",
        "<div><span>3</span><span>Bedrooms</span><span>2</span><span>Bathrooms</span></div>",
        "<div><p><i>3</i><u>Bedrooms</u></p><p><i>2</i><u>Bathrooms</u></p></div>",
    ],
)
def test_any_elements_can_be_rows(body: str) -> None:
    assert read(body) == {"bedrooms": 3, "bathrooms": 2}


@pytest.mark.parametrize(
    ("lang", "label", "value", "field", "expected"),
    [
        ("de", "Wohnfläche ca.", "85,5 m²", "area_m2", 85.5),
        ("de", "Grundstücksfläche", "600 m²", "plot_m2", 600),
        ("de", "Typ", "Wohnung", "property_type", "apartment"),
        ("de", "Baujahr", "1984", "year_built", 1984),
        ("de", "Energieeffizienzklasse", "D", "energy_class", "D"),
        ("de", "Endenergiebedarf", "76,1 kWh/(m²a)", "energy_kwh_m2", 76.1),
        ("de", "PLZ", "40545", "postal_code", "40545"),
        ("en", "Floor size", "1,000 sq ft", "area_m2", pytest.approx(92.903, abs=0.001)),
        ("en", "Size", "1,631 sq ft 152 m²", "area_any", 152),
        ("en", "Area (m²)", "85", "area_any", 85),
        ("en", "Floor", "96 m²", "area_m2", 96),
        ("en", "Floor", "3", "floor", 3),
        ("en", "Lot size", "0.5 acres", "plot_m2", pytest.approx(2023.4, abs=0.1)),
        ("pl", "Piętro", "2 / 4", "floor", 2),
        ("it", "Piano", "Piano terra", "floor", 0),
        ("pl", "Liczba pokoi", "3", "rooms", 3),
        ("pl", "Miasto", "Kraków", "city", "Kraków"),
        ("tr", "Oda Sayısı", "3+1", "rooms", 4),
        ("tr", "Kimden", "Emlak Ofisinden", "seller_type", "agency"),
        ("it", "Contratto", "Vendita", "operation", "sale"),
        ("fr", "Type de bien", "Maison", "property_type", "house"),
        ("ru", "Общая площадь", "54 м²", "area_any", 54),
        ("pt", "Publicado em", "28/08/2026", "posted_at", None),
    ],
)
def test_a_row_of_each_field(lang: str, label: str, value: str, field: str, expected: Any) -> None:
    found = read(f"<table><tr><th>{label}</th><td>{value}</td></tr></table>", lang)
    if expected is None:
        assert found[field].date().isoformat() == "2026-08-28"
    else:
        assert found[field] == expected


@pytest.mark.parametrize(
    "body",
    [
        "<p><b>Size</b><i>85</i></p>",
        "<p><b>Bedrooms</b><i>2 or 3</i></p>",
        "<p><b>Year built</b><i>between 1950 and 1960</i></p>",
        "<p><b>Price</b><i>250 000</i></p>",
        "<p><b>Floor</b><i>0</i></p>",
        "<p><b>Posted</b><i>7 days ago</i></p>",
        "<nav><p><b>Bedrooms</b><i>3</i></p></nav>",
        "<form><p><b>Bedrooms</b><i>3</i></p></form>" + "<p>other text</p>" * 9,
        "<div><b>Property type</b><i>Apartment</i><i>House</i><i>Office</i><i>Land</i><b>Price</b></div>",
        "<h2>Similar properties</h2><p><b>Bedrooms</b><i>3</i></p>",
        "<p>Bedrooms: 2</p><p>Bedrooms: 3</p><p>Bedrooms: 4</p>",
    ],
)
def test_what_is_unclear_is_left_out(body: str) -> None:
    assert read(body) == {}


def test_a_dollar_is_that_of_the_sites_country() -> None:
    row = "<p><b>Price</b><i>$ 500,000</i></p>"
    assert read(row) == {}
    assert read(row, url="https://homes.com.au/1234567")["price"].currency == "AUD"
    assert read("<p><b>Price</b><i>R$ 437.500</i></p>")["price"].currency == "BRL"


@pytest.mark.parametrize("row", ["<dt>{}</dt><dd>{}</dd>", "<td>{}</td><td>{}</td>", "<b>{}</b><i>{}</i>"])
@pytest.mark.parametrize(
    "pairs", [[("Tenure", "Freehold"), ("City", "Leeds")], [("City", "Leeds"), ("Tenure", "Freehold")]]
)
def test_a_row_with_an_unknown_label_is_no_part_of_its_neighbour(row: str, pairs: list[tuple[str, str]]) -> None:
    around = {"<dt>": "<dl>{}</dl>", "<td>": "<table><tr>{}</tr></table>", "<b>": "<div>{}</div>"}[
        row[: row.index(">") + 1]
    ]
    assert read(around.format("".join(row.format(*pair) for pair in pairs))) == {"city": "Leeds"}

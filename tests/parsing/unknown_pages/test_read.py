"""Whole pages of unknown sites: one small page for each class of pages."""

from decimal import Decimal
from typing import Any

import pytest

from realestate.parsing import unknown_pages
from realestate.parsing.unknown_pages import Reading
from realestate.parsing.unknown_pages.document import Document
from tests.parsing.unknown_pages.pages import URL, json_ld, meta, next_data, page, rows

HOUSE: dict[str, Any] = {
    "@type": "House",
    "name": "Old mill with a garden",
    "numberOfRooms": 5,
    "floorSize": {"value": 120, "unitCode": "MTK"},
    "address": {"addressLocality": "Leeds", "addressCountry": "GB"},
    "offers": {"price": 250000, "priceCurrency": "GBP"},
}


def read(*parts: str, url: str = URL, head: str = "", lang: str = "en") -> Reading:
    return unknown_pages.read(page(*parts, head=head, lang=lang), url)


# ----- which kind of page it is


def card(number: int) -> dict[str, Any]:
    return {"@type": "House", "name": f"House {number}", "url": f"/homes/{number}", "offers": {"price": 1000 + number}}


@pytest.mark.parametrize(
    "body",
    [
        json_ld(*(card(number) for number in range(8))),
        json_ld({"@type": "SearchResultsPage"}, HOUSE),
        json_ld({"@type": ["ItemList", "WebPage"], "name": "Houses"}) + "<h1>Houses</h1>",
        json_ld({"@type": "Product", "name": "x", "offers": {"@type": "AggregateOffer", "lowPrice": 1, "highPrice": 9}})
        + "<h1>Flats for rent</h1>",
        "<h1>644 huurwoningen in Amsterdam</h1>",
        "<h1>Apartments for sale in Leeds</h1>" + "".join(f"<p>£{number}00,000</p>" for number in range(1, 20)),
        "<h1>1 - 25 von 1.261 Immobilien</h1>",
        "<title>Page 2 | Flats</title><h1>Flats</h1>",
        "<h1>Homes</h1>"
        + "".join(rows({"Price": f"£{n}50,000", "Rooms": str(n), "Area": f"{n}0 m²"}) for n in range(1, 9)),
        next_data({"results": [{"title": "x", "price": 5, "city": "y", "bedrooms": n} for n in range(1, 9)]})
        + "<h1>Homes for sale</h1>",
    ],
)
def test_a_page_of_results_is_not_a_listing(body: str) -> None:
    head = meta(og_title="Lovely house for sale")
    assert read(body, head=head, url="https://www.homes.example.net/for-sale/leeds").kind == "results"


def test_similar_homes_do_not_make_a_page_of_results() -> None:
    own = dict(HOUSE, url=URL)
    similar = json_ld({"@type": "ItemList", "itemListElement": [card(number) for number in range(8)]})
    reading = read(json_ld(own, *(card(number) for number in range(8))), similar)
    assert reading.kind == "listing"
    assert reading.price.amount == 250000


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<title>Just a moment...</title>",
        json_ld({"@type": "Product", "name": "Homes.net"}),
        json_ld({"@type": "Product", "name": "Laptop", "offers": {"price": 900, "priceCurrency": "EUR"}}),
        "<title>Houses and flats: your home is here</title><h1>Welcome</h1><p>£2,200,000</p>",
    ],
)
def test_a_page_about_something_else(body: str) -> None:
    assert read(body, head=meta(og_title="A shared title")).kind == "other"


# ----- sources together


def test_the_price_may_be_in_a_sibling_node() -> None:
    residence = {
        "@type": "Residence",
        "address": {"addressLocality": "Leeds"},
        "geo": {"latitude": "53,8", "longitude": "-1,5"},
    }
    product = {"@type": "Product", "name": "Flat for sale", "offers": {"price": "99000", "priceCurrency": "GBP"}}
    listing = {"@type": "RealEstateListing", "datePosted": "2026-01-31T19:24:46Z"}
    reading = read(json_ld(residence, product, listing))
    assert (reading.price.amount, reading.operation) == (Decimal(99000), "sale")
    assert (reading.fields["city"], reading.fields["latitude"]) == ("Leeds", 53.8)
    assert reading.fields["property_type"] == "apartment", "a Residence is no house"
    assert reading.fields["posted_at"].date().isoformat() == "2026-01-31"


def test_an_offer_may_refer_to_the_home_by_its_id() -> None:
    home = dict(HOUSE, **{"@id": "#home"})
    del home["offers"]
    reading = read(
        json_ld(
            {
                "@graph": [
                    home,
                    {"@type": "Offer", "itemOffered": {"@id": "#home"}, "price": 5000, "priceCurrency": "EUR"},
                ]
            }
        )
    )
    assert (reading.price.amount, reading.price.currency) == (Decimal(5000), "EUR")


def test_microdata_and_rows_complete_each_other() -> None:
    reading = read(
        '<div itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">Mieszkanie na wynajem</h1>'
        '<div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><meta itemprop="price" content="1100.00">'
        '<meta itemprop="priceCurrency" content="PLN"></div></div>',
        rows({"Powierzchnia całkowita": "45 m2", "Liczba pokoi": "2", "Piętro": "2/4", "Rok budowy": "2009"}),
        lang="pl",
        url="https://homes.pl/1234567",
    )
    fields = reading.fields
    assert (reading.operation, reading.price.amount, reading.country) == ("rent", Decimal(1100), "PL")
    assert (fields["property_type"], fields["area_m2"], fields["rooms"]) == ("apartment", 45, 2)
    assert (fields["floor"], fields["floors_total"], fields["year_built"]) == (2, 4, 2009)
    assert (reading.sources["price"], reading.sources["rooms"]) == ("microdata", "rows")


def test_a_page_of_rows_alone_is_read() -> None:
    reading = read(
        "<h1>Helle Wohnung im Zentrum</h1><h2>35390 Gießen, Wohnung zum Kauf</h2>",
        rows({"Kaufpreis": "526.000 EUR", "Wohnfläche ca.": "150 m²", "Zimmer": "4", "Energieeffizienzklasse": "D"}),
        lang="de",
        url="https://www.makler.de/expose/wohnung-50683",
    )
    fields = reading.fields
    assert (reading.operation, reading.price.amount, reading.price.currency) == ("sale", Decimal(526000), "EUR")
    assert (fields["city"], fields["postal_code"], fields["energy_class"]) == ("Gießen", "35390", "D")


def test_the_price_of_the_heading_is_read_where_nothing_else_has_it() -> None:
    reading = read(
        '<h1>3 bedroom house for sale</h1><div class="price"><b>3,600,000</b> <i>€</i></div>',
        "<p>4 bathrooms</p><h2>Similar homes</h2><div class=price>1,000 €</div>",
    )
    assert (reading.price.amount, reading.price.currency) == (Decimal(3600000), "EUR")


# ----- what a field means


@pytest.mark.parametrize(
    ("node", "body", "url", "operation"),
    [
        (
            {"category": "for rent", "offers": {"businessFunction": "http://purl.org/goodrelations/v1#Sell"}},
            "",
            URL,
            "rent",
        ),
        ({"potentialAction": {"@type": "RentAction"}}, "", URL, "rent"),
        ({"@type": ["House", "BuyAction"]}, "", URL, "sale"),
        ({"offers": {"businessFunction": "http://purl.org/goodrelations/v1#LeaseOut"}}, "", URL, "rent"),
        ({}, "", "https://homes.example.net/satilik/ev-1234567", "sale"),
        ({}, "<nav class=breadcrumbs><a>Home</a><a>For sale</a></nav>", URL, "sale"),
        ({}, "<h1>House to rent</h1>", "https://homes.example.net/sale/1234567", None),
        ({}, "", URL, None),
    ],
)
def test_the_operation(node: dict[str, Any], body: str, url: str, operation: str | None) -> None:
    reading = read(json_ld(HOUSE | node), body, url=url)
    assert reading.operation == operation


def test_a_title_and_an_address_that_differ_are_flagged() -> None:
    reading = read(json_ld(HOUSE), "<h1>House to rent</h1>", url="https://homes.example.net/sale/1234567")
    assert "operation_unclear" in reading.flags


@pytest.mark.parametrize(
    ("size", "m2"),
    [
        ({"value": 1000, "unitCode": "FTK"}, pytest.approx(92.903, abs=0.001)),
        ({"value": "85", "unitCode": "MTK"}, 85),
        ({"value": "85 m²"}, 85),
        ({"value": 85}, None),
        (85, None),
        ("85", None),
    ],
)
def test_a_size_without_a_unit_is_no_size(size: Any, m2: Any) -> None:
    assert read(json_ld(HOUSE | {"floorSize": size})).fields.get("area_m2") == m2


def test_land_has_no_living_area() -> None:
    reading = read(json_ld(HOUSE | {"@type": "Place", "name": "Building plot for sale"}))
    assert reading.fields["property_type"] == "land"
    assert (reading.fields["plot_m2"], reading.fields.get("area_m2")) == (120, None)


def test_sizes_that_differ_are_left_out_with_a_flag() -> None:
    reading = read(json_ld(HOUSE), rows({"Living area": "90 m²"}))
    assert "area_m2" not in reading.fields
    assert "area_m2_unclear" in reading.flags
    assert read(json_ld(HOUSE), rows({"Living area": "121 m²"})).fields["area_m2"] == 120


def test_three_plus_one_is_four_rooms() -> None:
    reading = read(json_ld(HOUSE | {"numberOfRooms": "3+1", "numberOfBedrooms": "3"}), lang="tr")
    assert (reading.fields["rooms"], reading.fields["bedrooms"]) == (4, 3)


@pytest.mark.parametrize(
    ("types", "title", "kind", "is_assumed"),
    [
        ("SingleFamilyResidence", "Flat in town", "apartment", False),
        ("SingleFamilyResidence", "Lovely place", "house", False),
        ("Residence", "Lovely place", "other", True),
        ("Apartment", "Lovely place", "apartment", False),
        ("Product", "3-Zimmer-Wohnung", "apartment", False),
    ],
)
def test_the_property_type(types: str, title: str, kind: str, is_assumed: bool) -> None:
    reading = read(json_ld(HOUSE | {"@type": types, "name": title}))
    assert reading.fields["property_type"] == kind
    assert ("property_type_assumed" in reading.flags) is is_assumed


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("Old mill | Homes.example", "Old mill"),
        ("Old mill — homes", "Old mill"),
        ("Old mill - garden", "Old mill - garden"),
        ("Homes", None),
    ],
)
def test_a_title_has_no_name_of_the_site(heading: str, title: str | None) -> None:
    node = dict(HOUSE, name=heading)
    reading = read(json_ld(node), head="<title>House for sale | homes.example.net</title>")
    assert reading.fields["title"] == (title or "House for sale")


@pytest.mark.parametrize(
    ("locality", "fields"),
    [
        ("40235 Düsseldorf - Flingern", {"city": "Düsseldorf", "district": "Flingern", "postal_code": "40235"}),
        ("00-950 Warszawa", {"city": "Warszawa", "postal_code": "00-950"}),
        ("Oakville, Green Bowl", {}),
    ],
)
def test_a_city_has_no_postal_code(locality: str, fields: dict[str, str]) -> None:
    found = read(json_ld(HOUSE | {"address": {"addressLocality": locality}})).fields
    assert {name: found[name] for name in ("city", "district", "postal_code") if name in found} == fields


@pytest.mark.parametrize(
    ("country", "url", "lang", "expected"),
    [
        ("Spain", "https://homes.pl/1234567", "pl", "ES"),
        ({"name": "Polska"}, "https://homes.com/1234567", "pl", "PL"),
        (None, "https://homes.co.uk/1234567", "en", "GB"),
        (None, "https://homes.com/1234567", "en-ZA", "ZA"),
        (None, "https://homes.com/1234567", "en-US", None),
        (None, "https://homes.io/1234567", "en", None),
    ],
)
def test_the_country_of_the_page_comes_before_that_of_the_host(
    country: Any, url: str, lang: str, expected: str | None
) -> None:
    reading = read(json_ld(HOUSE | {"address": {"addressCountry": country}}), url=url, lang=lang)
    assert reading.country == expected


@pytest.mark.parametrize(
    ("seller", "agency"),
    [
        ({"@type": "RealEstateAgent", "name": "Green Homes Ltd"}, "Green Homes Ltd"),
        (
            {"@type": "RealEstateAgent", "name": "Ann Example", "worksFor": {"@type": "Organization", "name": "Green"}},
            "Green",
        ),
        ({"@type": "RealEstateAgent", "name": "Ann Example"}, None),
    ],
)
def test_an_agents_own_name_is_not_the_agencys(seller: dict[str, Any], agency: str | None) -> None:
    fields = read(json_ld(HOUSE | {"seller": seller})).fields
    assert (fields["seller_type"], fields.get("agency_name")) == ("agency", agency)


def test_a_person_is_no_agency() -> None:
    fields = read(json_ld(HOUSE | {"seller": {"@type": "Person", "name": "Ann Example"}})).fields
    assert "seller_type" not in fields
    assert "agency_name" not in fields


@pytest.mark.parametrize(
    ("seller", "agency"),
    [
        ({"name": "Anna"}, None),
        ({"name": "анна"}, None),
        ({"name": "Anna Example"}, None),
        ({"name": "Anna", "logo": "https://homes.example/logo.png"}, "Anna"),
        ({"name": "HOMEFINDER"}, "HOMEFINDER"),
        ({"name": "Green Homes Ltd"}, "Green Homes Ltd"),
    ],
)
def test_an_organization_may_be_a_person(seller: dict[str, Any], agency: str | None) -> None:
    fields = read(json_ld(HOUSE | {"seller": {"@type": "Organization", **seller}})).fields
    assert fields.get("agency_name") == agency
    assert fields.get("seller_type") == ("agency" if agency else None)


def test_charges_near_the_heading_are_no_price() -> None:
    home = {"@type": "Apartment", "numberOfBedrooms": 3, "address": {"addressLocality": "x", "addressCountry": "CL"}}
    body = '<h1>Departamento en venta</h1><p><b>UF</b> <b>8.500</b></p><p class="price">$ 120.000 gastos comunes</p>'
    assert read(json_ld(home), body, lang="es").price.amount is None
    body = '<h1>Departamento en venta</h1><p class="price">$ 90.000.000</p><p>$ 120.000 gastos comunes</p>'
    assert read(json_ld(home), body, lang="es").price.amount == 90_000_000


def test_a_title_with_a_size_is_not_a_row() -> None:
    home = {"@type": "Product", "name": "Satılık arsa", "offers": {"price": 90000, "priceCurrency": "GBP"}}
    texts = rows({"Emlak Tipi": "Arsa", "Metrekare": "4172 m²"})
    body = f"<h1>Satılık arsa</h1>{texts}<p>House For Sale 3 Acres Parcel 96 Land</p>"
    assert read(json_ld(home), body, lang="tr").fields["plot_m2"] == 4172


@pytest.mark.parametrize("shared", ["article", "website", "home page"])
def test_an_og_url_that_is_no_address_is_ignored(shared: str) -> None:
    document = Document(page(head=meta(og_url=shared)), URL)
    assert document.addresses == [URL]


def test_the_text_below_the_heading_names_the_operation() -> None:
    body = "<h1>Departamento 3D 2B</h1><p>Departamento en venta</p>"
    assert read(json_ld(HOUSE), body, lang="es").operation == "sale"
    body = "<h1>Departamento 3D 2B</h1><p>Departamentos en venta</p>"
    assert read(json_ld(HOUSE), body, lang="es").operation is None


def test_the_city_below_the_label_of_an_address_counts_if_a_title_names_it() -> None:
    home = HOUSE | {"address": {"addressCountry": "DE"}}
    body = "<p>Text.</p>" * 30 + "<p>Adresse</p><p>Beispielweg 1</p><p>12345 Musterstadt Nord</p>"
    named = read(json_ld(home), f"<h1>Wohnung in Musterstadt-Nord</h1>{body}", lang="de").fields
    assert named["city"] == "Musterstadt"
    assert "city" not in read(json_ld(home), f"<h1>Wohnung mit Balkon</h1>{body}", lang="de").fields


def test_a_range_of_prices_is_not_a_price() -> None:
    offers = {"@type": "AggregateOffer", "lowPrice": 100000, "highPrice": 120000, "priceCurrency": "EUR"}
    assert read(json_ld(HOUSE | {"offers": offers})).price.amount is None


def test_the_point_that_most_objects_have_is_the_homes() -> None:
    objects = next_data({"map": {"latitude": 53.8, "longitude": -1.5}, "view": {"lat": 53.8, "lng": -1.5, "zoom": 3}})
    assert read(json_ld(HOUSE), objects).fields["latitude"] == 53.8
    two = next_data({"map": {"latitude": 53.8, "longitude": -1.5}, "view": {"lat": 51.1, "lng": 0.2}})
    assert "latitude" not in read(json_ld(HOUSE), two).fields


def test_a_sold_home_is_gone() -> None:
    assert read(json_ld(HOUSE | {"offers": {"availability": "https://schema.org/SoldOut"}})).is_gone


@pytest.mark.parametrize(("charges", "expected"), [("£40", Decimal(40)), ("₺850", None), ("850", None)])
def test_charges_in_another_currency_than_the_price_are_left_out(charges: str, expected: Decimal | None) -> None:
    reading = read(json_ld(HOUSE), rows({"Aidat": charges, "Oda Sayısı": "4+1"}), lang="tr")
    assert reading.price.currency == "GBP"
    assert reading.fields.get("charges") == expected
    assert reading.fields["rooms"] == 5


def test_a_price_in_a_title_is_not_a_postal_code() -> None:
    title = "Wynajmę dom: Warszawa Bielany, 720 m2, 13500 PLN - Domiporta.pl"
    reading = read(f"<h1>{title}</h1>", json_ld(HOUSE), lang="pl")
    assert "postal_code" not in reading.fields
    title = "Wynajmę dom, 55-571 Warszawa, 720 m2"
    assert read(f"<h1>{title}</h1>", json_ld(HOUSE), lang="pl").fields["postal_code"] == "55-571"


def test_the_state_of_a_home_is_not_its_region() -> None:
    reading = read(json_ld(HOUSE), rows({"Estado": "Segunda mão/bom estado", "Distrito": "Lisboa"}), lang="pt")
    assert reading.fields["region"] == "Lisboa"
    assert "region" not in read(json_ld(HOUSE), rows({"Estado": "Usado", "Quartos": "3"}), lang="pt").fields


def test_a_price_may_be_called_the_primary_price() -> None:
    home = {
        "id": "1234567",
        "bedrooms": 2,
        "bathrooms": 1,
        "propertyType": "Flat",
        "prices": {"primaryPrice": "£105,000", "secondaryPrice": None},
        "location": {"latitude": 51.7, "longitude": -1.2},
    }
    reading = read("<h1>2 bedroom flat for sale</h1>", next_data({"propertyData": home}))
    assert reading.price.amount == 105_000
    assert reading.price.currency == "GBP"

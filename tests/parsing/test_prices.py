from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as some

from realestate.parsing import prices
from realestate.parsing.prices import Period, Price, Span


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("245 000", 245000),
        ("245 000 AZN", 245000),
        ("245\u00a0000", 245000),
        ("600 AZN / ay", 600),
        ("80 AZN / gün", 80),
    ],
)
def test_reads_an_amount(text: str, amount: int) -> None:
    assert prices.parse(text, "AZN") == Price(Decimal(amount), "AZN", "total", prices.period(text))


@pytest.mark.parametrize(
    ("text", "amount", "currency", "period"),
    [
        ("158 000", 158000, "EUR", None),
        ("158\u00a0000 AZN", 158000, "AZN", None),
        ("158\u2009000 ₼", 158000, "AZN", None),
        ("158\u202f000 man.", 158000, "AZN", None),
        ("€ 239.000", 239000, "EUR", None),
        ("€749,000", 749000, "EUR", None),
        ("2.300 €", 2300, "EUR", None),
        ("1.300,- €", 1300, "EUR", None),
        ("EUR1,300", 1300, "EUR", None),
        ("1300EUR", 1300, "EUR", None),
        ("£1,300 pcm", 1300, "GBP", "month"),
        ("£1,300 PCM", 1300, "GBP", "month"),
        ("£1,300pcm", 1300, "GBP", "month"),
        ("£1,300 pcm (£300 pw)", 1300, "GBP", "month"),
        ("£300 pw", 300, "GBP", "week"),
        ("£20,000 p.a.", 20000, "GBP", "year"),
        ("€2,100 per month", 2100, "EUR", "month"),
        ("€ 1.250 p/m", 1250, "EUR", "month"),
        ("€1 500/mois", 1500, "EUR", "month"),
        ("700 € / Monat", 700, "EUR", "month"),
        ("3 500 zł/mc", 3500, "PLN", "month"),
        ("749 000 zł", 749000, "PLN", None),
        ("749 000 PLN", 749000, "PLN", None),
        ("600 AZN / ay", 600, "AZN", "month"),
        ("1 200 AZN AYLIQ", 1200, "AZN", "month"),
        ("80 AZN/gün", 80, "AZN", "day"),
        ("7 000 AZN / il", 7000, "AZN", "year"),
        ("R 1 250 000", 1250000, "ZAR", None),
        ("R1,250,000", 1250000, "ZAR", None),
        ("R12 500 per month", 12500, "ZAR", "month"),
        ("US$ 1,200", 1200, "USD", None),
        ("$ 144 117.00", 144117, "USD", None),
        ("Guide price £300,000", 300000, "GBP", None),
        ("3 otaq, 245 000 AZN", 245000, "AZN", None),
        ("Nəsimi r. 600 AZN", 600, "AZN", None),
        ("Qiymət: 245 000 AZN (1 m² - 2 500 AZN)", 245000, "AZN", None),
    ],
)
def test_reads_amount_currency_and_period(text: str, amount: int, currency: str, period: Period | None) -> None:
    assert prices.parse(text, "EUR") == Price(Decimal(amount), currency, "total", period)


def test_of_two_currencies_the_portals_own_counts() -> None:
    both = "$ 144 117.00 245 000 AZN"
    assert prices.parse(both, "AZN") == Price(Decimal(245000), "AZN", "total")
    assert prices.parse(both, "USD") == Price(Decimal("144117.00"), "USD", "total")
    assert prices.parse("$500", "AUD").currency == "AUD"


@pytest.mark.parametrize(
    ("text", "amount", "charges", "period"),
    [
        ("1700€ + 125€ per month", 1700, 125, "month"),
        ("€ 940 (+ € 20)", 940, 20, None),
        ("€ 940 + 20 € charges / mois", 940, 20, "month"),
    ],
)
def test_charges_are_not_part_of_the_amount(text: str, amount: int, charges: int, period: Period | None) -> None:
    assert prices.parse(text, "EUR") == Price(Decimal(amount), "EUR", "total", period, Decimal(charges))


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("2 500 AZN/m²", "2500"),
        ("2 500 AZN / m2", "2500"),
        ("2 500 AZN per m²", "2500"),
        ("5 000 AZN/sot", "50"),
        ("£400 per sq ft", "4305.56"),
    ],
)
def test_a_price_per_area_becomes_a_price_per_square_metre(text: str, amount: str) -> None:
    price = prices.parse(text, "AZN")
    assert (price.amount, price.basis) == (Decimal(amount), "per_m2")


@pytest.mark.parametrize(
    ("text", "lowest", "highest"),
    [
        ("€200,000 - €300,000", 200000, 300000),
        ("200.000 – 300.000 €", 200000, 300000),
        ("€ 200.000 tot 300.000", 200000, 300000),
        ("100-200 €", 100, 200),
        ("from €250,000", 250000, None),
        ("ab 250.000 €", 250000, None),
    ],
)
def test_a_range_is_not_a_price(text: str, lowest: int, highest: int | None) -> None:
    span = Span(Decimal(lowest), None if highest is None else Decimal(highest), "EUR")
    assert prices.parse(text, "EUR") == Price(basis="on_request", span=span)


@pytest.mark.parametrize(
    "text",
    [
        "Razılaşma ilə",
        "razılaşma  İLƏ",
        "RAZILAŞMA İLƏ",
        "POA",
        "Price on request",
        "PRICE ON REQUEST",
        "RAZILAŞMA YOLU İLƏ",
        "Prix sur demande",
        "Preis auf Anfrage",
        "prijs 0",
        "0 €",
        "0",
    ],
)
def test_a_price_on_request_has_no_amount_and_no_currency(text: str) -> None:
    assert prices.parse(text, "AZN") == Price(None, None, "on_request")


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "bilinmir",
        "€1.7K",
        "€ 1.7 K",
        "1.7K€",
        "£1.2m",
        "£1.2 million",
        "1,2 Mio. €",
        "350 min AZN",
        "-5 AZN",
        "€250,000 €275,000",
        "28.08.2026",
        "€ " + "9" * 30,
        "12abc",
        "131 m²",
    ],
)
def test_a_text_without_a_price_gives_an_empty_price(text: str | None) -> None:
    assert prices.parse(text, "EUR") == Price()


def test_a_number_in_json_is_the_price_and_null_is_on_request() -> None:
    assert prices.of(749000, "EUR") == Price(Decimal(749000), "EUR", "total")
    assert prices.of(940.5, "EUR").amount == Decimal("940.5")
    assert prices.of("749.000", "EUR", "month") == Price(Decimal(749000), "EUR", "total", "month")
    assert (
        prices.of(float("inf"), "EUR") == prices.of("x", "EUR") == prices.of(True, "EUR") == Price(basis="on_request")
    )
    assert prices.of(None, "EUR") == prices.of(0, "EUR") == prices.of(-1, "EUR") == Price(basis="on_request")


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("600 AZN / ay", "month"),
        ("80 AZN / gün", "day"),
        ("80 AZN/gün", "day"),
        ("£300 pw", "week"),
        ("245 000 AZN", None),
        ("pwllheli", None),
        ("2 ayrı otaq", None),
        (None, None),
    ],
)
def test_reads_the_period_from_the_words_beside_a_rent(text: str | None, period: str | None) -> None:
    assert prices.period(text) == period


@given(
    amount=some.integers(1, 10**10),
    thousands=some.sampled_from([" ", "\u00a0", "\u202f", "\u2009", ",", ".", ""]),
    currency=some.sampled_from(
        [("€", "EUR"), ("AZN", "AZN"), ("₼", "AZN"), ("£", "GBP"), ("zł", "PLN"), ("man.", "AZN")]
    ),
    before=some.booleans(),
    period=some.sampled_from([("", None), (" / ay", "month"), (" pw", "week"), ("/gün", "day"), (" p.a.", "year")]),
)
def test_a_price_is_read_as_it_was_written(
    amount: int, thousands: str, currency: tuple[str, str], before: bool, period: tuple[str, Period | None]
) -> None:
    digits = f"{amount:,}".replace(",", thousands)
    written = f"{currency[0]} {digits}" if before else f"{digits} {currency[0]}"
    assert prices.parse(written + period[0], "EUR") == Price(Decimal(amount), currency[1], "total", period[1])


@given(some.text(alphabet="0123456789 .,-+/€$£₼Rkm²AZNpcwy()ləı\u00a0"))
def test_any_text_gives_a_valid_price(text: str) -> None:
    price = prices.parse(text, "EUR")
    assert price.amount is None or price.amount > 0
    assert (price.amount is None) is (price.currency is None)
    assert (price.amount is None) is (price.basis in (None, "on_request"))

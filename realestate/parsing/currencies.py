"""Currencies as people write them, to ISO 4217 codes."""

import re

#: A longer text is not a price.
_LONGEST = 500

_CODES = "AZN EUR USD GBP PLN ZAR CHF CZK HUF RON SEK NOK DKK TRY GEL RUB UAH KGS KZT AED CAD AUD NZD RSD BGN"
#: Codes that are known in data, and in texts only in capitals: "all", "cop" and "mad" are words.
_CAPITALS = (
    "BRL MXN INR ILS SGD HKD CLP COP ARS PEN UYU SAR QAR OMR BHD KWD JOD EGP MAD TND THB VND IDR MYR PHP JPY KRW CNY"
    " ISK ALL BAM MKD MDL AMD UZS NGN KES GHS PKR LKR BDT NAD BWP TWD"
)
#: The ISO 4217 code for "no currency".
NONE = "XXX"
#: In lower case, with one form of i. Signs that several currencies share are in _SHARED.
_WRITTEN = {
    "€": "EUR",
    "euro": "EUR",
    "euros": "EUR",
    "£": "GBP",
    "us$": "USD",
    "₼": "AZN",
    "manat": "AZN",
    "man": "AZN",
    "zł": "PLN",
    "zl": "PLN",
    "kč": "CZK",
    "ft": "HUF",
    "lei": "RON",
    "₺": "TRY",
    "tl": "TRY",
    "₾": "GEL",
    "₽": "RUB",
    "руб": "RUB",
    "₴": "UAH",
    "сом": "KGS",
    "₸": "KZT",
    "r": "ZAR",
    "r$": "BRL",
    "₹": "INR",
    "₪": "ILS",
    "mx$": "MXN",
    "c$": "CAD",
    "a$": "AUD",
    "dhs": "AED",
    "лв": "BGN",
    "тг": "KZT",
    "тенге": "KZT",
    "грн": "UAH",
    "₫": "VND",
    "฿": "THB",
} | {code.lower(): code for code in _CODES.split()}
_WORDS = tuple(_WRITTEN)
_WRITTEN |= {code.lower(): code for code in _CAPITALS.split()}
_SHARED = {
    "$": ("USD", "CAD", "AUD", "NZD", "MXN", "CLP", "COP", "ARS", "SGD", "HKD", "UYU", "TWD", "NAD"),
    "kr": ("SEK", "NOK", "DKK", "ISK"),
    "fr": ("CHF",),
}
#: A pattern for all of them. The rand's R must be a capital right before digits: "r." is also short for a district.
WRITTEN = (
    r"(?:us\$|mx\$|(?<![^\W\d_])(?:r|c|a)\$|[€£$₼₺₾₽₴₸₹₪₫฿]|(?-i:(?<![^\W_])R(?=[ \u00a0]?\d))|(?<![^\W\d_])(?:"
    + "|".join(sorted((each for each in {*_WORDS, *_SHARED} if len(each) > 1 and each.isalpha()), key=len)[::-1])
    + r")(?![^\W\d_])\.?|(?-i:(?<![^\W\d_])(?:"
    + "|".join(_CAPITALS.split())
    + r")(?![^\W\d_])))"
)


def code(text: str | None, home: str | None = None) -> str | None:
    """Return the ISO code: "₼", "man." and "azn" are AZN.

    A sign that several currencies share ("$", "kr") is `home`, the portal's own, if that is one of them; otherwise the
    most common one.
    """
    written = (text or "").strip().lower().removesuffix(".")
    if written in _SHARED:
        return home if home in _SHARED[written] else _SHARED[written][0]
    return _WRITTEN.get(written)


#: The currency of each country, for signs that several currencies share. The euro's countries are together.
_EURO = "AD AT BE CY DE EE ES FI FR GR HR IE IT LT LU LV MC ME MT NL PT SI SK SM XK"
_OF_COUNTRY = dict.fromkeys(_EURO.split(), "EUR") | {
    "US": "USD", "CA": "CAD", "AU": "AUD", "NZ": "NZD", "MX": "MXN", "CL": "CLP", "CO": "COP", "AR": "ARS", "SG": "SGD",
    "HK": "HKD", "UY": "UYU", "TW": "TWD", "NA": "NAD", "SE": "SEK", "NO": "NOK", "DK": "DKK", "IS": "ISK", "GB": "GBP",
    "PL": "PLN", "CZ": "CZK", "HU": "HUF", "RO": "RON", "BG": "BGN", "CH": "CHF", "LI": "CHF", "TR": "TRY", "ZA": "ZAR",
    "BR": "BRL", "IN": "INR", "AE": "AED", "RU": "RUB", "UA": "UAH", "KZ": "KZT", "AZ": "AZN", "GE": "GEL", "KG": "KGS",
    "RS": "RSD", "IL": "ILS", "TH": "THB", "VN": "VND",
}  # fmt: skip
_IS_WRITTEN = re.compile(WRITTEN, re.IGNORECASE)
_IS_SHARED = re.compile(r"(?<![A-Za-z])\$|(?<![^\W\d_])kr(?![^\W\d_])", re.IGNORECASE)


def of_country(country: str | None) -> str | None:
    """Return the currency of a country, by its ISO 3166-1 code."""
    return _OF_COUNTRY.get(country or "")


def is_written(text: str) -> bool:
    """Return whether a short text names a currency."""
    return len(text) <= _LONGEST and _IS_WRITTEN.search(text) is not None


def is_shared(text: str) -> bool:
    """Return whether the sign in a short text is one that several currencies share: "$", "kr"."""
    return len(text) <= _LONGEST and _IS_SHARED.search(text) is not None

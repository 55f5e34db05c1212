"""Currencies as people write them, to ISO 4217 codes."""

_CODES = "AZN EUR USD GBP PLN ZAR CHF CZK HUF RON SEK NOK DKK TRY GEL RUB UAH KGS KZT AED CAD AUD NZD RSD BGN"
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
} | {code.lower(): code for code in _CODES.split()}
_SHARED = {
    "$": ("USD", "CAD", "AUD", "NZD"),
    "kr": ("SEK", "NOK", "DKK"),
    "fr": ("CHF",),
}
#: A pattern for all of them. The rand's R must be a capital right before digits: "r." is also short for a district.
WRITTEN = (
    r"(?:us\$|[€£$₼₺₾₽₴₸]|(?-i:(?<![^\W_])R(?=[ \u00a0]?\d))|(?<![^\W\d_])(?:"
    + "|".join(sorted((each for each in {*_WRITTEN, *_SHARED} if len(each) > 1 and each.isalpha()), key=len)[::-1])
    + r")(?![^\W\d_])\.?)"
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

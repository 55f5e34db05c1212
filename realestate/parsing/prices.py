"""Prices: amount, currency, rent period and charges; or the statement that the price is on request.

The library price-parser reads one amount of a text. It returns 1.7 for "€1.7K", the lower end for a range, and does not
see that a price is per square metre. It is also slower.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, NamedTuple

from realestate.parsing import currencies, numbers
from realestate.parsing.areas import UNIT
from realestate.parsing.areas import of as area_of
from realestate.parsing.periods import Period
from realestate.parsing.periods import parse as period
from realestate.parsing.text import plain

__all__ = ["Basis", "Period", "Price", "Span", "of", "parse", "period"]

Basis = Literal["total", "per_m2", "on_request"]

_ON_REQUEST = re.compile(
    r"raz[iı]laşma|\bpoa\b|p\.o\.a|on (?:request|application|enquiry)|upon request|op aanvraag|sur demande|auf anfrage"
    r"|cena do uzgodnienia|zapytaj o cenę|\bn\.?o\.?t\.?k\.?\b|договорная"
)
_SHORT = (
    r"(?:k|m|mln|mio|mill?ion\w{0,2}|mlrd|mrd|bn|min|tys|tis|thousand|mille|duizend|tausend|тыс|млн)(?![^\W\d_]|[2²^<])"
)
_AMOUNT = re.compile(
    rf"""(?:(?P<before>{currencies.WRITTEN})[ :]{{0,2}}|(?<![\w.,]))(?P<digits>{numbers.DIGITS})
    (?:[.,][-–—]{{1,2}})?+(?P<short>\ ?{_SHORT}|[.,]\d)?+
    (?(before)|(?:\ {{0,2}}(?P<after>{currencies.WRITTEN}))?+)""",
    re.VERBOSE | re.IGNORECASE,
)
#: An amount and its currency, and nothing else: most prices.
_ONLY_AMOUNT = re.compile(
    rf"(?P<before>{currencies.WRITTEN})? ?(?P<digits>{numbers.DIGITS})(?: ?(?P<after>{currencies.WRITTEN}))?",
    re.IGNORECASE,
)
#: "1 700 AZN/m²", "per sq ft"; "1 m² - 1 700 AZN".
_PER_AREA = re.compile(rf" ?(?:/|per |pro |par |za |a |/ )(?:1 )?({UNIT})", re.IGNORECASE)
_AREA_BEFORE = re.compile(rf"(?<![^\W\d_])({UNIT}) ?(?:üçün|qiyməti|price)? ?[-–:=]? ?$", re.IGNORECASE)
_UNIT_AFTER = re.compile(rf" ?{UNIT}", re.IGNORECASE)
_ADDED = re.compile(r"\+|\bplus\b|\bzzgl\b|charges", re.IGNORECASE)
_TO = re.compile(r"\W*(?:[-–—]|to|and|bis|und|do|à|et|tot|en|t/m|ilə|və)\W*", re.IGNORECASE)
_FROM = re.compile(r"(?<![^\W\d_])(?:from|ab|vanaf|à partir de|dès|od|starting at|min\.?|başlayan)\W*$", re.IGNORECASE)


#: A longer text is not a price.
_LONGEST = 500


class Span(NamedTuple):
    """A range of prices, for the homes of a project. `highest` is None if the range is open."""

    lowest: Decimal
    highest: Decimal | None
    currency: str


@dataclass(frozen=True, slots=True)
class Price:
    """A price. `currency` is None without an amount."""

    amount: Decimal | None = None
    currency: str | None = None
    basis: Basis | None = None
    period: Period | None = None
    """The rent period."""
    charges: Decimal | None = None
    """Charges for the same period that are not part of the amount."""
    span: Span | None = None
    """A range is not a price: the amount is None and the basis is on_request."""


class _Amount(NamedTuple):
    value: Decimal | None
    currency: str | None
    before: str
    """The text between the previous amount and this one."""
    after: str
    """The text between this amount and the next one."""
    is_unclear: bool


def of(amount: object, currency: str, period: Period | None = None) -> Price:
    """Return the price of a number in JSON. If it is missing or not above zero, the price is on request."""
    value = numbers.first(amount) if isinstance(amount, str) else amount
    if numbers.positive(value) is None:
        return Price(basis="on_request")
    return Price(Decimal(str(value)), currency, "total", period)


def from_json(value: object, currency: str) -> Price:
    """Return the price of a value in JSON: a number or a text."""
    return parse(value, currency) if isinstance(value, str) else of(value, currency)


def parse(text: str | None, currency: str) -> Price:
    """Return the price of a text. `currency` is the portal's own, for a text that names none or several.

    Empty if the text contains no price, or several and it is unclear which one counts.
    """
    words = " ".join((text or "").split()) if text and len(text) <= _LONGEST else ""
    if not words:
        return Price()
    only = _ONLY_AMOUNT.fullmatch(words)
    if only and not (only["before"] and only["after"]):
        named_currency = currencies.code(only["before"] or only["after"], currency)
        return _total(numbers.value(only["digits"]), named_currency or currency)
    if _ON_REQUEST.search(plain(words)):
        return Price(basis="on_request")
    amounts = _in_one_currency(_with_currency_of_range(list(_amounts(words, currency))), currency)
    if not amounts or any(each.is_unclear or each.value is None for each in amounts):
        return Price()
    amounts = [each for each in amounts if each.value]
    if not amounts:
        return Price(basis="on_request")
    return _range(amounts, currency) or _price(amounts, currency)


def _total(value: Decimal | None, currency: str) -> Price:
    if value is None:
        return Price()
    return Price(value, currency, "total") if value else Price(basis="on_request")


def _amounts(text: str, home: str) -> Iterator[_Amount]:
    found = list(_AMOUNT.finditer(text))
    ends = [0, *(each.end() for each in found)]
    starts = [*(each.start() for each in found), len(text)]
    for at, each in enumerate(found):
        before = text[ends[at] : each.start()]
        after = text[each.end() : starts[at + 1]]
        written = currencies.code(each["before"] or each["after"], home)
        is_glued = after[:1].isalpha() and period(after) is None
        is_negative = at == 0 and before.endswith("-")
        is_measure = written is None and bool(_UNIT_AFTER.match(after))
        is_unclear = bool(each["short"]) or is_glued or is_negative or is_measure
        yield _Amount(numbers.value(each["digits"]), written, before, after, is_unclear)


def _with_currency_of_range(amounts: list[_Amount]) -> list[_Amount]:
    """Give both ends of a range the same currency: in "100-200 €" both are in euros."""
    joined = list(amounts)
    for at in range(len(joined) - 1):
        one, other = joined[at : at + 2]
        if (one.currency is None) is not (other.currency is None) and _TO.fullmatch(one.after):
            currency = one.currency or other.currency
            joined[at : at + 2] = [one._replace(currency=currency), other._replace(currency=currency)]
    return joined


def _in_one_currency(amounts: list[_Amount], home: str) -> list[_Amount]:
    """Keep the amounts in the portal's currency, or else in the first one.

    A number without a currency counts only if no number has one: in "3 otaq, 245 000 AZN" the 3 is not a price.
    """
    named = [each for each in amounts if each.currency] or amounts
    first = next((each.currency for each in named if each.currency == home), named[0].currency if named else None)
    return [each for each in named if each.currency == first]


def _range(amounts: list[_Amount], home: str) -> Price | None:
    lowest = amounts[0]
    if len(amounts) > 1 and _TO.fullmatch(lowest.after) and lowest.value != amounts[1].value:
        highest = amounts[1].value
    elif _FROM.search(lowest.before):
        highest = None
    else:
        return None
    return Price(basis="on_request", span=Span(lowest.value or Decimal(0), highest, lowest.currency or home))


def _price(amounts: list[_Amount], home: str) -> Price:
    """Return the first amount, with the charges that are added to it.

    Other amounts may be the same price for another period or per square metre. If one is neither, the result is empty.
    """
    totals = [each for each in amounts if not _area_unit(each)]
    main, *others = totals or amounts
    charges = [each.value for each in others if _ADDED.search(each.before)]
    beside = (main.after, main.before, *(each.after for each in others))
    paid_for = next((found for text in beside if (found := period(text))), None)
    rivals = [each for each in others if not _ADDED.search(each.before) and each.value != main.value]
    if any(period(each.after) in (None, period(main.after)) for each in rivals):
        return Price()
    charge = charges[0] if len(charges) == 1 else None
    currency = main.currency or home
    if totals:
        return Price(main.value, currency, "total", paid_for, charge)
    return Price(_per_m2(main), currency, "per_m2", paid_for)


def _area_unit(amount: _Amount) -> str | None:
    found = _PER_AREA.match(amount.after) or _AREA_BEFORE.search(amount.before)
    return found[1] if found else None


def _per_m2(amount: _Amount) -> Decimal | None:
    """Return the price per square metre, rounded to cents, of a price per sot, hectare or square foot."""
    area = area_of(1, _area_unit(amount))
    if area is None or amount.value is None:
        return None
    return amount.value if area.m2 == 1 else (amount.value / Decimal(str(area.m2))).quantize(Decimal("0.01"))

"""Telephone numbers of the countries of our portals: digits to E.164.

The table is written by hand. We measured the library `phonenumbers` in its place (docs/privacy.md has the figures):

- Its search in text misses more than half of the telephones in tests/privacy (digits of other scripts, invisible
  characters, O for 0, unusual separators), and takes more than twenty times as long for a text without a contact.
- Its metadata in place of the patterns below reads some telephones wrongly and changes harmless texts. Numbers in use
  today are too narrow for us: a number from a block that opens tomorrow is somebody's telephone too.
- It cannot do the rest: numbers in words, disguises, the distinction from prices and dates, and the pre-check.

The tests use it as a second opinion: its example numbers and random numbers in use must be found.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """The numbers of one country."""

    code: str
    """The calling code; "" for an unknown country."""

    national: re.Pattern[str]
    """A number without the 0 that is dialled before it inside the country."""

    bare: re.Pattern[str]
    """Numbers that people write without that 0."""


def _plan(code: str, national: str, bare: str) -> Plan:
    return Plan(code, re.compile(national), re.compile(bare))


PLANS = {
    "AZ": _plan("994", r"[1-9]\d{8}", r"(?:10|12|18|40|5[015]|60|7[07]|99)\d{7}"),
    "BE": _plan("32", r"4[5-9]\d{7}|[1-9]\d{7}", r"4[5-9]\d{7}"),
    "GB": _plan("44", r"[1-9]\d{8,9}", r"7[1-9]\d{8}"),
    "IE": _plan("353", r"1\d{7}|8[35-9]\d{7}|[2-9]\d{7,8}", r"8[35-9]\d{7}"),
    "PL": _plan("48", r"[1-9]\d{8}", r"[1-9]\d{8}"),  # Poland has no 0 before a number
    "AT": _plan("43", r"1\d{7}|6\d{8,10}|[2-57-9]\d{7,10}", r"6[5-9]\d{8,9}"),
    "ZA": _plan("27", r"[1-9]\d{8}", r"[6-8]\d{8}"),
}
#: Countries with a plan, by ISO 3166-1 code.
COUNTRIES = frozenset(PLANS)
#: A home may be in any country.
UNKNOWN_COUNTRY = _plan("", r"[1-9]\d{7,9}", r"(?!)")
_NATIONAL_OF_ANY_COUNTRY = re.compile(r"0[1-9]\d{8,9}")
_INTERNATIONAL_OF_ANY_COUNTRY = re.compile(r"[1-9]\d{7,14}")


def plan_of(country: str) -> Plan:
    return PLANS.get(country, UNKNOWN_COUNTRY)


# The readers: each takes digits and the plan of the home's country, and returns the number, or None if the digits do
# not have this form. The seller's number may be of another country than the home.


def read_international(digits: str, home: Plan) -> str | None:
    """Digits after + or 00, of a country with a plan. The (0) that people write after the code is dropped."""
    return next(filter(None, (read_with_code(digits, plan) for plan in PLANS.values())), None)


def read_international_of_any_country(digits: str, home: Plan) -> str | None:
    """Digits after + or 00, of any country."""
    return f"+{digits}" if _INTERNATIONAL_OF_ANY_COUNTRY.fullmatch(digits) else None


def read_national(digits: str, home: Plan) -> str | None:
    """Digits as dialled inside the country, with the 0."""
    return _e164(digits[1:], home) if digits.startswith("0") else None


def read_national_of_any_country(digits: str, home: Plan) -> str | None:
    """Digits as dialled inside another country. Which one is unknown, so they are returned as they are."""
    return digits if _NATIONAL_OF_ANY_COUNTRY.fullmatch(digits) else None


def read_with_code(digits: str, home: Plan) -> str | None:
    """Digits that begin with the calling code, without +."""
    if not home.code or not digits.startswith(home.code):
        return None
    return _e164(digits[len(home.code) :].removeprefix("0"), home)


def read_bare(digits: str, home: Plan) -> str | None:
    """Digits without the 0, of a kind that people write without it."""
    return _e164(digits, home) if home.bare.fullmatch(digits) else None


def read_announced(digits: str, home: Plan) -> str | None:
    """Digits after a word for a telephone: without the 0, or a local number without area code, returned as it is."""
    return _e164(digits, home) or (digits if 7 <= len(digits) <= 10 else None)


def _e164(digits: str, plan: Plan) -> str | None:
    if not plan.national.fullmatch(digits):
        return None
    return f"+{plan.code}{digits}" if plan.code else f"0{digits}"

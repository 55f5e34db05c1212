"""How telephones are dialled in the countries of our portals: digits -> E.164.

Wider than the numbering plans in force: a number of a block opened tomorrow is somebody's telephone too.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """The numbers of one country."""

    code: str
    """Its calling code; "" where we know no country."""

    national: re.Pattern[str]
    """A number without the 0 that is dialled before it inside the country."""

    bare: re.Pattern[str]
    """Those that people write without that 0."""


def _plan(code: str, national: str, bare: str) -> Plan:
    return Plan(code, re.compile(national), re.compile(bare))


PLANS = {
    "AZ": _plan("994", r"[1-9]\d{8}", r"(?:10|12|18|40|5[015]|60|7[07]|99)\d{7}"),
    "BE": _plan("32", r"4[5-9]\d{7}|[1-9]\d{7}", r"4[5-9]\d{7}"),
    "GB": _plan("44", r"[1-9]\d{8,9}", r"7[1-9]\d{8}"),
    "IE": _plan("353", r"1\d{7}|8[35-9]\d{7}|[2-9]\d{7,8}", r"8[35-9]\d{7}"),
    "PL": _plan("48", r"[1-9]\d{8}", r"[1-9]\d{8}"),  # there is no 0 to leave out
    "AT": _plan("43", r"1\d{7}|6\d{8,10}|[2-57-9]\d{7,10}", r"6[5-9]\d{8,9}"),
    "ZA": _plan("27", r"[1-9]\d{8}", r"[6-8]\d{8}"),
}
#: A seller's telephone need not be of the home's country.
ELSEWHERE = _plan("", r"[1-9]\d{7,9}", r"(?!)")
_FOREIGN_AT_HOME = re.compile(r"0[1-9]\d{8,9}")
_FOREIGN = re.compile(r"[1-9]\d{7,14}")


def plan_of(country: str) -> Plan:
    return PLANS.get(country, ELSEWHERE)


def international(digits: str, home: Plan) -> str | None:
    """What follows + or 00, where we know the country's plan; the (0) that people put after the code is left out."""
    return next(filter(None, (with_code(digits, plan) for plan in PLANS.values())), None)


def foreign(digits: str, home: Plan) -> str | None:
    """What follows + or 00, whatever the country."""
    return f"+{digits}" if _FOREIGN.fullmatch(digits) else None


def at_home(digits: str, home: Plan) -> str | None:
    """As dialled inside the country, with its 0."""
    return _national(digits[1:], home) if digits.startswith("0") else None


def foreign_at_home(digits: str, home: Plan) -> str | None:
    """As dialled inside some other country; which one cannot be told."""
    return digits if _FOREIGN_AT_HOME.fullmatch(digits) else None


def with_code(digits: str, home: Plan) -> str | None:
    """The calling code without its +."""
    if not home.code or not digits.startswith(home.code):
        return None
    return _national(digits[len(home.code) :].removeprefix("0"), home)


def bare(digits: str, home: Plan) -> str | None:
    """Without the 0, of a kind that people write so."""
    return _national(digits, home) if home.bare.fullmatch(digits) else None


def announced(digits: str, home: Plan) -> str | None:
    """After the word for a telephone: without the 0, or a local number without its area, which stays as it is."""
    return _national(digits, home) or (digits if 7 <= len(digits) <= 10 else None)


def _national(digits: str, plan: Plan) -> str | None:
    if not plan.national.fullmatch(digits):
        return None
    return f"+{plan.code}{digits}" if plan.code else f"0{digits}"

"""Names of cities as pages write them: with a postal code, a district or a country."""

import re
from typing import Any

from realestate.parsing import currencies
from realestate.parsing.text import line

_POSTAL_CODE = re.compile(r"(?:[A-Z]{1,2}-)?\b(\d{2}-\d{3}|\d{4} ?[A-Z]{2}(?![a-z])|\d{4,6})\b")
_DISTRICT = re.compile(r"\s+[-–/]\s+|\s*\(")


def city(text: str | None) -> dict[str, Any]:
    """Return the city of a text; and the postal code or the district beside it. A list of places names no city."""
    whole = line(text)
    if whole is None or len(whole) > 80:
        return {}
    codes = _POSTAL_CODE.findall(whole)
    name = line(_POSTAL_CODE.sub("", whole, count=1)) if codes else whole
    name = (name or "").strip(" ,-/")
    if not name or "," in name or re.search(r"\d", name):
        return {}
    parts = _DISTRICT.split(name, maxsplit=1)
    found: dict[str, Any] = {"city": parts[0].strip()}
    if len(parts) > 1 and parts[1].strip(" )"):
        found["district"] = parts[1].strip(" )")
    if len(codes) == 1:
        found["postal_code"] = codes[0]
    return found


#: "35390 Gießen, …": a postal code and the city behind it, as most of Europe writes them.
_CODE_AND_CITY = re.compile(
    r"(?:^|\bin |[,(] ?)(?:[A-Z]{1,2}-)?(?P<code>\d{5}|\d{2}-\d{3}|\d{4}(?: ?[A-Z]{2})?)"
    r" (?P<city>[^\W\d_][^\d,;|()/:]{1,40}?)(?= ?(?:$|[,/(|–]| - | mit | zu | zur | zum | kaufen| mieten))"
)
_LANGUAGES = frozenset({"de", "fr", "it", "es", "nl", "pl", "da", "sv", "no", "fi", "cs", "sk"})
#: In these languages a city may have four digits; elsewhere four digits are a year or a house number.
_FOUR_DIGITS = frozenset({"AT", "CH", "BE", "NL", "DK", "NO", "LU", "HU"})
#: Addresses of states in titles: ", CA 94115".
_UNITED_STATES = re.compile(
    r", ?(?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]"
    r"|W[AIVY]) \d{5}\b"
)


def code_and_city(texts: list[str], language: str, country: str | None) -> dict[str, Any]:
    """Return the postal code and the city that the texts near the heading name, if they name exactly one."""
    if language not in _LANGUAGES:
        return {}
    found = {(each["code"], each["city"].strip()) for text in texts for each in _CODE_AND_CITY.finditer(text[:300])}
    fit = {
        (code, name)
        for code, name in found
        if (len(code) >= 5 or country in _FOUR_DIGITS) and name[:1].isupper() and not _is_currency(name)
    }
    if len({code for code, _ in fit}) != 1:
        return {}
    code, name = min(fit, key=lambda each: len(each[1]))
    return {"postal_code": code, **{key: value for key, value in city(name).items() if key == "city"}}


def _is_currency(name: str) -> bool:
    """Whether the number before the name is an amount: "13500 PLN - example.pl"."""
    return currencies.code(name.split(maxsplit=1)[0]) is not None


def is_in_united_states(texts: list[str]) -> bool:
    """Return whether a title has an address with a state's code and its postal code."""
    return any(_UNITED_STATES.search(each[:300]) for each in texts)

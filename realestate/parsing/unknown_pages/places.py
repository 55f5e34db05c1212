"""Names of cities as pages write them: with a postal code, a district or a country."""

import re
from typing import Any

from realestate.parsing import currencies
from realestate.parsing.text import line
from realestate.parsing.unknown_pages import cities

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
_STATE = (
    r"(?P<state>A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT"
    r"|V[AT]|W[AIVY])"
)
#: "350 N Forest #20, Casper, WY 82609". The street may stand elsewhere.
_UNITED_STATES = re.compile(
    r"(?:^|(?<![\d.,])(?P<street>\d[^,]{2,60}), ?|, ?)"
    rf"(?P<city>[^\W\d_][^\d,;|()/:#]{{1,40}}), ?{_STATE} (?P<code>\d{{5}})(?!\d)"
)


#: "…, Berlin (10178)": a city and the postal code behind it.
_CITY_AND_CODE = re.compile(r"(?:^|, ?|\b(?:in|à|a|en) )(?P<city>[^\W\d_][^\d,;|()/:]{1,30}?) \((?P<code>\d{5})\)")


def code_and_city(texts: list[str], language: str, country: str | None) -> dict[str, Any]:
    """Return the postal code and the city that the texts near the heading name, if they name exactly one."""
    if language not in _LANGUAGES:
        return {}
    patterns = (_CODE_AND_CITY, _CITY_AND_CODE)
    found = {
        (each["code"], each["city"].strip())
        for text in texts
        for pattern in patterns
        for each in pattern.finditer(text[:300])
    }
    fit = {
        (code, name)
        for code, name in found
        if (len(code) >= 5 or country in _FOUR_DIGITS) and name[:1].isupper() and not _is_currency(name)
    }
    if len({code for code, _ in fit}) != 1:
        return {}
    code, name = min(fit, key=lambda each: len(each[1]))
    found_city = city(_without_district(name, country)).get("city")
    return {"postal_code": code, **({"city": found_city} if found_city else {})}


def _without_district(name: str, country: str | None) -> str:
    """ "Düsseldorf Derendorf" begins with the name of a large city: the rest is its district."""
    parts = name.split()
    beginnings = [" ".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return next((each for each in beginnings if cities.is_city(each, country)), name)


#: "40477 Düsseldorf Derendorf", below the label "Adresse".
_LINE = re.compile(r"(?:\d{5}|\d{2}-\d{3}) (?P<city>[^\W\d_][^\d,;|()/:]{1,40})")


def city_below_label(texts: list[str], titles: list[str]) -> dict[str, Any]:
    """Return the city in the lines of an address, if a title names it too: the address may be the agency's."""
    found = [each["city"].split() for text in texts if (each := _LINE.fullmatch(text))]
    named = [set(re.split(r"[\s,-]+", title)) for title in titles]
    names = {parts[0] for parts in found if any(parts[0] in each for each in named)}
    return {"city": names.pop()} if len(names) == 1 else {}


def _is_currency(name: str) -> bool:
    """Whether the number before the name is an amount: "13500 PLN - example.pl"."""
    return currencies.code(name.split(maxsplit=1)[0]) is not None


def in_united_states(texts: list[str]) -> dict[str, Any]:
    """Return the address of texts that end with a state and its postal code, if they name one postal code."""
    found = [each for text in texts if (each := _UNITED_STATES.search(text[:300]))]
    if len({each["code"] for each in found}) != 1:
        return {}
    streets = [each["street"].strip() for each in found if each["street"]]
    known = {"city": found[0]["city"].strip(), "region": found[0]["state"], "postal_code": found[0]["code"]}
    return {**known, "country": "US", **({"street": streets[0]} if streets else {})}

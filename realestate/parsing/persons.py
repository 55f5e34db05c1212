"""Persons in what a portal tells: their names and contacts, taken out of fields and of what stands beside them."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from realestate.parsing.contacts import MARK, taken_out
from realestate.parsing.text import line

#: Words in a key whose value reaches a person.
_CONTACT = frozenset(
    {
        "phone",
        "phones",
        "telephone",
        "telephones",
        "tel",
        "telefon",
        "telefonlar",
        "mobile",
        "mobil",
        "gsm",
        "fax",
        "msisdn",
    }
    | {"email", "emails", "mail", "mails", "whatsapp", "viber", "telegram", "skype", "contact", "contacts", "əlaqə"}
)
#: Words for persons, and for their names.
_PERSON = frozenset(
    {"owner", "seller", "vendor", "agent", "broker", "realtor", "user", "author", "person", "landlord", "landlady"}
    | {"advertiser", "customer", "poster", "lister", "contact", "satıcı", "sahibi", "mülkiyyətçi", "vasitəçi"}
    | {"owners", "sellers", "vendors", "agents", "brokers", "realtors", "users", "authors", "persons", "customers"}
    | {"landlords", "advertisers", "contacts"}
)
_NAME = frozenset({"name", "names", "username", "nickname", "login", "adı", "naam", "nom"})
_OWN_NAME = frozenset({"firstname", "lastname", "surname", "fullname", "soyad", "soyadı", "voornaam", "prénom"})
_OWN_NAMES = ({"first", "name"}, {"last", "name"}, {"full", "name"}, {"family", "name"})
_KEY_WORD = re.compile(r"[A-Z]+(?![a-zəıöüğşç])|[^\W\d_][a-zəıöüğşçé]*")
#: Whole numbers from here on are asked too: "994501234567" written as a number.
_LONG = 10**9
#: No seller writes more than a tenth of it; to search what is longer would hold up the crawl.
_LONGEST = 100_000

Tells = Literal["contact", "name", "person", ""]


class Stripped(NamedTuple):
    """Fields without persons, and what was taken out of them."""

    fields: dict[str, Any]
    names: list[str]
    contacts: list[str]


def strip_persons(fields: Mapping[str, Any], country: str) -> Stripped:
    """Fields of a record, named as in a listing, scrubbed.

    The seller's name in an owner's advert is a person's and is dropped; a firm's name and reference stay, but not the
    telephone in them. In `extra`, keys that name a person or a contact are dropped and all else is scrubbed.
    Raises what a value without end or measure leads to.
    """
    hand = _Hand(country)
    kept = {
        name: hand.scrubbed(value)
        for name, value in fields.items()
        if name not in ("agency_name", "agency_ref", "extra")
    }
    if "agency_name" in fields:
        kept["agency_name"] = hand.firm(fields["agency_name"], is_person=fields.get("seller_type") == "owner")
    if "agency_ref" in fields:
        reference = hand.scrubbed(fields["agency_ref"])
        # A mark is no reference: two firms' would be the same.
        kept["agency_ref"] = reference if reference == fields["agency_ref"] else None
    if "extra" in fields:
        kept["extra"] = hand.without_persons(fields["extra"])
    return Stripped(kept, list(hand.names), list(hand.contacts))


class _Hand:
    """Takes out, and remembers what it took."""

    def __init__(self, country: str) -> None:
        self.country = country
        self.names: dict[str, None] = {}
        self.contacts: dict[str, None] = {}

    def text(self, value: str) -> str:
        if len(value) > _LONGEST:
            raise ValueError("a text too long to be searched")
        text, found = taken_out(value, self.country)
        if found:
            self.contacts.update(dict.fromkeys(found))
        return text

    def scrubbed(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        match value:
            case bytes():
                return self.scrubbed(value.decode("utf-8", "replace"))
            case int() if abs(value) >= _LONG:
                return value if self.scrubbed(str(value)) == str(value) else MARK
            case dict():
                return {self.scrubbed(key): self.scrubbed(each) for key, each in value.items()}
            case list() | tuple() | set() | frozenset():
                return type(value)(map(self.scrubbed, value))
            case _:
                return value

    def firm(self, name: Any, *, is_person: bool) -> Any:
        scrubbed = self.scrubbed(name)
        if is_person:
            self._remember(name)
            return None
        return _without_mark(scrubbed) if isinstance(scrubbed, str) else scrubbed

    def without_persons(self, value: Any, of_person: bool = False) -> Any:
        """`of_person`: a key above this value is a word for a person."""
        if isinstance(value, dict):
            return self._dict_without_persons(value, of_person)
        if isinstance(value, (list, tuple)):
            return type(value)([self.without_persons(each, of_person) for each in value])
        return self.scrubbed(value)

    def _dict_without_persons(self, value: dict[Any, Any], of_person: bool) -> dict[str, Any]:
        """Texts and small numbers, of which a portal tells dozens, take the shortest way."""
        kept = {}
        for key, each in value.items():
            tells, name = _read_key(key if type(key) is str else str(key), of_person, self.country)
            kind = type(each)
            if kind is bool or each is None:
                kept[name] = each
            elif tells == "contact":
                self._announced(each)
            elif tells == "name" or (tells == "person" and isinstance(each, str)):
                self._remember(each)
            elif kind is str:
                kept[name] = self.text(each)
            elif kind is float or (kind is int and -_LONG < each < _LONG):
                kept[name] = each
            else:
                kept[name] = self.without_persons(each, of_person or tells == "person")
        return kept

    def _announced(self, value: Any) -> None:
        """What stands under a contact's key: a telephone there needs no form that shows it."""
        for text in _texts(value):
            self.contacts.update(dict.fromkeys(taken_out(f"tel: {text}", self.country)[1]))

    def _remember(self, name: Any) -> None:
        names = (_without_mark(self.scrubbed(text)) for text in _texts(name))
        self.names.update(dict.fromkeys(filter(None, names)))


def _without_mark(name: str) -> str | None:
    return line(name.replace(MARK, " ")) if MARK in name else name


def _texts(value: Any) -> list[str]:
    match value:
        case str() | int():
            return [str(value)]
        case dict():
            return [text for each in value.values() for text in _texts(each)]
        case list() | tuple():
            return [text for each in value for text in _texts(each)]
        case _:
            return []


@lru_cache(maxsize=4096)
def _read_key(key: str, of_person: bool, country: str) -> tuple[Tells, str]:
    """What a key says of its value, and the key without contacts."""
    return told_by(key, of_person), taken_out(key, country)[0]


@lru_cache(maxsize=4096)
def told_by(key: str, of_person: bool = False) -> Tells:
    """What a key says of its value, by the words it is made of: phoneNumber, owner_name, "Əlaqə nömrəsi"."""
    *above, own = (frozenset(word.lower() for word in _KEY_WORD.findall(part)) for part in key.split("."))
    if own & _CONTACT:
        return "contact"
    persons = frozenset().union(own, *above) & _PERSON
    if own & _OWN_NAME or any(words <= own for words in _OWN_NAMES) or (own & _NAME and (persons or of_person)):
        return "name"
    return "person" if own & _PERSON else ""

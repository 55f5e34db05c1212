"""Persons in what a portal tells: their names and contacts, taken out of fields and of what stands beside them."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from realestate.parsing.text import line
from realestate.privacy.contacts import MARK, Taken, holding, taken_out

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

#: Fields with a way of their own.
_APART = frozenset({"agency_name", "agency_ref", "extra"})

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
    asking = _Asking(country)
    kept = asking.stripped(fields)
    held = holding(asking.texts, country)
    if not held and not asking.has_met_one:
        return Stripped(kept, [], [])
    hand = _Hand(country, {text: (text, ()) for text in asking.texts} | held)
    return Stripped(hand.stripped(fields), list(hand.names), list(hand.contacts))


class _Walk(ABC):
    """Over all that fields hold. What becomes of a text, and of what a key says is a person's, is left open."""

    def __init__(self, country: str) -> None:
        self.country = country

    @abstractmethod
    def text(self, value: str) -> str:
        """What is kept of it."""

    @abstractmethod
    def announced(self, value: Any) -> None:
        """Under a contact's key, and dropped."""

    @abstractmethod
    def named(self, value: Any) -> None:
        """A person's name, and dropped."""

    def stripped(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        kept = {name: self.scrubbed(value) for name, value in fields.items() if name not in _APART}
        if "agency_name" in fields:
            kept["agency_name"] = self._firm(fields["agency_name"], is_person=fields.get("seller_type") == "owner")
        if "agency_ref" in fields:
            reference = self.scrubbed(fields["agency_ref"])
            # A mark is no reference: two firms' would be the same.
            kept["agency_ref"] = reference if reference == fields["agency_ref"] else None
        if "extra" in fields:
            kept["extra"] = self._without_persons(fields["extra"])
        return kept

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

    def _firm(self, name: Any, *, is_person: bool) -> Any:
        scrubbed = self.scrubbed(name)
        if is_person:
            self.named(name)
            return None
        return _without_mark(scrubbed) if isinstance(scrubbed, str) else scrubbed

    def _without_persons(self, value: Any, of_person: bool = False) -> Any:
        """`of_person`: a key above this value is a word for a person."""
        if isinstance(value, dict):
            return self._dict_without_persons(value, of_person)
        if isinstance(value, (list, tuple)):
            return type(value)([self._without_persons(each, of_person) for each in value])
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
                self.announced(each)
            elif tells == "name" or (tells == "person" and isinstance(each, str)):
                self.named(each)
            elif kind is str:
                kept[name] = self.text(each)
            elif kind is float or (kind is int and -_LONG < each < _LONG):
                kept[name] = each
            else:
                kept[name] = self._without_persons(each, of_person or tells == "person")
        return kept


class _Asking(_Walk):
    """Changes no text, but gathers them all, so that they can be asked at once whether they hold a contact. What it
    keeps is right where none does and no person was met: of most listings."""

    def __init__(self, country: str) -> None:
        super().__init__(country)
        self.texts: list[str] = []
        self.has_met_one = False

    def text(self, value: str) -> str:
        if len(value) > _LONGEST:
            raise ValueError("a text too long to be searched")
        self.texts.append(value)
        return value

    def announced(self, value: Any) -> None:
        self.has_met_one = True

    def named(self, value: Any) -> None:
        self.has_met_one = True


class _Hand(_Walk):
    """Takes out, and remembers what it took."""

    def __init__(self, country: str, known: Mapping[str, Taken]) -> None:
        super().__init__(country)
        self.known = known
        self.names: dict[str, None] = {}
        self.contacts: dict[str, None] = {}

    def text(self, value: str) -> str:
        if len(value) > _LONGEST:
            raise ValueError("a text too long to be searched")
        text, found = self.known.get(value) or taken_out(value, self.country)
        if found:
            self.contacts.update(dict.fromkeys(found))
        return text

    def announced(self, value: Any) -> None:
        """A telephone there needs no form that shows it."""
        for text in _texts(value):
            self.contacts.update(dict.fromkeys(taken_out(f"tel: {text}", self.country)[1]))

    def named(self, value: Any) -> None:
        names = (_without_mark(self.scrubbed(text)) for text in _texts(value))
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

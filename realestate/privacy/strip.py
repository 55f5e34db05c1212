"""Persons in a record: their names and contacts are removed from the fields of a listing and from `extra`."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from realestate.parsing.text import line
from realestate.privacy.contacts import MARK, Scrubbed, scrub_and_find, scrub_many

#: Words in a key whose value is a contact.
_CONTACT = frozenset(
    {
        "contact",
        "contacts",
        "email",
        "emails",
        "fax",
        "gsm",
        "mail",
        "mails",
        "mobil",
        "mobile",
        "msisdn",
        "phone",
        "phones",
        "skype",
        "tel",
        "telefon",
        "telefonlar",
        "telegram",
        "telephone",
        "telephones",
        "viber",
        "whatsapp",
        "əlaqə",
    }
)
#: Words for persons.
_PERSON = frozenset(
    {
        "advertiser",
        "advertisers",
        "agent",
        "agents",
        "author",
        "authors",
        "broker",
        "brokers",
        "contact",
        "contacts",
        "customer",
        "customers",
        "landlady",
        "landlord",
        "landlords",
        "lister",
        "mülkiyyətçi",
        "owner",
        "owners",
        "person",
        "persons",
        "poster",
        "realtor",
        "realtors",
        "sahibi",
        "satıcı",
        "seller",
        "sellers",
        "user",
        "users",
        "vasitəçi",
        "vendor",
        "vendors",
    }
)
#: Words for a name. With a word for a person beside it, it is a person's name.
_NAME = frozenset(
    {
        "adı",
        "login",
        "naam",
        "name",
        "names",
        "nickname",
        "nom",
        "username",
    }
)
#: Words that mean a person's name by themselves.
_OWN_NAME = frozenset(
    {
        "firstname",
        "fullname",
        "lastname",
        "prénom",
        "soyad",
        "soyadı",
        "surname",
        "voornaam",
    }
)
_OWN_NAMES = ({"first", "name"}, {"last", "name"}, {"full", "name"}, {"family", "name"})
_KEY_WORD = re.compile(r"[A-Z]+(?![a-zəıöüğşç])|[^\W\d_][a-zəıöüğşçé]*")
#: Whole numbers from here on are searched too: 994501234567 may be a telephone.
_LONG = 10**9
#: Sellers write less than a tenth of this. To search a longer text would take too long.
_LONGEST = 100_000

#: Fields that are handled separately.
_SEPARATE = frozenset({"agency_name", "agency_ref", "extra"})

#: What the value under a key is: a contact, a person's name, an object or a text about a person, or none of these.
KeyMeaning = Literal["contact", "name", "person", ""]


class Stripped(NamedTuple):
    """Fields without persons, and the names and contacts that were removed from them."""

    fields: dict[str, Any]
    names: list[str]
    contacts: list[str]


def strip_persons(fields: Mapping[str, Any], country: str) -> Stripped:
    """Remove persons from a record whose fields are named as in a listing.

    The seller's name in an owner's advert is a person's and is dropped. A company's name and reference stay, without
    the telephone in them. In `extra`, keys for a person or a contact are dropped and all other texts are scrubbed.
    Raises ValueError for a text that is too long, RecursionError for a value that is nested too deeply.
    """
    collector = _TextCollector(country)
    kept = collector.stripped(fields)
    scrubbed = scrub_many(collector.texts, country)
    if not scrubbed and not collector.found_person:
        return Stripped(kept, [], [])
    stripper = _Stripper(country, {text: (text, ()) for text in collector.texts} | scrubbed)
    return Stripped(stripper.stripped(fields), list(stripper.names), list(stripper.contacts))


class _Walk(ABC):
    """Visits every value of a record. Subclasses decide what to do with texts, contacts and names."""

    def __init__(self, country: str) -> None:
        self.country = country

    @abstractmethod
    def text(self, value: str) -> str:
        """Return the text to keep."""

    @abstractmethod
    def contact_found(self, value: Any) -> None:
        """Called with a value under a key for a contact. It is dropped."""

    @abstractmethod
    def name_found(self, value: Any) -> None:
        """Called with a person's name. It is dropped."""

    def stripped(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        kept = {name: self.scrubbed(value) for name, value in fields.items() if name not in _SEPARATE}
        if "agency_name" in fields:
            kept["agency_name"] = self._company_name(
                fields["agency_name"], is_person=fields.get("seller_type") == "owner"
            )
        if "agency_ref" in fields:
            reference = self.scrubbed(fields["agency_ref"])
            # A mark is not a reference: those of two companies would be equal.
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

    def _company_name(self, name: Any, *, is_person: bool) -> Any:
        scrubbed = self.scrubbed(name)
        if is_person:
            self.name_found(name)
            return None
        return _without_mark(scrubbed) if isinstance(scrubbed, str) else scrubbed

    def _without_persons(self, value: Any, of_person: bool = False) -> Any:
        """Handle a value of `extra`. `of_person`: a key above this value is a word for a person."""
        if isinstance(value, dict):
            return self._dict_without_persons(value, of_person)
        if isinstance(value, (list, tuple)):
            return type(value)([self._without_persons(each, of_person) for each in value])
        return self.scrubbed(value)

    def _dict_without_persons(self, value: dict[Any, Any], of_person: bool) -> dict[str, Any]:
        """Handle a dict of `extra`. Texts and small numbers, the most frequent values, are tested first."""
        kept = {}
        for key, each in value.items():
            meaning, name = _read_key(key if type(key) is str else str(key), of_person, self.country)
            kind = type(each)
            if kind is bool or each is None:
                kept[name] = each
            elif meaning == "contact":
                self.contact_found(each)
            elif meaning == "name" or (meaning == "person" and isinstance(each, str)):
                self.name_found(each)
            elif kind is str:
                kept[name] = self.text(each)
            elif kind is float or (kind is int and -_LONG < each < _LONG):
                kept[name] = each
            else:
                kept[name] = self._without_persons(each, of_person or meaning == "person")
        return kept


class _TextCollector(_Walk):
    """Collects all texts, so that one call can search them together. It changes no text: for most listings, which have
    no contact and no person, its result is final."""

    def __init__(self, country: str) -> None:
        super().__init__(country)
        self.texts: list[str] = []
        self.found_person = False

    def text(self, value: str) -> str:
        if len(value) > _LONGEST:
            raise ValueError(f"text of {len(value)} characters is too long to be searched for persons")
        self.texts.append(value)
        return value

    def contact_found(self, value: Any) -> None:
        self.found_person = True

    def name_found(self, value: Any) -> None:
        self.found_person = True


class _Stripper(_Walk):
    """Removes persons, and collects the names and contacts that it removed."""

    def __init__(self, country: str, known: Mapping[str, Scrubbed]) -> None:
        super().__init__(country)
        self.known = known
        self.names: dict[str, None] = {}
        self.contacts: dict[str, None] = {}

    def text(self, value: str) -> str:
        if len(value) > _LONGEST:
            raise ValueError(f"text of {len(value)} characters is too long to be searched for persons")
        text, found = self.known.get(value) or scrub_and_find(value, self.country)
        if found:
            self.contacts.update(dict.fromkeys(found))
        return text

    def contact_found(self, value: Any) -> None:
        """Search the value as if a word for a telephone stood before it."""
        for text in _texts(value):
            self.contacts.update(dict.fromkeys(scrub_and_find(f"tel: {text}", self.country)[1]))

    def name_found(self, value: Any) -> None:
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
def _read_key(key: str, of_person: bool, country: str) -> tuple[KeyMeaning, str]:
    """Return the meaning of a key, and the key without contacts."""
    return key_meaning(key, of_person), scrub_and_find(key, country)[0]


@lru_cache(maxsize=4096)
def key_meaning(key: str, of_person: bool = False) -> KeyMeaning:
    """Return what the value under a key is, by the words of the key: phoneNumber, owner_name, "Əlaqə nömrəsi".

    `of_person`: a key above this one is a word for a person.
    """
    *above, own = (frozenset(word.lower() for word in _KEY_WORD.findall(part)) for part in key.split("."))
    if own & _CONTACT:
        return "contact"
    persons = frozenset().union(own, *above) & _PERSON
    if own & _OWN_NAME or any(words <= own for words in _OWN_NAMES) or (own & _NAME and (persons or of_person)):
        return "name"
    return "person" if own & _PERSON else ""

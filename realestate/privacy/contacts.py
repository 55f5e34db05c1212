"""Contacts in one text (telephones, e-mail addresses, messenger accounts): find them, or replace them by a mark."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from realestate.privacy import emails, messengers, phones, precheck, spelled_numbers
from realestate.privacy.digit_groups import visible
from realestate.privacy.numbering_plans import PLANS, UNKNOWN_COUNTRY, plan_of

#: Replaces a contact.
MARK = "[…]"
#: "a@b.az" is the shortest contact.
_SHORTEST = 6

#: Short texts without a contact (place names, property types, prices, references) repeat on every page. They are
#: cached for each calling code, and the cache is cleared when it is full.
_CACHED_LENGTH = 60
_CACHE_SIZE = 16_384
_WITHOUT_CONTACTS: dict[str, set[str]] = {plan.code: set() for plan in (*PLANS.values(), UNKNOWN_COUNTRY)}

#: "2026-02-19T10:01:28.000+0000": its digits also have the form of a telephone.
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?", re.ASCII)
#: A price or a reference. Seven digits are a telephone only after a word for it, or if they begin with 0.
_SEVEN_DIGITS = re.compile(r"[€$£]?[1-9](?:[., ]?[0-9]){6}[ ]?[€$£₼]?")


#: A text with marks, and the contacts that were in it.
Scrubbed = tuple[str, tuple[str, ...]]


class Contact(NamedTuple):
    """Position in the text, and value: E.164, an e-mail address in lower case, "@name"; "" for a link without one."""

    start: int
    end: int
    value: str


def scrub(text: str, country: str) -> str:
    """Return the text with a mark in place of each contact; nothing else changes.

    `country` is the country of numbers without a calling code.
    """
    return scrub_and_find(text, country)[0]


def find_contacts(text: str, country: str) -> list[str]:
    """Return the contacts of a text in their order, without duplicates."""
    return list(scrub_and_find(text, country)[1])


def scrub_and_find(text: str, country: str) -> Scrubbed:
    """Return what `scrub` returns and what `find_contacts` returns."""
    return scrub_many((text,), country).get(text, (text, ()))


def scrub_many(texts: Iterable[str], country: str) -> dict[str, Scrubbed]:
    """Return `scrub_and_find` of those texts that contain contacts.

    One call with many texts costs little more than a call with one: the pre-check reads them together.
    """
    without_contacts = _WITHOUT_CONTACTS[plan_of(country).code]
    unknown = tuple(set(texts).difference(without_contacts))
    if not unknown:
        return {}
    any_kind, phones_only = precheck.candidates(unknown)
    scrubbed = {text: _replaced(text, contacts) for text in any_kind if (contacts := _contacts_in(text, country))}
    scrubbed |= {text: _replaced(text, contacts) for text in phones_only if (contacts := _phones_in(text, country))}
    if len(without_contacts) > _CACHE_SIZE:
        without_contacts.clear()
    without_contacts.update(text for text in unknown if len(text) <= _CACHED_LENGTH and text not in scrubbed)
    return scrubbed


def _contacts_in(text: str, country: str) -> list[Contact]:
    return [] if _is_harmless(text) else search(text, country)


def _phones_in(text: str, country: str) -> list[Contact]:
    """For a text in which the pre-check saw seven digits or more, and no sign of another kind of contact."""
    if _is_harmless(text):
        return []
    in_words = spelled_numbers.may_contain(precheck.words(precheck.lower_bytes(text)))
    return [Contact(*each) for each in phones.find(text, country, in_words=in_words)]


def _is_harmless(text: str) -> bool:
    if len(text) < _SHORTEST or text.replace("_", "a").isalpha():  # one word, as in "ground_floor"
        return True
    return bool(_TIMESTAMP.fullmatch(text) or _SEVEN_DIGITS.fullmatch(text))


def _replaced(text: str, contacts: list[Contact]) -> Scrubbed:
    parts = []
    after = 0
    for contact in contacts:
        parts += [text[after : contact.start], MARK]
        after = contact.end
    values = dict.fromkeys(contact.value for contact in contacts if contact.value)
    return "".join([*parts, text[after:]]), tuple(values)


def search(text: str, country: str) -> list[Contact]:
    """Search the whole text. Contacts are in order and do not overlap: a link or an address may contain a telephone."""
    lower = precheck.lower_bytes(text)
    words = precheck.words(lower)
    distinct_words = frozenset(words)
    contacts: list[Contact] = []
    if messengers.may_contain(lower, distinct_words):
        contacts += _find_in_visible_text(messengers.find, text)
    if emails.may_contain(lower, distinct_words):
        contacts += _find_in_visible_text(emails.find, text)
    in_words = spelled_numbers.may_contain(words)
    if in_words or precheck.may_contain_phone(lower):
        contacts += (Contact(*each) for each in phones.find(text, country, in_words=in_words))
    return list(_without_overlaps(contacts))


def _find_in_visible_text(find: Callable[[str], Iterator[tuple[int, int, str]]], text: str) -> Iterator[Contact]:
    """Search the text without its invisible characters; positions are those in the original text."""
    shown = visible(text)
    if shown == text:
        yield from (Contact(*each) for each in find(text))
        return
    positions = [position for position, character in enumerate(text) if visible(character)]
    for start, end, value in find(shown):
        yield Contact(positions[start], positions[end - 1] + 1, value)


def _without_overlaps(contacts: list[Contact]) -> Iterator[Contact]:
    """Of contacts that overlap, keep the first; of two that begin at the same place, the longer."""
    after = 0
    for contact in sorted(contacts, key=lambda each: (each.start, -each.end)):
        if contact.start >= after:
            after = contact.end
            yield contact

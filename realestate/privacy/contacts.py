"""Ways to reach a person in free text: telephones, e-mails, messengers. Found, or taken out of it."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from realestate.privacy import mails, messengers, numerals, signs, telephones
from realestate.privacy.dialling import ELSEWHERE, PLANS, plan_of
from realestate.privacy.digits import seen

#: Stands where a contact stood.
MARK = "[…]"
#: "a@b.az" is the shortest.
_SHORTEST = 6

#: Names of places, words of a kind, prices and references come again and again: those that hold nothing are remembered,
#: for each calling code apart, until there are too many.
_SHORT = 60
_REMEMBERED = 16_384
_HARMLESS: dict[str, set[str]] = {plan.code: set() for plan in (*PLANS.values(), ELSEWHERE)}

#: "2026-02-19T10:01:28.000+0000" could be dialled too.
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?", re.ASCII)
#: A price or a reference: seven digits can be dialled only after a word, or a 0.
_ALONE = re.compile(r"[€$£]?[1-9](?:[., ]?[0-9]){6}[ ]?[€$£₼]?")


#: A scrubbed text, and what was in it.
Taken = tuple[str, tuple[str, ...]]


class Contact(NamedTuple):
    """Where it stands, and what it is: E.164, an address in lower case, "@name", or "" for a link that does not say."""

    start: int
    end: int
    value: str


def scrub(text: str, country: str) -> str:
    """The text with a mark in place of each contact, else as it is. `country` is where a number without code is."""
    return taken_out(text, country)[0]


def found(text: str, country: str) -> list[str]:
    """The contacts of a text, each once, in their order."""
    return list(taken_out(text, country)[1])


def taken_out(text: str, country: str) -> Taken:
    """The scrubbed text, and what was in it."""
    return holding((text,), country).get(text, (text, ()))


def holding(texts: Iterable[str], country: str) -> dict[str, Taken]:
    """Those of the texts that hold contacts, with what `taken_out` says of them. To ask for many at once is cheap."""
    harmless = _HARMLESS[plan_of(country).code]
    unknown = tuple(set(texts).difference(harmless))
    if not unknown:
        return {}
    of_any, of_digits = signs.suspects(unknown)
    held = {text: _marked(text, found) for text in of_any if (found := _in_any(text, country))}
    held |= {text: _marked(text, found) for text in of_digits if (found := _in_digits(text, country))}
    if len(harmless) > _REMEMBERED:
        harmless.clear()
    harmless.update(text for text in unknown if len(text) <= _SHORT and text not in held)
    return held


def _in_any(text: str, country: str) -> list[Contact]:
    return [] if _is_harmless(text) else searched(text, country)


def _in_digits(text: str, country: str) -> list[Contact]:
    """Where there are digits, perhaps beside numbers in words, and nothing else that a contact begins with."""
    if _is_harmless(text):
        return []
    in_words = numerals.may_be_spelled(signs.words(signs.lowered(text)))
    return [Contact(*each) for each in telephones.find(text, country, in_words=in_words)]


def _is_harmless(text: str) -> bool:
    if len(text) < _SHORTEST or text.replace("_", "a").isalpha():  # one word, as in "ground_floor"
        return True
    return bool(_MOMENT.fullmatch(text) or _ALONE.fullmatch(text))


def _marked(text: str, contacts: list[Contact]) -> Taken:
    parts, after = [], 0
    for contact in contacts:
        parts += [text[after : contact.start], MARK]
        after = contact.end
    values = dict.fromkeys(contact.value for contact in contacts if contact.value)
    return "".join([*parts, text[after:]]), tuple(values)


def searched(text: str, country: str) -> list[Contact]:
    """In order, none over another: a link or an address may hold a telephone."""
    lower = signs.lowered(text)
    words = signs.words(lower)
    different = frozenset(words)
    contacts: list[Contact] = []
    if messengers.may_hold(lower, different):
        contacts += _in_sight(messengers.find, text)
    if mails.may_hold(lower, different):
        contacts += _in_sight(mails.find, text)
    in_words = numerals.may_be_spelled(words)
    if in_words or signs.may_be_dialled(lower):
        contacts += (Contact(*each) for each in telephones.find(text, country, in_words=in_words))
    return list(_apart(contacts))


def _in_sight(find: Callable[[str], Iterator[tuple[int, int, str]]], text: str) -> Iterator[Contact]:
    """What is found in the text as people see it, at its place in the text as it is."""
    visible = seen(text)
    if visible == text:
        yield from (Contact(*each) for each in find(text))
        return
    places = [place for place, character in enumerate(text) if seen(character)]
    for start, end, value in find(visible):
        yield Contact(places[start], places[end - 1] + 1, value)


def _apart(contacts: list[Contact]) -> Iterator[Contact]:
    """The first of those that overlap, and of two that begin together the longer."""
    after = 0
    for contact in sorted(contacts, key=lambda each: (each.start, -each.end)):
        if contact.start >= after:
            after = contact.end
            yield contact

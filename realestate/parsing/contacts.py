"""Ways to reach a person in free text: telephones, e-mails, messengers. Found, or taken out of it."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from realestate.parsing import mails, messengers, numerals, telephones
from realestate.parsing.digits import seen

#: Stands where a contact stood.
MARK = "[…]"
#: "a@b.az" is the shortest.
_SHORTEST = 6

#: Seven digits in a row show a telephone that may be dialled, once all is left out but letters, as "a", and digits,
#: as "9"; a letter that stands for a zero is one. Of the letters that are not ASCII only the Cyrillic are kept.
_SHAPE = bytes(ord("9" if chr(byte).isdigit() or chr(byte) in "oO" else "a") for byte in range(256))
_CYRILLIC = b"\xd0\xd1"
_SHAPELESS = bytes(byte for byte in range(256) if not (byte in _CYRILLIC or (byte < 128 and chr(byte).isalnum())))
_CYRILLIC_ZEROS = ("о".encode(), "О".encode())
_DIALLED = b"9" * 7
#: How digits begin in UTF-8 that are not ASCII: Arabic, full-width, ringed, mathematical.
_OTHER_DIGITS = (b"\xd9", b"\xdb", b"\xef\xbc", b"\xe2\x91", b"\xe2\x93", b"\xe2\x9d", b"\xe2\x9e", b"\xf0\x9d\x9f")
#: Words are parted by every mark of ASCII, by no-break spaces and by emojis.
_NO_BREAK = "\u00a0".encode()
_EMOJI = re.compile(rb"\xf0[\x80-\xbf]{3}")
_PARTED = bytes(byte if byte > 127 or chr(byte).isalnum() else ord(" ") for byte in range(256))

#: "2026-02-19T10:01:28.000+0000" could be dialled too.
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?", re.ASCII)

_SIGNS = mails.SIGNS | messengers.SIGNS


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
    return taken_out(text, country)[1]


def taken_out(text: str, country: str) -> tuple[str, list[str]]:
    """The scrubbed text, and what was in it."""
    contacts = _contacts(text, country)
    if not contacts:
        return text, []
    parts, after = [], 0
    for contact in contacts:
        parts += [text[after : contact.start], MARK]
        after = contact.end
    values = dict.fromkeys(contact.value for contact in contacts if contact.value)
    return "".join([*parts, text[after:]]), list(values)


def _contacts(text: str, country: str) -> list[Contact]:
    """In order, none over another: a link or an address may hold a telephone."""
    if len(text) < _SHORTEST or text.replace("_", "a").isalpha():  # one word, as in "ground_floor"
        return []
    lower = text.encode("utf-8", "surrogatepass").lower()
    words = _words(lower)
    signs = _SIGNS.intersection(words)
    contacts: list[Contact] = []
    if messengers.may_hold(lower, signs):
        contacts += _in_sight(messengers.find, text)
    if mails.may_hold(lower, signs):
        contacts += _in_sight(mails.find, text)
    in_words = numerals.may_be_spelled(words)
    if (in_words or _may_be_dialled(lower)) and not _MOMENT.fullmatch(text):
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


def _words(lower: bytes) -> list[bytes]:
    if b"\xf0" in lower:
        lower = _EMOJI.sub(b" ", lower)
    return lower.translate(_PARTED).replace(_NO_BREAK, b" ").split()


def _may_be_dialled(raw: bytes) -> bool:
    if b"\xd0" in raw:
        for zero in _CYRILLIC_ZEROS:
            raw = raw.replace(zero, b"o")
    if _DIALLED in raw.translate(_SHAPE, _SHAPELESS):
        return True
    return not raw.isascii() and any(map(raw.__contains__, _OTHER_DIGITS))

"""Cheap check before a text is searched: may it contain a contact at all?

It reads every text, and nearly no text has a contact. So all texts of a listing are joined and read together, by
methods of `bytes` that run in C; there is no Python loop over words.
"""

import re
from collections.abc import Sequence
from itertools import repeat
from typing import NamedTuple

from realestate.privacy import emails, messengers, spelled_numbers

#: The shape of a text: letters are "a", digits and the letter O are "9", all else is dropped. Seven 9 in a row may be
#: a telephone. Of the letters that are not ASCII only the Cyrillic are kept.
_SHAPE = bytes(ord("9" if chr(byte).isdigit() or chr(byte) in "oO" else "a") for byte in range(256))
_CYRILLIC = b"\xd0\xd1"
_DROPPED = bytes(byte for byte in range(256) if not (byte in _CYRILLIC or (byte < 128 and chr(byte).isalnum())))
_CYRILLIC_ZEROS = ("о".encode(), "О".encode())
_PHONE = b"9" * 7
#: Separates the joined texts. It is part of no word, mark or number, and the shape of joined texts keeps it.
_SEPARATOR = b"\x1e"
_SHAPE_OF_JOINED = _SHAPE[: _SEPARATOR[0]] + _SEPARATOR + _SHAPE[_SEPARATOR[0] + 1 :]
_DROPPED_OF_JOINED = _DROPPED.replace(_SEPARATOR, b"")
#: First bytes of digits that are not ASCII: Arabic, full-width, circled, mathematical.
_OTHER_DIGITS = (b"\xd9", b"\xdb", b"\xef\xbc", b"\xe2\x91", b"\xe2\x93", b"\xe2\x9d", b"\xe2\x9e", b"\xf0\x9d\x9f")
#: Words end at ASCII punctuation, no-break spaces and emojis. Every digit becomes a 9.
_NO_BREAK = "\u00a0".encode()
_EMOJI = re.compile(rb"\xf0[\x80-\xbf]{3}")
_WORD_BYTES = bytes(
    byte if byte > 127 or chr(byte).isalpha() else ord("9" if chr(byte).isdigit() else " ") for byte in range(256)
)

#: The byte sequences to look for, by a byte that most texts do not have. The Cyrillic byte has none: it only matters
#: among digits.
_MARKS = {
    byte: tuple(mark for mark in (*emails.MARKS, *messengers.MARKS, *_OTHER_DIGITS) if byte in mark)
    for byte in b"@/([{<\xd9\xdb\xe2\xef\xf0\xd0"
}
_COMMON_BYTES = bytes(byte for byte in range(256) if byte not in _MARKS)

#: One letter for each word, by its kind: of a messenger, for "at", of a mail domain (an address needs both), a number
#: in words, one or two digits, three to six digits. Seven digits are found by their shape.
_MESSENGER = ord("m")
_AT = ord("@")
_DOMAIN = ord(".")
_NUMBER_WORD = ord("n")
_DIGITS = ord("d")
_MANY_DIGITS = ord("#")
_LETTERS = {
    **dict.fromkeys(spelled_numbers.WORD_FORMS, _NUMBER_WORD),
    **dict.fromkeys(emails.DOMAIN_WORDS, _DOMAIN),
    **dict.fromkeys(emails.AT_WORDS, _AT),
    **dict.fromkeys(messengers.WORDS, _MESSENGER),
    **{b"9" * length: _DIGITS if length < 3 else _MANY_DIGITS for length in range(1, len(_PHONE))},
}
#: Where `spelled_numbers.may_contain` returns True: five numbers in a row, or fewer if one has three digits or more.
_SPELLED = re.compile(rb"[nd#]{5}|n[nd]{0,2}#|#[nd]{0,2}n")


class Candidates(NamedTuple):
    """Texts that may contain a contact."""

    any_kind: list[str]
    phones_only: list[str]
    """They have seven digits or more, and no sign of another kind of contact."""


def candidates(texts: Sequence[str]) -> Candidates:
    """Return the texts that may contain a contact. All are read together, which costs little more than reading one."""
    lower = lower_bytes(_SEPARATOR.decode().join(texts))
    if _has_mark(lower) or _has_words(words(lower)):
        return Candidates([text for text in texts if may_contain_contact(text)], [])
    shapes = _with_plain_zeros(lower).translate(_SHAPE_OF_JOINED, _DROPPED_OF_JOINED)
    if _PHONE not in shapes:
        return Candidates([], [])
    each = shapes.split(_SEPARATOR)
    if len(each) != len(texts):  # a text contains the separator itself
        return Candidates(list(texts), [])
    return Candidates([], [text for text, shape in zip(texts, each, strict=True) if _PHONE in shape])


def may_contain_contact(text: str) -> bool:
    """Return False only if the text contains no messenger account, e-mail address or telephone."""
    lower = lower_bytes(text)
    return _has_mark(lower) or _has_words(words(lower)) or _has_digits(lower)


def lower_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass").lower()


def words(lower: bytes) -> list[bytes]:
    """Return the words, with a 9 for every digit."""
    parted = lower.translate(_WORD_BYTES)
    if lower.isascii():
        return parted.split()
    if b"\xf0" in parted:
        parted = _EMOJI.sub(b" ", parted)
    return parted.replace(_NO_BREAK, b" ").split()


def may_contain_phone(lower: bytes) -> bool:
    return _has_digits(lower) or any(map(lower.__contains__, _OTHER_DIGITS))


def _has_digits(lower: bytes) -> bool:
    return _PHONE in _with_plain_zeros(lower).translate(_SHAPE, _DROPPED)


def _with_plain_zeros(lower: bytes) -> bytes:
    if b"\xd0" in lower:
        for zero in _CYRILLIC_ZEROS:
            lower = lower.replace(zero, b"o")
    return lower


def _has_mark(lower: bytes) -> bool:
    for byte in set(lower.translate(None, _COMMON_BYTES)):
        for mark in _MARKS[byte]:
            if mark in lower:
                return True
    return False


def _has_words(words: list[bytes]) -> bool:
    letters = bytes(map(_LETTERS.get, words, repeat(0)))
    if b"m" in letters or (b"@" in letters and b"." in letters):
        return True
    return b"n" in letters and _SPELLED.search(letters) is not None

"""The cheap question before a text is searched for contacts: whether it can hold one at all.

Nearly no text does, and every text is asked: what is done here is done by C over the whole text, never word by word,
and over all texts of a listing at once.
"""

import re
from collections.abc import Sequence
from itertools import repeat
from typing import NamedTuple

from realestate.privacy import mails, messengers, numerals

#: Seven digits in a row show a telephone that may be dialled, once all is left out but letters, as "a", and digits,
#: as "9"; a letter that stands for a zero is one. Of the letters that are not ASCII only the Cyrillic are kept.
_SHAPE = bytes(ord("9" if chr(byte).isdigit() or chr(byte) in "oO" else "a") for byte in range(256))
_CYRILLIC = b"\xd0\xd1"
_SHAPELESS = bytes(byte for byte in range(256) if not (byte in _CYRILLIC or (byte < 128 and chr(byte).isalnum())))
_CYRILLIC_ZEROS = ("о".encode(), "О".encode())
_DIALLED = b"9" * 7
#: Stands between texts that are asked at once: no word, no mark and no digit, and in the shape of all it is kept.
_BETWEEN = b"\x1e"
_SHAPES = _SHAPE[: _BETWEEN[0]] + _BETWEEN + _SHAPE[_BETWEEN[0] + 1 :]
_SHAPELESS_BUT_BETWEEN = _SHAPELESS.replace(_BETWEEN, b"")
#: How digits begin in UTF-8 that are not ASCII: Arabic, full-width, ringed, mathematical.
_OTHER_DIGITS = (b"\xd9", b"\xdb", b"\xef\xbc", b"\xe2\x91", b"\xe2\x93", b"\xe2\x9d", b"\xe2\x9e", b"\xf0\x9d\x9f")
#: Words are parted by every mark of ASCII, by no-break spaces and by emojis. Of a digit only counts that it is one.
_NO_BREAK = "\u00a0".encode()
_EMOJI = re.compile(rb"\xf0[\x80-\xbf]{3}")
_PARTED = bytes(
    byte if byte > 127 or chr(byte).isalpha() else ord("9" if chr(byte).isdigit() else " ") for byte in range(256)
)

#: Marks that are looked for, by a byte that most texts do not have. A Cyrillic zero is one only among digits.
_MARKS = {
    byte: tuple(mark for mark in (*mails.MARKS, *messengers.MARKS, *_OTHER_DIGITS) if byte in mark)
    for byte in b"@/([{<\xd9\xdb\xe2\xef\xf0\xd0"
}
_COMMON = bytes(byte for byte in range(256) if byte not in _MARKS)

#: Words as letters: of a messenger, of an address (two different ones show it), a numeral, one or two digits, more of
#: them. As many digits as can be dialled need no word beside them.
_MESSENGER, _AT, _OTHER, _NUMERAL, _DIGITS, _MANY_DIGITS = b"m@.nd#"
_LETTERS = {
    **dict.fromkeys(numerals.FORMS, _NUMERAL),
    **dict.fromkeys(mails.OTHER_SIGNS, _OTHER),
    **dict.fromkeys(mails.AT_SIGNS, _AT),
    **dict.fromkeys(messengers.SIGNS, _MESSENGER),
    **{b"9" * length: _DIGITS if length < 3 else _MANY_DIGITS for length in range(1, len(_DIALLED))},
}
#: What `numerals.may_be_spelled` says yes to has five numbers in a row; or fewer, of which one has three digits.
_SPELLED = re.compile(rb"[nd#]{5}|n[nd]{0,2}#|#[nd]{0,2}n")


class Suspects(NamedTuple):
    """Texts that may hold a contact."""

    of_any: list[str]
    of_digits: list[str]
    """They can hold nothing but telephones, with seven digits and more."""


def suspects(texts: Sequence[str]) -> Suspects:
    """Those of the texts that may hold a contact: all are asked at once, which costs little more than to ask one."""
    lower = lowered(_BETWEEN.decode().join(texts))
    if _has_mark(lower) or _has_sign(words(lower)):
        return Suspects([text for text in texts if may_hold(text)], [])
    shapes = _with_plain_zeros(lower).translate(_SHAPES, _SHAPELESS_BUT_BETWEEN)
    if _DIALLED not in shapes:
        return Suspects([], [])
    each = shapes.split(_BETWEEN)
    if len(each) != len(texts):  # what stands between texts stands in one
        return Suspects(list(texts), [])
    return Suspects([], [text for text, shape in zip(texts, each, strict=True) if _DIALLED in shape])


def may_hold(text: str) -> bool:
    """False only if no messenger, address or telephone can be found in the text."""
    lower = lowered(text)
    return _has_mark(lower) or _has_sign(words(lower)) or _has_digits(lower)


def lowered(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass").lower()


def words(lower: bytes) -> list[bytes]:
    """With a 9 for every digit."""
    parted = lower.translate(_PARTED)
    if lower.isascii():
        return parted.split()
    if b"\xf0" in parted:
        parted = _EMOJI.sub(b" ", parted)
    return parted.replace(_NO_BREAK, b" ").split()


def may_be_dialled(lower: bytes) -> bool:
    return _has_digits(lower) or any(map(lower.__contains__, _OTHER_DIGITS))


def _has_digits(lower: bytes) -> bool:
    return _DIALLED in _with_plain_zeros(lower).translate(_SHAPE, _SHAPELESS)


def _with_plain_zeros(lower: bytes) -> bytes:
    if b"\xd0" in lower:
        for zero in _CYRILLIC_ZEROS:
            lower = lower.replace(zero, b"o")
    return lower


def _has_mark(lower: bytes) -> bool:
    for byte in set(lower.translate(None, _COMMON)):
        for mark in _MARKS[byte]:
            if mark in lower:
                return True
    return False


def _has_sign(words: list[bytes]) -> bool:
    letters = bytes(map(_LETTERS.get, words, repeat(0)))
    if b"m" in letters or (b"@" in letters and b"." in letters):
        return True
    return b"n" in letters and _SPELLED.search(letters) is not None

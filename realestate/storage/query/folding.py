"""Words for searching: without case, accents and punctuation. PostgreSQL computes the same: see `listing_words` in
migrations/. Neither depends on the language of a server."""

import unicodedata
from collections.abc import Iterable

#: Letters that are not a plain letter with an accent, and capital letters beyond A to Z.
FOLDED_FROM = "ƏəIıØøŁłĐđÐðÞþŒœÆæΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩςАБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЄІҐ"
FOLDED_TO = "eeiioollddddttooaaαβγδεζηθικλμνξοπρστυφχψωσабвгдежзиклмнопрстуфхцчшщъыьэюяєіґ"
#: What separates words.
SEPARATORS = "\t\n\r\x0b\x0c!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\u00a0§©«®°±·»¿¡×÷–—‘’‚“”„†•…‹›€₼№™\u2009\u202f\u3000、。"
#: Only this many characters of a word are kept, and may be searched for.
LONGEST_WORD = 50

_FOLD = str.maketrans(FOLDED_FROM, FOLDED_TO) | {ord(each): " " for each in SEPARATORS}
_ACCENTS = dict.fromkeys(range(0x300, 0x370))
_ASCII_CAPITALS = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def folded(text: str) -> str:
    """Return the text without case, accents and punctuation; words are separated by one or more spaces."""
    plain = unicodedata.normalize("NFD", text).translate(_ACCENTS)
    return plain.translate(_FOLD).translate(_ASCII_CAPITALS)


def words_of(text: str) -> list[str]:
    return [word for word in folded(text).split(" ") if word]


def search_words(texts: Iterable[str | None]) -> str:
    """Return the words of the texts as PostgreSQL writes a tsvector. Words have no quotation marks and no spaces."""
    words = {word[:LONGEST_WORD] for word in words_of(" ".join(text for text in texts if text))}
    return " ".join(f"'{word}'" for word in sorted(words))


def has_words(text: str, words: tuple[str, ...]) -> bool:
    """Whether each of the words is the beginning of a word of the text."""
    within = f" {folded(text)}"
    return all(f" {word}" in within for word in words)

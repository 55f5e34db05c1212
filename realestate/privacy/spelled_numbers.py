"""Numbers written as words, in the languages of our portals' sellers: Azerbaijani, Dutch, French, English.

Used to find telephones in words, so a number is its digits: "sıfır əlli" is "0" and "50".
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

#: People leave out letters that their keyboard does not have. I and İ are both capitals of i.
_PLAIN = str.maketrans("ıİəƏöÖüÜşŞçÇğĞéÉèÈêÊëË", "iieeoouussccggeeeeeeee")
_WORD = re.compile(r"[^\W\d_]+")
#: Between the words of one number: "soixante-quinze", "yetmiş beş".
_JOINED = re.compile(r"[ \u00a0]?[-\u2010\u2011 \u00a0]")
_Names = list[tuple[int, str]]


class Spelled(NamedTuple):
    """Position of a number in words, and its digits."""

    start: int
    end: int
    digits: str


def find_spelled_numbers(text: str) -> Iterator[Spelled]:
    """Yield the numbers below 1,000 that a text contains as words. Each takes as many words as possible."""
    words = list(_WORD.finditer(text))
    names = [_plain(word[0]) for word in words]
    at = 0
    while at < len(words):
        length = _longest(text, words, names, at) if names[at] in _FIRST_WORDS else 0
        if length:
            digits = _DIGITS[" ".join(names[at : at + length])]
            yield Spelled(words[at].start(), words[at + length - 1].end(), digits)
        at += length or 1


def may_contain(words: list[bytes]) -> bool:
    """Return whether several numbers follow each other, some of them in words. `words` are lower case bytes."""
    in_a_row = 0
    digits = 0
    some_in_words = False
    for word in words:
        if word in WORD_FORMS:
            digits += 1
            some_in_words = True
        elif word.isdigit():
            digits += len(word)
        else:
            in_a_row = 0
            digits = 0
            some_in_words = False
            continue
        in_a_row += 1
        if some_in_words and (in_a_row > 4 or digits > 8):
            return True
    return False


def _longest(text: str, words: list[re.Match[str]], names: list[str], at: int) -> int:
    """Return how many words, from this one on, are one number; 0 if none."""
    best = 0
    for length in range(1, min(_MOST_WORDS, len(words) - at) + 1):
        if length > 1 and not _JOINED.fullmatch(text, words[at + length - 2].end(), words[at + length - 1].start()):
            break
        if " ".join(names[at : at + length]) in _DIGITS:
            best = length
    return best


def _plain(word: str) -> str:
    return word.translate(_PLAIN).lower()


# --- names of the numbers ------------------------------------------------------------


def _azerbaijani() -> _Names:
    units = _counted("sıfır bir iki üç dörd beş altı yeddi səkkiz doqquz")
    tens = _counted("on iyirmi otuz qırx əlli altmış yetmiş səksən doxsan", 1)
    return _with_hundreds(_with_tens(units, tens), "yüz", " ")


def _english() -> _Names:
    units = _counted("zero one two three four five six seven eight nine ten eleven twelve")
    teens = _counted("thirteen fourteen fifteen sixteen seventeen eighteen nineteen", 13)
    tens = _counted("twenty thirty forty fifty sixty seventy eighty ninety", 2)
    return _with_hundreds(_with_tens([*units, *teens, (0, "oh")], tens), "hundred", " ")


def _dutch() -> _Names:
    units = _counted("nul een twee drie vier vijf zes zeven acht negen tien elf twaalf")
    teens = _counted("dertien veertien vijftien zestien zeventien achttien negentien", 13)
    tens = _counted("twintig dertig veertig vijftig zestig zeventig tachtig negentig", 2)
    joined = [
        (ten * 10 + unit, f"{word}{between}{name}")
        for ten, name in tens
        for unit, word in units[1:10]
        for between in ("en", " en ")
    ]
    whole = [(ten * 10, name) for ten, name in tens]
    return _with_hundreds([*units, *teens, *whole, *joined, (0, "null")], "honderd", "")


def _french() -> _Names:
    """Belgium says septante and nonante, France soixante-dix and quatre-vingt-dix."""
    units = _counted("zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize")
    teens = [*units, (17, "dix sept"), (18, "dix huit"), (19, "dix neuf"), (1, "une")]
    tens = _counted("vingt trente quarante cinquante soixante septante huitante nonante", 2)
    below = _with_tens(teens, [*tens, (8, "quatre vingts"), (8, "quatre vingt")])
    over = [
        (ten + rest, f"{name} {word}")
        for ten, name in ((60, "soixante"), (80, "quatre vingt"))
        for rest, word in teens
        if rest > 9
    ]
    and_one = [*((ten * 10 + 1, f"{name} et un") for ten, name in tens), (71, "soixante et onze")]
    return _with_hundreds([*below, *over, *and_one], "cent", " ")


def _counted(names: str, first: int = 0) -> _Names:
    return list(enumerate(names.split(), first))


def _with_tens(below: _Names, tens: _Names) -> _Names:
    units = [(unit, word) for unit, word in below if 0 < unit < 10]
    whole = [(ten * 10, name) for ten, name in tens]
    return [*below, *whole, *((ten + unit, f"{name} {word}") for ten, name in whole for unit, word in units)]


def _with_hundreds(below: _Names, hundred: str, between: str) -> _Names:
    whole = [(100, hundred)] + [(unit * 100, f"{word}{between}{hundred}") for unit, word in below if 1 < unit < 10]
    rests = [(rest, f"{between}{name}") for rest, name in below if rest]
    return [*below, *whole, *((head + rest, name + end) for head, name in whole for rest, end in rests)]


_NAMES = [*_azerbaijani(), *_dutch(), *_french(), *_english()]
_DIGITS = {_plain(name): str(number) for number, name in _NAMES}
_FIRST_WORDS = frozenset(name.partition(" ")[0] for name in _DIGITS)
_MOST_WORDS = max(name.count(" ") for name in _DIGITS) + 1


def _forms(word: str) -> Iterator[bytes]:
    """Yield the ways to type a word, as `bytes.lower` writes them: with accents or without, small or capital."""
    capitals = word.replace("i", "İ")
    for form in (word, _plain(word), capitals.upper(), capitals[0].upper() + word[1:]):
        yield form.encode().lower()


WORD_FORMS = frozenset(form for word in {word for _, name in _NAMES for word in name.split()} for form in _forms(word))

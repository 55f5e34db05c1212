"""Telephones as people write them: numbering plans × forms × separators × disguises × sentences around them.

The numbers are made up from the published plans, independently of the code under test.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Range:
    """One kind of number of a country: its first digits without the 0, how many follow, how people group them."""

    country: str
    code: str
    prefixes: tuple[str, ...]
    follow: int
    groupings: tuple[tuple[int, ...], ...]
    """How people group the digits after the prefix."""

    is_bare: bool = False
    """Whether people also write it without the 0."""


def _range(country: str, code: str, prefixes: str, *groupings: tuple[int, ...], is_bare: bool = False) -> Range:
    return Range(country, code, tuple(prefixes.split()), sum(groupings[0]), groupings, is_bare)


RANGES = (
    _range("AZ", "994", "10 50 51 55 60 70 77 99", (3, 2, 2), (7,), (3, 4), is_bare=True),
    _range("AZ", "994", "12 18 20 21 22 23 24 25 26 36", (3, 2, 2), (7,), (3, 4)),
    _range("BE", "32", "455 456 460 467 468 470 475 486 499", (2, 2, 2), (6,), (3, 3), is_bare=True),
    _range("BE", "32", "2 3 9", (3, 2, 2), (7,), (3, 4)),
    _range("BE", "32", "10 11 12 13 14 15 16 19 50 51 52 55 60 63 71 81 89", (2, 2, 2), (6,), (3, 3)),
    _range("GB", "44", "7400 7700 7911", (6,), (3, 3)),
    _range("GB", "44", "20", (4, 4), (8,)),
    _range("GB", "44", "113 121 161", (3, 4), (7,)),
    _range("IE", "353", "83 85 86 87 89", (3, 4), (7,)),
    _range("IE", "353", "1", (3, 4), (7,)),
    _range("PL", "48", "501 602 665 790 888", (3, 3), (2, 2, 2), (6,), is_bare=True),
    _range("PL", "48", "22 12 71", (3, 2, 2), (7,), is_bare=True),
    _range("AT", "43", "650 660 664 676 699", (7,), (3, 4), (3, 2, 2)),
    _range("AT", "43", "1", (3, 4), (7,)),
    _range("ZA", "27", "61 72 82 83", (3, 4), (7,)),
    _range("ZA", "27", "11 21 31", (3, 4), (7,)),
)

SEPARATORS = (
    "",
    " ",
    "-",
    ".",
    "/",
    " - ",
    "\u00a0",
    "\u2009",
    "\u202f",
    "–",
    "‑",
    "_",
    "*",
    "  ",
    ". ",
    " / ",
    "\u200b",
    "·",
    "|",
    "\u2060 ",
    " \ufeff",
    "~",
    "\\",
    "\u3000",
    ":",
    "=",
    "#",
)
AFTER_AREA = (") ", ")", ")-", ") / ")

KEYCAP = "\ufe0f\u20e3"
WORDS = {
    "az": "sıfır bir iki üç dörd beş altı yeddi səkkiz doqquz",
    "az, plain": "sifir bir iki uc dord bes alti yeddi sekkiz doqquz",
    "AZ": "SIFIR BİR İKİ ÜÇ DÖRD BEŞ ALTI YEDDİ SƏKKİZ DOQQUZ",
    "nl": "nul een twee drie vier vijf zes zeven acht negen",
    "fr": "zéro un deux trois quatre cinq six sept huit neuf",
    "en": "zero one two three four five six seven eight nine",
}


def _each(zero: str) -> Callable[[str], str]:
    """Digits of another script, by the character for zero."""
    return lambda text: "".join(chr(ord(zero) + int(each)) if each in "0123456789" else each for each in text)


DISGUISES: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "full-width": _each("０"),
    "arabic": _each("٠"),
    "mathematical": _each("𝟎"),
    "ringed": lambda text: "".join("⓪①②③④⑤⑥⑦⑧⑨"[int(each)] if each in "0123456789" else each for each in text),
    "keycaps": lambda text: "".join(each + KEYCAP if each in "0123456789" else each for each in text),
    "o": lambda text: text.replace("0", "o"),
    "O": lambda text: text.replace("0", "O"),
    "cyrillic O": lambda text: text.replace("0", "О"),
    "zero width": lambda text: "\u200b".join(text),
    "each digit apart": lambda text: " ".join(text),
    "soft hyphens": lambda text: "\u00ad".join(text),
}

#: Sentences in which a number without its 0 is recognised too.
SENTENCES = (
    "{}",
    "Zəng edin: {}",
    "Tel.: {}.",
    "Təcili satılır! {} nömrəsinə yazın",
    "Qiymət 158 000 AZN, 3 otaq, 85 m², mərtəbə 2/9. Əlaqə: {}",
    "WhatsApp {} (Vüqar)",
    "whatsapp:{}",
    "({})",
    "<b>{}</b>",
    "Prijs: € 239.000. Bel {} voor een bezoek op 12.05.2026 om 14:30.",
    "Contactez-nous au {}, 1000 Bruxelles",
    "Call {}; price 1 250 000, built in 1987.",
    "tel:{}",
    "📞{}",
    "Ünvan: AZ1000 Bakı\n{}\nSahə: 85,5 m2",
    "Vüqar-{}-Bakı",
    '"{}"',
    "{}, {}",
    "{} / {}",
    "{}; {}",
)
#: Sentences in which only a number with +, 00 or 0 is recognised.
AMONG_NUMBERS = (
    "mərtəbə 5 {}",
    "85 m2 {} 3 otaq",
    "3+1 {} 120 m²",
    "1 250 000 AZN {}",
    "01.02.2026 {}",
    "12.05.2026 14:30 {} 158 000 AZN",
    "Bina 2/9, {} 2 otaq",
    "1) {}; 2) {}",
)


@dataclass(frozen=True)
class Case:
    country: str
    number: str
    spelling: str
    sentence: str

    @property
    def text(self) -> str:
        return self.sentence.replace("{}", self.spelling)

    def scrubbed(self, mark: str) -> str:
        return self.sentence.replace("{}", mark)


def cases(seed: int, count: int) -> Iterator[Case]:
    """Yield `count` telephones in digits, all countries and disguises equally often."""
    rng = Random(seed)
    disguises = list(DISGUISES)
    for number in range(count):
        kind = RANGES[number % len(RANGES)]
        name = disguises[number // len(RANGES) % len(disguises)]
        national, spelling, is_bare = _written(kind, rng, name)
        sentence = rng.choice(SENTENCES if is_bare else SENTENCES + AMONG_NUMBERS)
        yield Case(kind.country, f"+{kind.code}{national}", DISGUISES[name](spelling), sentence)


def _written(kind: Range, rng: Random, disguise: str) -> tuple[str, str, bool]:
    """Return the number without its 0, one way to write it, and whether that way has neither +, 00 nor 0."""
    prefix, rest = rng.choice(kind.prefixes), "".join(rng.choices("0123456789", k=kind.follow))
    is_apart = disguise in ("each digit apart", "zero width", "soft hyphens")
    separator = "" if is_apart else rng.choice(SEPARATORS)
    groups, at, grouping = [], 0, rng.choice(kind.groupings)
    for length in grouping:
        groups.append(rest[at : at + length])
        at += length
    tail = separator.join(groups)
    bracket = ")" if is_apart else rng.choice(AFTER_AREA)
    forms = {
        "0": f"0{prefix}{separator}{tail}",
        "0 ": f"0{separator}{prefix}{separator}{tail}",
        "(0)": f"(0{prefix}{bracket}{tail}",
        "+": f"+{kind.code}{separator}{prefix}{separator}{tail}",
        "+ ": f"+ {kind.code} {prefix}{separator}{tail}",
        "(+)": f"(+{kind.code}) {prefix}{separator}{tail}",
        "+(0)": f"+{kind.code} (0){prefix}{separator}{tail}",
        "+()": f"+{kind.code} ({prefix}{bracket}{tail}",
        "00": f"00{kind.code}{separator}{prefix}{separator}{tail}",
        "00 ": f"00 {kind.code} {prefix}{separator}{tail}",
        **({"code": f"{kind.code}{separator}{prefix}{separator}{tail}"} if separator != " / " else {}),
        **({"bare": f"{prefix}{separator}{tail}"} if _is_bare(kind, grouping, separator) else {}),
    }
    form = rng.choice(sorted(forms))
    return prefix + rest, forms[form], form in ("bare", "code")


def _is_bare(kind: Range, grouping: tuple[int, ...], separator: str) -> bool:
    """Return whether people leave the 0 out, and the result does not have the form of a price or a decimal number.
    Polish telephones are always written in groups of three."""
    is_price = grouping == (3, 3) and kind.country != "PL"
    is_decimal = len(grouping) == 1 and "." in separator
    return kind.is_bare and not is_price and not is_decimal and separator != " / "


def spelled_cases(seed: int, count: int) -> Iterator[Case]:
    """Yield `count` telephones in words, digit by digit, sometimes with a part in digits."""
    rng = Random(seed)
    languages = list(WORDS)
    for number in range(count):
        kind = RANGES[number % len(RANGES)]
        words = WORDS[languages[number // len(RANGES) % len(languages)]].split()
        prefix, rest = rng.choice(kind.prefixes), "".join(rng.choices("0123456789", k=kind.follow))
        separator = rng.choice((" ", ", ", "-", " - ", ". ", "\u00a0"))
        in_words = [words[int(each)] for each in f"0{prefix}{rest}"]
        area = len(prefix) + 1
        parts = rng.choice((in_words, in_words, [f"0{prefix}", *in_words[area:]], [*in_words[:area], rest]))
        spelling = separator.join(parts)
        sentence = rng.choice([each for each in SENTENCES if separator != ", " or each != "{}, {}"])
        yield Case(kind.country, f"+{kind.code}{prefix}{rest}", spelling, sentence)

"""Telephones in free text, in any spelling. Prices, areas, dates and references are not telephones.

1. Groups of digits are found, in any script and disguise. Groups that stand close together form a run.
2. Dates, hours, coordinates and company numbers are cut out of the runs.
3. Each window of whole groups in a run is tested. Digits that begin with +, 00 or 0 and have the length of a telephone
   are one, unless they are the end of another number. Other digits need the form of a telephone, or a word for a
   telephone before them.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple
from unicodedata import digit

from realestate.privacy import numbering_plans as plans
from realestate.privacy.numbering_plans import Plan, plan_of
from realestate.privacy.spelled_numbers import find_spelled_numbers

# --- the words around digits -------------------------------------------------------------

#: Characters before a number that are searched for a word.
_NEAR = 48


def _any(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


_NUMBER = _any(r"n[öo]mr[əe]\w{0,5} number nummer num[ée]ro nr no n° № #")
_PHONE_WORD = _any(
    r"""t[eé]l\w{0,10} mobi?l?\w{0,6} gsm (?:tele)?phone ph fax call contact\w{0,5} imo bel(?:len)? appel\w{0,5}
    whats\s?app\w{0,4} w[ha]{0,2}tsap+\w{0,4} v[ao]tsap+\w{0,4} wapp? wp viber telegram signal
    [əe]laq[əe]\w{0,4} z[əe]ng\w{0,3} n[öo]mr[əe]m\w{0,3}"""
)
_FILLER_WORD = _any(r"edin ed[əe] bil[əe]rsiniz et saxlay[ıi]n yaz[ıi]n us me ons mij moi nous le at on op au")
_PHONE_EMOJI = "☎☏✆📞📱📲🤙"
_LETTER_OR_EMOJI = re.compile(rf"[^\W\d_]|[{_PHONE_EMOJI}]")
_LETTER_EMOJI_OR_PLUS = re.compile(rf"{_LETTER_OR_EMOJI.pattern}|[+＋]")
_PHONE = re.compile(
    rf"(?:\b{_PHONE_WORD}|[{_PHONE_EMOJI}])(?:\W{{0,4}}(?:{_NUMBER}|\b{_FILLER_WORD}\b)){{0,3}}\W{{0,5}}$",
    re.IGNORECASE,
)
_REFERENCE_WORD = _any(
    r"""r[eé]f\w{0,8} kodu? code id elan\w{0,4} annonce zoekertje advert\w{0,7} listing dossier\w{0,6} lot
    [ck]adast\w{0,5} reyestr\w{0,4} seriya iban rekening\w{0,6} compte hesab\w{0,3} e?pc peb uc sku"""
)
_REFERENCE = re.compile(rf"\b{_REFERENCE_WORD}(?:\W{{0,4}}{_NUMBER})?\W{{0,4}}$", re.IGNORECASE)

_SYMBOLS = "€$£₼₽"
_CURRENCY = r"zł eur euros? azn usd gbp pln zar manat\w{0,4} man"
_PRICE_WORD = _any(rf"{_CURRENCY} qiym[əe]t\w{{0,4}} price prix prijs cena preis")
_MONEY_BEFORE = re.compile(rf"(?:[{_SYMBOLS}]|\b{_PRICE_WORD})\W{{0,3}}$", re.IGNORECASE)
_UNIT_WORD = _any(
    rf"""{_CURRENCY} [mм][²2]? km cm kv sot ha ar hektar sq sqft kwh min [əe]d[əe]d otaq\w{{0,5}} m[əe]rt[əe]b\w{{0,5}}
    bed\w{{0,6}} rooms? bath\w{{0,5}} kamers? slaapkamers? chambres? pi[eè]ces? [ée]tages? zimmer pok\w{{0,3}}
    il ild[əe] years? jaar ans"""
)
_UNIT_AFTER = re.compile(rf"[ \u00a0]?(?:[{_SYMBOLS}%²°]|{_UNIT_WORD}\b)", re.IGNORECASE)

_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_MONTH = r"(?:0?[1-9]|1[0-2])"
_HOUR = r"(?:[01]?\d|2[0-4])"
_DEGREES = r"-?(?:0|[1-9]\d{0,2})[.,]\d{4,}"
#: Dates, opening hours, coordinates. A short one may also be the end of a telephone: "0475 12.10.26".
_HARMLESS = re.compile(
    rf"""(?<![\w+])(?<!\w[./:-])(?:
        (?:19|20)\d\d(?P<a>[-./]){_MONTH}(?P=a){_DAY}(?:[T\s]{_HOUR}:[0-5]\d(?::[0-5]\d)?)?
        |{_DAY}(?P<b>[-./]){_MONTH}(?P=b)(?:19|20)\d\d
        |{_DEGREES}\s?[,;/\s]\s?{_DEGREES}
        |(?P<short>{_HOUR}:[0-5]\d(?::[0-5]\d)?
            |{_DAY}(?P<c>[-./]){_MONTH}(?P=c)\d\d
            |{_HOUR}[.:][0-5]\d\s?[-–]\s?{_HOUR}[.:][0-5]\d)
    )(?!\w|[./:-][\doOоО])""",
    re.VERBOSE,
)
_AREA_BEFORE = re.compile(r"(?:(?<!\w)[0oOоО][\doOоО]{1,4}|[+＋][\d\s(]{1,12})\)?[\s/-]{1,3}$")
_TAXPAYER = re.compile(r"V[ÖO]EN\W{0,4}(\d{10})\b", re.IGNORECASE)
#: A Belgian company number has the form of a mobile telephone; its last two digits are a checksum.
_COMPANY = re.compile(
    r"(?:\bBE|TVA|BTW|VAT|KBO|BCE|RPM|RPR|nummer|entreprise)\W{0,6}(?:BE\W{0,2})?([01]\d{3}[ .]?\d{3}[ .]?\d{3})\b",
    re.IGNORECASE,
)


def announces_phone(text: str, start: int) -> bool:
    """Return whether the words before the position announce a telephone."""
    before = text[max(0, start - _NEAR) : start]
    if not _LETTER_OR_EMOJI.search(before):
        return False
    return bool(_PHONE.search(before)) and not _REFERENCE.search(before)


def may_be_announced(text: str, first: int, last: int) -> bool:
    """Return whether a letter, a telephone emoji or a + stands before digits that begin from `first` to `last`."""
    return _LETTER_EMOJI_OR_PLUS.search(text, max(0, first - _NEAR), last) is not None


def announces_reference(text: str, start: int) -> bool:
    return bool(_REFERENCE.search(text[max(0, start - _NEAR) : start]))


def is_money_or_measure(text: str, start: int, end: int) -> bool:
    return unit_follows(text, end) or bool(_MONEY_BEFORE.search(text[max(0, start - _NEAR) : start]))


def unit_follows(text: str, end: int) -> bool:
    return bool(_UNIT_AFTER.match(text, end))


def harmless_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the spans of dates, hours, coordinates and company numbers, which have the form of telephones."""
    return [
        *(found.span() for found in _HARMLESS.finditer(text, start, end) if not _is_end_of_phone(found)),
        *(found.span(1) for found in _TAXPAYER.finditer(text, start, end)),
        *(found.span(1) for found in _COMPANY.finditer(text, start, end) if _is_company(re.sub(r"\D", "", found[1]))),
    ]


def _is_end_of_phone(found: re.Match[str]) -> bool:
    if found["short"] is None:
        return False
    return bool(_AREA_BEFORE.search(found.string[max(0, found.start() - _NEAR) : found.start()]))


def _is_company(digits: str) -> bool:
    return 97 - int(digits[:8]) % 97 == int(digits[8:])


# --- groups of digits, and runs of groups ------------------------------------------------

#: Digits in circles. All other digits (full-width, other scripts) match \d.
_RINGED = "⓪①-⑨⓿❶-❾➀-➈➊-➒"
#: Letters, Latin and Cyrillic, that mean zero if no other letter is beside them.
_ZEROS = "oOоО"
_DIGIT = rf"[\d{_RINGED}]"
_ZERO = rf"(?<![^\W\d_])[{_ZEROS}]+(?![^\W\d_])"
_GROUP = re.compile(rf"(?:{_DIGIT}|{_ZERO})+")
#: Enough digits for a telephone. The rest of the text is not read.
_REGION = re.compile(rf"{_DIGIT}(?:[\W_]{{0,8}}[\d{_RINGED}{_ZEROS}]){{6,}}")
#: Characters before and after a region that may belong to it.
_AROUND = 24

#: Invisible characters: zero width blanks and marks, soft hyphens, the box of a keycap emoji.
INVISIBLE = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\u20e3\ufe00-\ufe0f\ufeff"
)
BLANK = r" \u00a0\u2000-\u200a\u202f\u205f\u3000"
_INVISIBLE = re.compile(f"[{INVISIBLE}]+")
#: What may stand between two groups of one run. " | " is the line between two cells of a table.
_GAP = re.compile(rf"(?![{BLANK}]*\|[{BLANK}])[{BLANK}\-‐-―−－.．·•/／⁄\\()（）\[\]{{}}_*~|,'’\"+＋=#^…:]{{0,5}}")

#: A telephone has at least so many digits.
FEWEST = 7


class Group(NamedTuple):
    """Position in the text, and the digits as ASCII."""

    start: int
    end: int
    digits: str
    is_spelled: bool = False


def digit_runs(text: str, *, in_words: bool = False) -> Iterator[list[Group]]:
    """Yield the runs that are long enough for a telephone. With `in_words`, numbers in words are groups too."""
    groups = _groups(text, 0, len(text)) if in_words else _groups_of_regions(text)
    if in_words:
        groups = sorted([*groups, *(Group(*each, is_spelled=True) for each in find_spelled_numbers(text))])
    return filter(_is_long, _close_together(text, groups))


def without_harmless(text: str, run: list[Group]) -> Iterator[list[Group]]:
    """Cut dates and other harmless numbers out of a run; yield the parts that are long enough for a telephone."""
    spans = sorted(harmless_spans(text, max(0, run[0].start - _AROUND), run[-1].end + _AROUND))
    return filter(_is_long, _cut(run, spans)) if spans else iter((run,))


def visible(text: str) -> str:
    """Return the text without invisible characters. An ASCII text has none."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def _groups_of_regions(text: str) -> list[Group]:
    regions: list[tuple[int, int]] = []
    for found in _REGION.finditer(text):
        start = max(0, found.start() - _AROUND)
        end = found.end() + _AROUND
        if regions and start < regions[-1][1]:
            start, _ = regions.pop()
        regions.append((start, end))
    return [group for region in regions for group in _groups(text, *region)]


def _groups(text: str, start: int, end: int) -> list[Group]:
    return [Group(*found.span(), _digits(found[0])) for found in _GROUP.finditer(text, start, end)]


def _digits(group: str) -> str:
    return group if group.isascii() and group.isdigit() else "".join(map(_digit, group))


def _digit(character: str) -> str:
    return "0" if character in _ZEROS else str(digit(character))


def _close_together(text: str, groups: list[Group]) -> Iterator[list[Group]]:
    run: list[list[Group]] = []  # groups without a visible gap between them are one
    for group in groups:
        gap = visible(text[run[-1][-1].end : group.start]) if run else ""
        if run and not _GAP.fullmatch(gap):
            yield [_joined(each) for each in run]
            run = []
        if run and not gap and (len(run[-1]) > 1 or not run[-1][0].is_spelled):
            run[-1].append(group)
        else:
            run.append([group])
    yield [_joined(each) for each in run]


def _joined(groups: list[Group]) -> Group:
    if len(groups) == 1:
        return groups[0]
    return Group(groups[0].start, groups[-1].end, "".join(group.digits for group in groups))


def _is_long(run: list[Group]) -> bool:
    return sum(len(group.digits) for group in run) >= FEWEST


def _cut(run: list[Group], spans: list[tuple[int, int]]) -> Iterator[list[Group]]:
    part: list[Group] = []
    for group in run:
        before = bisect_left(spans, (group.end, 0))
        if before and spans[before - 1][1] > group.start:
            yield part
            part = []
        else:
            part.append(group)
    yield part


# --- telephones among the runs -----------------------------------------------------------

_PLUS = re.compile(rf"(?<!\d)[+＋][{BLANK}{INVISIBLE}(（]{{0,5}}$")
_WIDE = re.compile(r"...|,")
_DASHED = re.compile(rf"[{BLANK}][-‐-―−][{BLANK}]")
_DASH_OR_SLASH = re.compile(rf"[{BLANK}][-‐-―−/][{BLANK}]")
_THOUSANDS = re.compile(rf"[{BLANK}.,'’]")
_FRACTION = re.compile(r"\d\d[.,]$")
_OPENING_BRACKET = re.compile(rf"[(（][{BLANK}{INVISIBLE}]{{0,3}}$")
_INVISIBLE_END = re.compile(f"[{INVISIBLE}]*")
#: 00 and fifteen digits: nobody dials more.
_MOST_DIGITS = 17
#: A number of more characters is complete: a new number may follow it.
_COMPLETE = 10

#: The index of the last group, with the digits up to it, or the number they are.
Window = tuple[int, str]
Reader = Callable[[str, Plan], str | None]
Guard = Callable[[int, int], bool]


class Phone(NamedTuple):
    """Position in the text; E.164, or the digits as dialled if the country or the area code is unknown."""

    start: int
    end: int
    number: str


def find(text: str, country: str, *, in_words: bool = False) -> list[Phone]:
    """Return the telephones of a text in order. With `in_words`, those in words too."""
    plan = plan_of(country)
    return [
        found
        for run in digit_runs(text, in_words=in_words)
        if in_words or may_contain_phone(text, run, plan)
        for part in without_harmless(text, run)
        if in_words or may_contain_phone(text, part, plan)
        for found in _Search(text, part, plan).phones()
    ]


def may_contain_phone(text: str, run: list[Group], plan: Plan) -> bool:
    """Cheap check of a run. A number without +, 0 and a word before it must fit the plan as it is.

    If this is False for a run, it is False for each part of it.
    """
    if may_be_announced(text, run[0].start, run[-1].start) or any(group.digits.startswith("0") for group in run):
        return True
    rests = ("".join(group.digits for group in run[first : first + _MOST_DIGITS]) for first in range(len(run)))
    return any(plan.bare.match(rest) or (plan.code and rest.startswith(plan.code)) for rest in rests)


class Run:
    """Groups of digits that stand close together. `first` and `last` are the first and the last group of a window."""

    def __init__(self, text: str, groups: list[Group]) -> None:
        self.text = text
        self.groups = groups
        self.gap = ["", *(visible(text[before.end : after.start]) for before, after in pairwise(groups))]
        """The text before each group, without invisible characters."""
        self.is_wide = [bool(_WIDE.search(gap)) for gap in self.gap]
        self.has_plus = [self.plus(at) is not None for at in range(len(groups))]
        self.has_words = any(group.is_spelled for group in groups)
        self._lengths = [len(group.digits) for group in groups]

    def window(self, first: int, last: int) -> list[Group]:
        return self.groups[first : last + 1]

    def gaps(self, first: int, last: int) -> list[str]:
        return self.gap[first + 1 : last + 1]

    def lengths(self, first: int, last: int) -> list[int]:
        return self._lengths[first : last + 1]

    def plus(self, at: int) -> re.Match[str] | None:
        """Return the + before a group; that of "3+1" does not count."""
        start = self.groups[at].start
        return _PLUS.search(self.text[max(0, start - 8) : start])

    def is_glued(self, at: int) -> bool:
        """Return whether a letter stands directly before the group, as before the 2 of "m2"."""
        start = self.groups[at].start
        return self.text[start - 1 : start].isalpha()

    def is_fraction(self, at: int) -> bool:
        """Return whether the group is the decimals of a number: "05" in "85.05". "1.050…" may begin a list."""
        start = self.groups[at].start
        return bool(_FRACTION.search(self.text[max(0, start - 3) : start]))

    def is_even(self, first: int, last: int) -> bool:
        """Return whether all gaps are narrow, or all are the same."""
        return not any(self.is_wide[first + 1 : last + 1]) or len(set(self.gaps(first, last))) == 1

    def begins_anew(self, first: int, at: int) -> bool:
        """Return whether another number begins here: with a 0, or after a gap wider than those before it."""
        if at == len(self.groups):
            return False
        if self.is_wide[at] and self.gap[at] not in self.gap[first + 1 : at]:
            return True
        lengths = self.lengths(at, at + 1)
        return self.groups[at].digits.startswith("0") and lengths[0] > 1 and max(lengths) > 2

    def is_in_thousands(self, first: int, last: int) -> bool:
        """Return whether the window is a number in thousands: "1 250 000", not "50 123 45 67" or "475/123/456"."""
        head, *others = self.lengths(first, last)
        if head > 3 or any(length != 3 for length in others):
            return False
        gaps = set(self.gaps(first, last))
        return len(gaps) == 1 and bool(_THOUSANDS.fullmatch(gaps.pop()))

    def is_tail_of_thousands(self, first: int, last: int) -> bool:
        """Return whether the window is the end of a price.

        Examples: "050 200 1 200" in "1 050 200 1 200 000", "049 - 5 540 501" in "6 049 - 5 540 501". "5 011 717 878" is
        too much for a price, and "5 050 234 56 78" is not grouped as a price.
        """
        head = self._head_of_thousands(first)
        if head == first or first == last:
            return False
        if not self.is_in_thousands(head, first + 1):
            is_part = _DASH_OR_SLASH.fullmatch(self.gap[first + 1]) and self.is_even(first, last)
            return self.is_wide[first + 1] and (first - head > 1 or not is_part)
        lengths = self.lengths(first, last)
        is_round = any(group.digits == "000" for group in self.window(first, last))
        return not self.is_even(first, last) or is_round or (lengths[-1] == 3 and min(lengths) < 3)

    def _head_of_thousands(self, at: int) -> int:
        """Return the group where the number begins that may end with this group."""
        head = at
        while head > max(0, at - 5) and self.is_in_thousands(head - 1, at):
            head -= 1
        is_number = not self.groups[head].digits.startswith("0") and not self.is_glued(head)
        return head if is_number else at

    def is_in_good_form(self, first: int, last: int) -> bool:
        """Return False for a decimal number, a list, the 2 of "m2", and several numbers in a row."""
        gaps = self.gaps(first, last)
        lengths = self.lengths(first, last)
        if gaps in (["."], [","]) or self.is_fraction(first) or self.is_glued(first):
            return False
        if any(_WIDE.search(gap) and not _DASHED.fullmatch(gap) for gap in gaps):
            return False
        return self.is_even(first, last) and (lengths[0] > 1 or max(lengths) == 1)


class _Search(Run):
    """Reads a run from its beginning: finds the first window that is a telephone, then continues after it."""

    def __init__(self, text: str, groups: list[Group], plan: Plan) -> None:
        super().__init__(text, groups)
        self.plan = plan
        self.follows_phone = False

    def phones(self) -> Iterator[Phone]:
        at = 0
        while at < len(self.groups):
            read = self._read(at)
            if read:
                last, number = read
                yield self._phone(at, last, number)
                at = last
            self.follows_phone = read is not None
            at += 1

    def _read(self, first: int) -> Window | None:
        """Return the telephone that begins with this group, by its last group. The surest form is tried first."""
        windows = self._windows(first)
        if not windows:
            return None
        if self.has_plus[first]:
            return self._international(first, windows, None)
        if windows[0][1].startswith("00"):
            after_zeros = [(last, digits[2:]) for last, digits in windows]
            return self._international(first, after_zeros, self._may_be_dialled)
        if windows[0][1].startswith("0"):
            return (
                self._best(plans.read_national, first, windows, self._may_be_dialled)
                or self._best(plans.read_national_of_any_country, first, windows, self._may_be_dialled)
                or self._announced(first, windows)
                or self._in_words(first, windows)
            )
        return (
            self._best(plans.read_with_code, first, windows, self._is_coded)
            or self._best(plans.read_bare, first, windows, self._is_bare)
            or self._announced(first, windows)
            or self._in_words(first, windows)
        )

    def _international(self, first: int, windows: list[Window], guard: Guard | None) -> Window | None:
        if windows[0][1].startswith("0"):
            return None  # no calling code begins with 0
        known = self._best(plans.read_international, first, windows, guard)
        return known or self._best(plans.read_international_of_any_country, first, windows, guard)

    def _windows(self, first: int) -> list[Window]:
        """Return the windows that begin with this group, the longest first."""
        windows: list[Window] = []
        digits = ""
        for last in range(first, len(self.groups)):
            digits += self.groups[last].digits
            if len(digits) > _MOST_DIGITS or (last > first and self.has_plus[last]):
                break
            if len(digits) >= FEWEST:
                windows.append((last, digits))
        return windows[::-1]

    def _best(self, reader: Reader, first: int, windows: list[Window], guard: Guard | None = None) -> Window | None:
        """Return the likeliest window that the reader accepts and that does not reach into the next number."""
        read = [
            (last, number)
            for last, digits in windows
            if (number := reader(digits, self.plan)) and (guard is None or guard(first, last))
        ]
        if len(read) > 1:
            read.sort(key=lambda each: self._is_doubtful(first, each[0]))
            whole = [last for last, number in read if len(number) > _COMPLETE and self.begins_anew(first, last + 1)]
            read = [each for each in read if all(each[0] <= last for last in whole)]
        return read[0] if read else None

    def _is_doubtful(self, first: int, last: int) -> bool:
        """Return whether a window ends with a measure, or with a single digit that may not be part of it."""
        lengths = self.lengths(first, last)
        return unit_follows(self.text, self.groups[last].end) or (lengths[-1] == 1 and max(lengths[1:], default=1) > 1)

    def _may_be_dialled(self, first: int, last: int) -> bool:
        """Return False for the end of a number, a fraction, a list of small numbers, and a reference in one piece."""
        group = self.groups[first]
        gaps = self.gaps(first, last)
        if any(each.is_spelled for each in self.window(first, last)):
            return True
        if group.digits == "0" and gaps in (["."], [","]):
            return False
        if any("," in gap for gap in gaps) and len(group.digits) < 3:
            return False
        if self.is_fraction(first) and (any(set(gap) & set(".,") for gap in gaps) or not gaps):
            return False
        if self.is_tail_of_thousands(first, last):
            return False
        return bool(gaps) or not announces_reference(self.text, group.start)

    def _is_coded(self, first: int, last: int) -> bool:
        """Return whether a number that begins with the calling code is written as telephones are."""
        if not self.is_in_good_form(first, last) or self._is_money(first, last):
            return False
        return not announces_reference(self.text, self.groups[first].start)

    def _is_bare(self, first: int, last: int) -> bool:
        """Return whether a number without + or 0 stands alone and is written as telephones are."""
        if self.is_in_thousands(first, last) and self.plan is not plans.PLANS["PL"]:
            return False
        stands_alone = first == 0 or self.is_wide[first]
        ends_alone = last + 1 == len(self.groups) or (self.is_wide[last + 1] and self.gap[last + 1] != ",")
        return stands_alone and ends_alone and self._is_coded(first, last)

    def _announced(self, first: int, windows: list[Window]) -> Window | None:
        """Return the telephone after a word for a telephone, or after another telephone."""
        follows = self.follows_phone and len(self.groups[first].digits) > 1
        if not follows and not announces_phone(self.text, self.groups[first].start):
            return None
        return self._best(plans.read_announced, first, windows, self._may_be_announced)

    def _may_be_announced(self, first: int, last: int) -> bool:
        digits = "".join(group.digits for group in self.window(first, last))
        if not (self.plan.national.fullmatch(digits) or self._is_local(first, last)):
            return False
        return not self._is_money(first, last)

    def _is_local(self, first: int, last: int) -> bool:
        """Return whether a number that fits no plan is written as a local telephone: "565 12 34"."""
        if self.is_in_thousands(first, last) or max(self.lengths(first, last)) < 3:
            return False
        return not any(self.begins_anew(first, at) for at in range(first + 1, last + 1))

    def _is_money(self, first: int, last: int) -> bool:
        return is_money_or_measure(self.text, self.groups[first].start, self.groups[last].end)

    def _in_words(self, first: int, windows: list[Window]) -> Window | None:
        """Return a number in words. Some words may mean one digit or two, so it need not fit the plan."""
        if not self.has_words:
            return None
        for last, digits in windows:
            words = sum(group.is_spelled for group in self.window(first, last))
            is_long = max(self.lengths(first, last)) == 1 or (digits.startswith("0") and len(digits) > 7)
            if words > 2 and is_long and len(digits) <= 13:
                return last, digits
        return None

    def _phone(self, first: int, last: int, number: str) -> Phone:
        """Return the telephone with its plus, the bracket that it closes, and invisible characters at its end."""
        start = self.groups[first].start
        end = self.groups[last].end
        if invisible := _INVISIBLE_END.match(self.text, end):
            end = invisible.end()
        if plus := self.plus(first):
            start -= len(plus[0])
        bracket = _OPENING_BRACKET.search(self.text[max(0, start - 4) : start])
        inside = self.text[start:end]
        if bracket and inside.count(")") + inside.count("）") > inside.count("(") + inside.count("（"):
            start -= len(bracket[0])
        return Phone(start, end, number)

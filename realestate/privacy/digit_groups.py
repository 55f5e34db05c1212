"""Groups of digits in a text, in any script and disguise, and the runs of groups that stand close together."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple
from unicodedata import digit

from realestate.privacy.phone_words import harmless_spans
from realestate.privacy.spelled_numbers import find_spelled_numbers

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
_PLUS = re.compile(rf"(?<!\d)[+＋][{BLANK}{INVISIBLE}(（]{{0,5}}$")
_WIDE = re.compile(r"...|,")
_DASHED = re.compile(rf"[{BLANK}][-‐-―−][{BLANK}]")
_DASH_OR_SLASH = re.compile(rf"[{BLANK}][-‐-―−/][{BLANK}]")
_THOUSANDS = re.compile(rf"[{BLANK}.,'’]")
_FRACTION = re.compile(r"\d\d[.,]$")

#: A telephone has at least this many digits.
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

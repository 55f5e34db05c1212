"""Groups of digits in free text, in any script and disguise; groups that stand close together form a run."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple
from unicodedata import digit

from realestate.privacy.context import harmless_spans
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
    run: list[Group] = []
    for group in groups:
        gap = visible(text[run[-1].end : group.start]) if run else ""
        if run and not _GAP.fullmatch(gap):
            yield run
            run = []
        if run and not gap and not run[-1].is_spelled:
            run.append(Group(run[-1].start, group.end, run.pop().digits + group.digits))
        else:
            run.append(group)
    yield run


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

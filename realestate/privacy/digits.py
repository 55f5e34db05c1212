"""Digits in free text, in whatever disguise, as groups; groups that stand close together are a run."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple
from unicodedata import digit

from realestate.privacy.numerals import spelled
from realestate.privacy.surroundings import harmless

#: Digits in rings; all others, full-width or of another script, are \d.
_RINGED = "⓪①-⑨⓿❶-❾➀-➈➊-➒"
#: Letters that stand for a zero where no other letter is beside them, the Cyrillic ones too.
_ZEROS = "oOоО"
_DIGIT = rf"[\d{_RINGED}]"
_ZERO = rf"(?<![^\W\d_])[{_ZEROS}]+(?![^\W\d_])"
_GROUP = re.compile(rf"(?:{_DIGIT}|{_ZERO})+")
#: Where so many digits stand that one may be a telephone: the rest of the text is not looked at.
_REGION = re.compile(rf"{_DIGIT}(?:[\W_]{{0,8}}[\d{_RINGED}{_ZEROS}]){{6,}}")
#: How far around digits is looked for what belongs to them.
_AROUND = 24

#: What nobody sees: zero width blanks and marks, soft hyphens, the box of a keycap emoji.
UNSEEN = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\u20e3\ufe00-\ufe0f\ufeff"
)
BLANK = r" \u00a0\u2000-\u200a\u202f\u205f\u3000"
_UNSEEN = re.compile(f"[{UNSEEN}]+")
#: Not the lines between the cells of a table.
_GAP = re.compile(rf"(?![{BLANK}]*\|[{BLANK}])[{BLANK}\-‐-―−－.．·•/／⁄\\()（）\[\]{{}}_*~|,'’\"+＋=#^…:]{{0,5}}")

#: The fewest digits of a telephone.
FEWEST = 7


class Group(NamedTuple):
    start: int
    end: int
    digits: str
    is_spelled: bool = False


def runs(text: str, *, in_words: bool = False) -> Iterator[list[Group]]:
    """Those long enough for a telephone; with `in_words`, also in words."""
    groups = _groups(text, 0, len(text)) if in_words else _groups_of_regions(text)
    if in_words:
        groups = sorted([*groups, *(Group(*each, is_spelled=True) for each in spelled(text))])
    return filter(_is_long, _close_together(text, groups))


def without_harmless(text: str, run: list[Group]) -> Iterator[list[Group]]:
    """The run, cut where a date or another harmless thing stands, as far as it stays long enough for a telephone."""
    spans = sorted(harmless(text, max(0, run[0].start - _AROUND), run[-1].end + _AROUND))
    return filter(_is_long, _cut(run, spans)) if spans else iter((run,))


def seen(text: str) -> str:
    """The text without what nobody sees, none of which is ASCII."""
    return text if text.isascii() else _UNSEEN.sub("", text)


def _groups_of_regions(text: str) -> list[Group]:
    regions: list[tuple[int, int]] = []
    for found in _REGION.finditer(text):
        start, end = max(0, found.start() - _AROUND), found.end() + _AROUND
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
        gap = seen(text[run[-1].end : group.start]) if run else ""
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

"""Runs of digit groups: how groups stand to each other tells a price from a telephone."""

import re
from itertools import pairwise

from realestate.privacy.digits import BLANK, UNSEEN, Group, seen

_PLUS = re.compile(rf"(?<!\d)[+＋][{BLANK}{UNSEEN}(（]{{0,5}}$")
_WIDE = re.compile(r"...|,")
_DASHED = re.compile(rf"[{BLANK}][-‐-―−][{BLANK}]")
_PARTED = re.compile(rf"[{BLANK}][-‐-―−/][{BLANK}]")
_THOUSANDS = re.compile(rf"[{BLANK}.,'’]")
_FRACTION = re.compile(r"\d\d[.,]$")


class Run:
    """Groups of digits that stand close together; the questions are about the window from group `first` to `last`."""

    def __init__(self, text: str, groups: list[Group]) -> None:
        self.text = text
        self.groups = groups
        self.gap = ["", *(seen(text[before.end : after.start]) for before, after in pairwise(groups))]
        """What stands before each group, without what nobody sees."""
        self.is_wide = [bool(_WIDE.search(gap)) for gap in self.gap]
        self.has_plus = [self.plus(at) is not None for at in range(len(groups))]

    def window(self, first: int, last: int) -> list[Group]:
        return self.groups[first : last + 1]

    def gaps(self, first: int, last: int) -> list[str]:
        return self.gap[first + 1 : last + 1]

    def lengths(self, first: int, last: int) -> list[int]:
        return [len(group.digits) for group in self.groups[first : last + 1]]

    def plus(self, at: int) -> re.Match[str] | None:
        """The + before a group; that of "3+1" is none."""
        start = self.groups[at].start
        return _PLUS.search(self.text[max(0, start - 8) : start])

    def is_glued(self, at: int) -> bool:
        """To a letter, like the 2 of "m2"."""
        start = self.groups[at].start
        return self.text[start - 1 : start].isalpha()

    def is_fraction(self, at: int) -> bool:
        """The decimals of "85.05"; "1.050…" may be the first of a list."""
        start = self.groups[at].start
        return bool(_FRACTION.search(self.text[max(0, start - 3) : start]))

    def is_even(self, first: int, last: int) -> bool:
        """Whether all groups stand close, or all equally far from each other."""
        return not any(self.is_wide[first + 1 : last + 1]) or len(set(self.gaps(first, last))) == 1

    def begins_anew(self, first: int, at: int) -> bool:
        """Whether another number begins here: with a 0, or farther off than the groups before are from each other."""
        if at == len(self.groups):
            return False
        if self.is_wide[at] and self.gap[at] not in self.gap[first + 1 : at]:
            return True
        lengths = self.lengths(at, at + 1)
        return self.groups[at].digits.startswith("0") and lengths[0] > 1 and max(lengths) > 2

    def is_in_thousands(self, first: int, last: int) -> bool:
        """ "1 250 000", and not "50 123 45 67" or "475/123/456"."""
        head, *others = self.lengths(first, last)
        if head > 3 or any(length != 3 for length in others):
            return False
        parted = set(self.gaps(first, last))
        return len(parted) == 1 and bool(_THOUSANDS.fullmatch(parted.pop()))

    def is_tail_of_thousands(self, first: int, last: int) -> bool:
        """Like "050 200 1 200" in "1 050 200 1 200 000", or "049 - 5 540 501" in "6 049 - 5 540 501".

        "5 011 717 878" is too much for a price, and "5 050 234 56 78" is none."""
        head = self._head_of_thousands(first)
        if head == first or first == last:
            return False
        if not self.is_in_thousands(head, first + 1):
            is_part = _PARTED.fullmatch(self.gap[first + 1]) and self.is_even(first, last)
            return self.is_wide[first + 1] and (first - head > 1 or not is_part)
        lengths = self.lengths(first, last)
        is_round = any(group.digits == "000" for group in self.window(first, last))
        return not self.is_even(first, last) or is_round or (lengths[-1] == 3 and min(lengths) < 3)

    def _head_of_thousands(self, at: int) -> int:
        """The group where the number begins that this group may be the end of."""
        head = at
        while head > max(0, at - 5) and self.is_in_thousands(head - 1, at):
            head -= 1
        is_number = not self.groups[head].digits.startswith("0") and not self.is_glued(head)
        return head if is_number else at

    def is_in_good_form(self, first: int, last: int) -> bool:
        """Not a decimal number, a list, the 2 of "m2", or several numbers in a row."""
        gaps, lengths = self.gaps(first, last), self.lengths(first, last)
        if gaps in (["."], [","]) or self.is_fraction(first) or self.is_glued(first):
            return False
        if any(_WIDE.search(gap) and not _DASHED.fullmatch(gap) for gap in gaps):
            return False
        return self.is_even(first, last) and (lengths[0] > 1 or max(lengths) == 1)

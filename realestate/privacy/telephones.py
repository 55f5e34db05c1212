"""Telephones in free text, in whatever spelling, told apart from prices, areas, dates and references.

In a run of digits each window of whole groups is asked whether somebody can dial it. What begins with +, 00 or 0 and
is as long as a telephone is one, unless it is the tail of a number; what begins otherwise needs a form or a word that
shows it.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from realestate.privacy import dialling
from realestate.privacy.dialling import Plan, plan_of
from realestate.privacy.digits import BLANK, FEWEST, UNSEEN, Group, runs, without_harmless
from realestate.privacy.runs import Run
from realestate.privacy.surroundings import (
    announces_reference,
    announces_telephone,
    is_money_or_measure,
    may_be_announced,
    unit_follows,
)

_OPENED = re.compile(rf"[(（][{BLANK}{UNSEEN}]{{0,3}}$")
_ENDED = re.compile(f"[{UNSEEN}]*")
#: The most digits that are dialled: 00 and fifteen.
_MOST = 17
#: A number of more digits is long enough to be followed by another one.
_WHOLE = 10

#: A last group, with the digits up to it or the number they are.
Window = tuple[int, str]
Reader = Callable[[str, Plan], str | None]
Guard = Callable[[int, int], bool]


class Telephone(NamedTuple):
    """Where it stands; E.164, or the digits as dialled where the country or the area cannot be told."""

    start: int
    end: int
    number: str


def find(text: str, country: str, *, in_words: bool = False) -> list[Telephone]:
    """The telephones of a text in order; with `in_words`, those spelled out too."""
    plan = plan_of(country)
    return [
        found
        for run in runs(text, in_words=in_words)
        if in_words or may_hold_one(text, run, plan)
        for part in without_harmless(text, run)
        if in_words or may_hold_one(text, part, plan)
        for found in _Search(text, part, plan).telephones()
    ]


def may_hold_one(text: str, run: list[Group], plan: Plan) -> bool:
    """The cheap question: without a +, a 0 and a word before it, a number has to fit the plan as it is.

    What a run cannot hold, no part of it can.
    """
    if may_be_announced(text, run[0].start, run[-1].start) or any(group.digits.startswith("0") for group in run):
        return True
    rests = ("".join(group.digits for group in run[first : first + _MOST]) for first in range(len(run)))
    return any(plan.bare.match(rest) or (plan.code and rest.startswith(plan.code)) for rest in rests)


class _Search(Run):
    """Reads a run from its beginning: the first window that is a telephone, then what follows it."""

    def __init__(self, text: str, groups: list[Group], plan: Plan) -> None:
        super().__init__(text, groups)
        self.plan = plan
        self.follows_one = False

    def telephones(self) -> Iterator[Telephone]:
        at = 0
        while at < len(self.groups):
            read = self._read(at)
            if read:
                last, number = read
                yield self._telephone(at, last, number)
                at = last
            self.follows_one = read is not None
            at += 1

    def _read(self, first: int) -> Window | None:
        """The last group and the number of the telephone that begins with this group; readers by their certainty."""
        windows = self._windows(first)
        if not windows:
            return None
        if self.has_plus[first]:
            return self._with(dialling.international, first, windows) or self._with(dialling.foreign, first, windows)
        if windows[0][1].startswith("00"):
            abroad = [(last, digits[2:]) for last, digits in windows]
            return self._with(dialling.international, first, abroad, self._may_be_dialled) or self._with(
                dialling.foreign, first, abroad, self._may_be_dialled
            )
        if windows[0][1].startswith("0"):
            return (
                self._with(dialling.at_home, first, windows, self._may_be_dialled)
                or self._with(dialling.foreign_at_home, first, windows, self._may_be_dialled)
                or self._with(dialling.announced, first, windows, self._is_announced)
                or self._spelled_out(first, windows)
            )
        return (
            self._with(dialling.with_code, first, windows, self._is_coded)
            or self._with(dialling.bare, first, windows, self._is_shown)
            or self._with(dialling.announced, first, windows, self._is_announced)
            or self._spelled_out(first, windows)
        )

    def _windows(self, first: int) -> list[Window]:
        """The longest first."""
        windows: list[Window] = []
        digits = ""
        for last in range(first, len(self.groups)):
            digits += self.groups[last].digits
            if len(digits) > _MOST or (last > first and self.has_plus[last]):
                break
            if len(digits) >= FEWEST:
                windows.append((last, digits))
        return windows[::-1]

    def _with(self, reader: Reader, first: int, windows: list[Window], guard: Guard | None = None) -> Window | None:
        """The likeliest window that this reader knows, and that does not reach into the next number."""
        read = [
            (last, number)
            for last, digits in windows
            if (number := reader(digits, self.plan)) and (guard is None or guard(first, last))
        ]
        if len(read) > 1:
            read.sort(key=lambda each: self._is_doubtful(first, each[0]))
            whole = [last for last, number in read if len(number) > _WHOLE and self.begins_anew(first, last + 1)]
            read = [each for each in read if all(each[0] <= last for last in whole)]
        return read[0] if read else None

    def _is_doubtful(self, first: int, last: int) -> bool:
        """Whether a window ends with a measure's number, or with a single digit that may be no part of it."""
        lengths = self.lengths(first, last)
        return unit_follows(self.text, self.groups[last].end) or (lengths[-1] == 1 and max(lengths[1:], default=1) > 1)

    def _may_be_dialled(self, first: int, last: int) -> bool:
        """Not the tail of a number, a fraction, a list of small numbers, or a reference in one piece."""
        group, gaps = self.groups[first], self.gaps(first, last)
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
        """Whether a number that begins with the calling code is written as one."""
        if not self.is_in_good_form(first, last) or self._is_money(first, last):
            return False
        return not announces_reference(self.text, self.groups[first].start)

    def _is_shown(self, first: int, last: int) -> bool:
        """Whether a number without + or 0 stands alone and is written as telephones are."""
        if self.is_in_thousands(first, last) and self.plan is not dialling.PLANS["PL"]:
            return False
        stands_alone = first == 0 or self.is_wide[first]
        ends_alone = last + 1 == len(self.groups) or (self.is_wide[last + 1] and self.gap[last + 1] != ",")
        return stands_alone and ends_alone and self._is_coded(first, last)

    def _is_announced(self, first: int, last: int) -> bool:
        """Shown by the words before, or by another telephone before."""
        digits = "".join(group.digits for group in self.window(first, last))
        if not (self.plan.national.fullmatch(digits) or self._is_local(first, last)):
            return False
        follows = self.follows_one and len(self.groups[first].digits) > 1
        is_announced = follows or announces_telephone(self.text, self.groups[first].start)
        return is_announced and not self._is_money(first, last)

    def _is_local(self, first: int, last: int) -> bool:
        """Whether a number of no plan is written as one: "565 12 34"."""
        if self.is_in_thousands(first, last) or max(self.lengths(first, last)) < 3:
            return False
        return not any(self.begins_anew(first, at) for at in range(first + 1, last + 1))

    def _is_money(self, first: int, last: int) -> bool:
        return is_money_or_measure(self.text, self.groups[first].start, self.groups[last].end)

    def _spelled_out(self, first: int, windows: list[Window]) -> Window | None:
        """In words, of which some may mean one digit or two: their number need not fit the plan."""
        for last, digits in windows:
            words = sum(group.is_spelled for group in self.window(first, last))
            is_long = max(self.lengths(first, last)) == 1 or (digits.startswith("0") and len(digits) > 7)
            if words > 2 and is_long and len(digits) <= 13:
                return last, digits
        return None

    def _telephone(self, first: int, last: int, number: str) -> Telephone:
        """With its plus, the bracket that is shut inside it, and what nobody sees after the last digit."""
        start, end = self.groups[first].start, self.groups[last].end
        if unseen := _ENDED.match(self.text, end):
            end = unseen.end()
        if plus := self.plus(first):
            start -= len(plus[0])
        opened = _OPENED.search(self.text[max(0, start - 4) : start])
        inside = self.text[start:end]
        if opened and inside.count(")") + inside.count("）") > inside.count("(") + inside.count("（"):
            start -= len(opened[0])
        return Telephone(start, end, number)

"""Telephones in free text, in any spelling. Prices, areas, dates and references are not telephones.

1. Groups of digits are found, in any script and disguise. Groups that stand close together form a run.
2. Dates, hours, coordinates and company numbers are cut out of the runs.
3. Each window of whole groups in a run is tested. Digits that begin with +, 00 or 0 and have the length of a telephone
   are one, unless they are the end of another number. Other digits need the form of a telephone, or a word for a
   telephone before them.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from realestate.privacy import numbering_plans as plans
from realestate.privacy.digit_groups import BLANK, FEWEST, INVISIBLE, Group, Run, digit_runs, without_harmless
from realestate.privacy.numbering_plans import Plan, plan_of
from realestate.privacy.phone_words import (
    announces_phone,
    announces_reference,
    is_money_or_measure,
    may_be_announced,
    unit_follows,
)

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

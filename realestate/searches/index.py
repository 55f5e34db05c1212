"""Finds the saved searches that an event matches, among thousands, without evaluating each of them.

A search is a bit in an integer. For each value of an event, the bits of the searches that it rules out are looked up;
what is left after all fields is evaluated exactly by `query.matcher`. So the index may let too many through, but never
too few.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from realestate.storage.query import Comparison, Facts, Filter, Words, matcher
from realestate.storage.query.fields import TEXT_FIELDS
from realestate.storage.query.folding import words_of
from realestate.storage.searches import Search, filter_of

RuledOut = Callable[[Any], int]
"""Gets the value of a field, and returns the bits of the searches that cannot match."""


class SearchIndex:
    """Some searches."""

    def __init__(self, searches: Sequence[Search]) -> None:
        self._searches = searches
        filters = [filter_of(search) for search in searches]
        self._matchers = [matcher(each) for each in filters]
        self._all = (1 << len(searches)) - 1
        self._of_type: dict[str, int] = defaultdict(int)
        for bit, search in enumerate(searches):
            for type in search.on:
                self._of_type[type] |= 1 << bit
        self._by_field = list(_comparisons(filters))
        self._words = list(_words(filters))

    def matching(self, type: str, facts: Facts, now: datetime) -> Iterator[Search]:
        """The searches that want events of this type and match the listing."""
        left = self._of_type.get(type, 0)
        for field, ruled_out in self._by_field:
            if not left:
                return
            left &= ~ruled_out(facts.get(field))
        if left and self._words:
            left &= ~self._without_words(facts)
        for bit in _bits(left):
            if self._matchers[bit](facts, now):
                yield self._searches[bit]

    def _without_words(self, facts: Facts) -> int:
        """The searches for a word that no word of the listing begins with."""
        ruled_out = 0
        for field, masks in self._words:
            beginnings = _beginnings(field, facts)
            for word, mask in masks.items():
                if word not in beginnings:
                    ruled_out |= mask
        return ruled_out


def _bits(number: int) -> Iterator[int]:
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest


def _comparisons(filters: Sequence[Filter]) -> Iterator[tuple[str, RuledOut]]:
    """field -> function, of all comparisons that an index can decide."""
    equal: dict[str, dict[int, tuple[Any, ...]]] = defaultdict(dict)
    limits: dict[tuple[str, str], list[tuple[Any, int]]] = defaultdict(list)
    for bit, filter in enumerate(filters):
        for each in filter:
            if not isinstance(each, Comparison) or any(isinstance(value, timedelta) for value in each.values):
                continue
            if each.operator == "=":
                # Of two conditions on one field, the index uses the last one.
                equal[each.field][bit] = each.values
            elif each.operator != "!=":
                limits[each.field, each.operator].append((each.values[0], 1 << bit))
    for field, wanted in equal.items():
        yield field, _unequal(wanted)
    for (field, operator), found in limits.items():
        yield field, _beyond(found, operator)


def _unequal(wanted: Mapping[int, tuple[Any, ...]]) -> RuledOut:
    asking = 0
    by_value: dict[Any, int] = defaultdict(int)
    for bit, values in wanted.items():
        asking |= 1 << bit
        for value in values:
            by_value[value] |= 1 << bit

    def ruled_out(value: Any) -> int:
        if isinstance(value, frozenset):
            found = 0
            for each in value or (None,):
                found |= by_value.get(each, 0)
            return asking & ~found
        return asking & ~by_value.get(value, 0)

    return ruled_out


def _beyond(found: Iterable[tuple[Any, int]], operator: str) -> RuledOut:
    """For `<` and `<=` the searches with a smaller limit than the value are ruled out, for the others those with a
    larger one. `before[n]` has the bits of the first n limits, `behind[n]` those of the others."""
    limits: list[Any] = []
    masks: list[int] = []
    for limit, mask in sorted(found, key=lambda each: each[0]):
        limits.append(limit)
        masks.append(mask)
    before = [0]
    for mask in masks:
        before.append(before[-1] | mask)
    behind = [0]
    for mask in reversed(masks):
        behind.append(behind[-1] | mask)
    behind.reverse()
    everyone = before[-1]

    def ruled_out(value: Any) -> int:
        if value is None:
            return everyone
        match operator:
            case "<":  # limit > value is wanted
                return before[bisect_right(limits, value)]
            case "<=":
                return before[bisect_left(limits, value)]
            case ">":
                return behind[bisect_left(limits, value)]
            case _:
                return behind[bisect_right(limits, value)]

    return ruled_out


def _words(filters: Sequence[Filter]) -> Iterator[tuple[str, dict[str, int]]]:
    """field -> word -> the searches for it."""
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for bit, filter in enumerate(filters):
        for each in filter:
            if isinstance(each, Words):
                for word in each.words:
                    found[each.field][word] |= 1 << bit
    yield from found.items()


def _beginnings(field: str, facts: Facts) -> set[str]:
    """All beginnings of the words of the field."""
    names = TEXT_FIELDS if field == "text" else (field,)
    text = " ".join(value for name in names if (value := facts.get(name)))
    return {word[:end] for word in set(words_of(text)) for end in range(1, len(word) + 1)}

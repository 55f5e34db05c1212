import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from realestate.parsing.devalue import unpacked


def packed(value: Any) -> list[Any]:
    entries: list[Any] = []

    def put(value: Any) -> int:
        at = len(entries)
        entries.append(None)
        if isinstance(value, dict):
            value = {name: put(each) for name, each in value.items()}
        elif isinstance(value, list):
            value = [put(each) for each in value]
        entries[at] = value
        return at

    put(value)
    return entries


@given(
    some.recursive(
        some.none() | some.booleans() | some.integers() | some.text(),
        lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(), inner, max_size=4),
        max_leaves=12,
    )
)
def test_unpacking_reverses_packing(document: Any) -> None:
    assert unpacked(packed(document)) == document


def test_reads_json_text() -> None:
    assert unpacked(json.dumps(packed({"price": {"amount": 5}}))) == {"price": {"amount": 5}}


@pytest.mark.parametrize(
    ("entries", "value"),
    [
        ([["Reactive", 1], {"a": 2}, 5], {"a": 5}),
        ([{"when": 1}, ["Date", "2026-01-29T15:20:57.530Z"]], {"when": "2026-01-29T15:20:57.530Z"}),
        ([["Set", 1, 2], "x", "y"], ["x", "y"]),
        ([["Map", 1, 2], "x", 5], {"x": 5}),
        ([["null", "x", 1], 5], {"x": 5}),
        ([{"a": -1, "b": -3, "c": 1}, 0], {"a": None, "b": None, "c": 0}),
        ([{"self": 0, "a": 1}, "x"], {"self": None, "a": "x"}),
        ([{"a": 7}], {"a": None}),
        ([{"a": "1"}, 5], {"a": None}),
        ([["Ref"]], None),
        ([["Unheard", 1], 5], None),
    ],
)
def test_reads_special_types_and_ignores_broken_ones(entries: Any, value: Any) -> None:
    assert unpacked(entries) == value


@pytest.mark.parametrize("value", [None, "", "[", [], {}, 5, "{}", [[n + 1] for n in range(100_000)]])
def test_other_values_give_none(value: object) -> None:
    assert unpacked(value) is None


def test_an_entry_is_read_once_and_an_endless_chain_is_none() -> None:
    assert unpacked([[n + 1, n + 1] for n in range(100)])[0][1][0] is not None

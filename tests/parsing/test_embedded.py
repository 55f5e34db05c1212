from typing import Any

import pytest

from realestate.parsing.embedded import assigned, at


@pytest.mark.parametrize(
    ("html", "value"),
    [
        ('<script>window.classified = {"id": 1};\nwindow.other = {};</script>', {"id": 1}),
        ('window.classified={"text": "a }; b { <\\/script>"}; x', {"text": "a }; b { </script>"}),
        ("window.classified = [1, 2]", [1, 2]),
        ("no such thing", None),
        ('window.classified = {"id": 1', None),
        ("window.classified = undefined;", None),
        ('window.classified = {"price": Infinity};', None),
        ('window.classifiedUrl = "x"; window.classified = {"id": 2};', {"id": 2}),
    ],
)
def test_reads_what_a_script_assigns(html: str, value: Any) -> None:
    assert assigned(html, "window.classified") == value


@pytest.mark.parametrize(
    ("path", "value"),
    [("a.b", 1), ("a", {"b": 1}), ("a.c", None), ("x.y.z", None), ("a.b.c", None), ("n", None)],
)
def test_a_path_that_leads_nowhere_is_none(path: str, value: Any) -> None:
    assert at({"a": {"b": 1}, "n": None}, path) == value


def test_there_is_no_path_into_what_is_no_object() -> None:
    assert at(None, "a") is None
    assert at([1], "a") is None

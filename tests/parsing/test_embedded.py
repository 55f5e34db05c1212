import json
from typing import Any

import jmespath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from realestate.parsing.embedded import (
    assigned,
    assigned_in_bytes,
    at,
    decoded,
    first_at,
    listed,
    next_data,
    script,
    search,
)

DOCUMENTS = some.recursive(
    some.none() | some.booleans() | some.integers(-(10**9), 10**9) | some.text(),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(), inner, max_size=4),
    max_leaves=12,
)


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
        ('window["classified"]={"id": 3};', {"id": 3}),
        ("window['classified'] = [4]", [4]),
        ('window.classified = JSON.parse("{\\"id\\": 5, \\"t\\": \\"a }; \\\\\\" b\\"}");', {"id": 5, "t": 'a }; " b'}),
        (r"""window["classified"] = JSON.parse('{"id":\x20\u0036, "t": "it\'s"}');""", {"id": 6, "t": "it's"}),
        (
            'window.classified = {"a": undefined, "b": "undefined };", "c": [undefined, 1]};',
            {"a": None, "b": "undefined };", "c": [None, 1]},
        ),
        ("window.classified = window.classified || {}; window.classified = {}; window.classified = [7];", [7]),
        ("window.classified = {};", {}),
        ('if (window.classified == {"id": 8}) {}', None),
        ('window.classified = JSON.parse("{\\"id\\": 9");', None),
        ('window.classified = JSON.parse("{\\"id\\": 9', None),
        ("window.classified = JSON.parse(text);", None),
        ('window.classified = {"price": 1e999};', None),
        ("window.classified = {id: 10};", None),
        ('mywindow.classified = {"id": 11};', None),
    ],
)
def test_reads_what_a_script_assigns(html: str, value: Any) -> None:
    assert assigned(html, "window.classified") == value
    assert assigned_in_bytes(html.encode(), "window.classified") in (value, None, {})


@given(document=some.dictionaries(some.text(), DOCUMENTS, min_size=1), before=some.text(max_size=3))
@settings(max_examples=40)
def test_bytes_give_the_same_value_as_text(document: Any, before: str) -> None:
    page = f"<p>{before}window.classified = {json.dumps(document, ensure_ascii=False)};\n</p>"
    value = assigned_in_bytes(page.encode("utf-8", "replace"), "window.classified")
    assert value is None or value == assigned(page, "window.classified")


@pytest.mark.parametrize(
    ("page", "value"),
    [
        ('<script>\n  window.classified = {"city": "Gəncə"};\n', {"city": "Gəncə"}),
        ('<script>window.classified=["é"];\n', ["é"]),
        ('<script>window.classified = {"id": 1}; window.other = 2;\n', None),
        ('<script>window.classified = {"id": 1', None),
        ('<script>_window.classified = {"id": 1};\n', None),
        ('<script>éwindow.classified = {"id": 1};\n', None),
        ('<script>window.classified == {"id": 1};\n', None),
        ("<script>window.other = {};\n", None),
        ("", None),
    ],
)
def test_bytes_with_the_most_common_form_are_read(page: str, value: Any) -> None:
    assert assigned_in_bytes(page.encode(), "window.classified") == value


def test_bytes_that_are_not_utf_8_give_none() -> None:
    assert assigned_in_bytes('window.classified = {"city": "Liège"};\n'.encode("latin-1"), "window.classified") is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.b", 1),
        ("a", {"b": 1}),
        ("a.c", None),
        ("x.y.z", None),
        ("a.b.c", None),
        ("n", None),
        ("l.0.c", 2),
        ("l.1", None),
        ("l.c", None),
        ("l.0.c.0", None),
    ],
)
def test_a_missing_path_gives_none(path: str, value: Any) -> None:
    assert at({"a": {"b": 1}, "n": None, "l": [{"c": 2}]}, path) == value


def test_a_path_into_a_plain_value_gives_none() -> None:
    assert at(None, "a") is None
    assert at([1], "a") is None


def test_a_name_without_a_dot_may_be_var_let_or_const() -> None:
    assert assigned('var mapConfig = {"zoom": 3};', "mapConfig") == {"zoom": 3}
    assert assigned('window.mapConfig={"zoom": 3};', "mapConfig") == {"zoom": 3}
    assert assigned('const oldmapConfig = {"zoom": 3};', "mapConfig") is None


NEXT = '<p></p><script id="__NEXT_DATA__" type="application/json" crossorigin="anonymous">%s</script><script>1</script>'


def test_next_data_may_contain_json_as_text() -> None:
    page = NEXT % json.dumps({"props": {"pageProps": {"ad": {"id": 1}, "cache": json.dumps({"x": {"id": 2}})}}})
    assert next_data(page, "props.pageProps.ad.id") == 1
    assert next_data(page)["ad"] == {"id": 1}
    assert next_data(page, "props.pageProps.cache") == {"x": {"id": 2}}
    assert next_data(page, "props.nothing.here") is None


@pytest.mark.parametrize(
    "html",
    ["", NEXT % "", NEXT % "{", NEXT % "null", '<script id="__NEXT_DATA__">{"props": 1}', '<script id="__NEXT_DATA__'],
)
def test_a_page_that_is_cut_off_gives_none(html: str) -> None:
    assert next_data(html) is None


def test_finds_a_script_by_its_id_in_any_spelling() -> None:
    assert script("<script type=application/json id=state>[1]</script>", "state") == [1]
    assert script("<script id='state' type='application/json'>[1]</script>", "state") == [1]
    assert script('<script id="state2">[1]</script>', "state") is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        ("[1];", [1]),
        ('{"t": "line\nbreak"}', {"t": "line\nbreak"}),
        ('{"a": undefined}', {"a": None}),
        ('{"t": "cut \\ud83d"}', {"t": "cut \ud83d"}),
        ({"already": 1}, {"already": 1}),
        (None, None),
        ("", None),
        ("12 monkeys", None),
        ("NaN", None),
        ("[1e999]", None),
        ('{"a": 1', None),
        ("<html>", None),
        (b"\xff\xfe", None),
        ("[" * 100_000, None),
        ('{"a":' * 100_000, None),
        ("[" * 100_000 + "]" * 100_000, None),
        ("9" * 5000, None),
    ],
)
def test_invalid_json_gives_none(text: object, value: Any) -> None:
    assert decoded(text) == value


@given(DOCUMENTS)
def test_a_document_is_read_as_it_was_written(document: Any) -> None:
    written = json.dumps({"d": document}).replace("</", "<\\/")  # as in every page that works
    for page in (
        f"<script>window.x = {written};\nwindow.y = {{}};</script>",
        f'<script>window["x"]=JSON.parse({json.dumps(written)})</script>',
        f'<script id="x">{written}</script>',
    ):
        value = script(page, "x") if "id=" in page else assigned(page, "window.x")
        assert value == {"d": document}


@given(DOCUMENTS, some.integers(0, 400))
def test_a_document_that_is_cut_off_gives_none(document: Any, kept: int) -> None:
    written = json.dumps({"d": document})
    page = "<script>window.x = " + written[: min(kept, len(written) - 1)]
    assert assigned(page, "window.x") is None


def test_jmespath_finds_what_a_simple_path_cannot() -> None:
    document = {"params": [{"id": 1, "value": "a"}, {"id": 2, "value": "b"}], "text": "x"}
    assert search(document, "params[?id==`2`].value | [0]") == "b"
    assert search(document, "nothing[0].here") is None
    assert search(document, "sum(text)") is None
    assert search(None, "a.b") is None
    with pytest.raises(jmespath.exceptions.JMESPathError):
        search(document, "params[?")


def test_the_first_path_with_a_value_counts() -> None:
    document = {"total": None, "value": 0, "deep": [{"name": "a"}]}
    assert first_at(document, "total", "value", "deep") == 0
    assert first_at(document, "deep.0.name") == "a"
    assert first_at(None, "total") is None


def test_a_value_that_is_not_a_list_becomes_an_empty_list() -> None:
    assert listed([1]) == [1]
    assert [listed(each) for each in (None, "ab", {"a": 1}, 3)] == [[], [], [], []]

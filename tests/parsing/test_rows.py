from realestate.parsing import rows
from realestate.parsing.text import fold


def test_rows_of_json_are_found_by_their_folded_label() -> None:
    found = rows.of(
        [{"name": "Sahə, m²", "value": "85"}, {"name": "OTAQ SAYI", "value": 3}, {"name": "Təmir", "value": "-"}]
    )
    assert found == {fold("Sahə, m²"): "85", fold("Otaq sayı"): 3}
    assert found.first("Otaqların sayı", "Otaq sayı") == 3
    assert found.first("Təmir") is None


def test_take_removes_the_row() -> None:
    found = rows.of([{"key": "area", "value": "85"}, {"key": "lift", "value": False}], label="key")
    assert found.take("Area") == "85"
    assert found.take("Area") is None
    assert found == {"lift": False}


def test_a_list_with_one_value_becomes_that_value() -> None:
    attributes = {"attribute": [{"name": "ROOMS", "values": ["3"]}, {"name": "TAGS", "values": ["a", "b"]}]}
    found = rows.of({**attributes, "more": 1}, value="values")
    assert found.first("ROOMS") == "3"
    assert found.first("TAGS") == ["a", "b"]


def test_the_first_of_a_label_counts() -> None:
    assert rows.of([{"name": "a", "value": 1}, {"name": "A", "value": 2}]) == {"a": 1}


def test_other_values_give_no_rows() -> None:
    broken: list[object] = [None, 5, [], {"name": None, "value": 1}, {"value": 1}, {"name": "a"}]
    assert rows.of(broken) == rows.of(None) == rows.of(5) == rows.of("x") == rows.of({}) == {}


def test_put_ignores_none() -> None:
    found = rows.Rows()
    found.put("Sahə:", "85 m2")
    found.put("SAHƏ", "90 m2")
    found.put("Təmir", None)
    assert found == {fold("Sahə"): "85 m2"}

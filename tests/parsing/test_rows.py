from realestate.parsing import rows
from realestate.parsing.text import fold


def test_rows_of_json_are_found_by_their_folded_label() -> None:
    told = rows.of(
        [{"name": "Sahə, m²", "value": "85"}, {"name": "OTAQ SAYI", "value": 3}, {"name": "Təmir", "value": "-"}]
    )
    assert told == {fold("Sahə, m²"): "85", fold("Otaq sayı"): 3}
    assert told.first("Otaqların sayı", "Otaq sayı") == 3
    assert told.first("Təmir") is None


def test_a_row_that_is_taken_is_gone() -> None:
    told = rows.of([{"key": "area", "value": "85"}, {"key": "lift", "value": False}], label="key")
    assert told.take("Area") == "85"
    assert told.take("Area") is None
    assert told == {"lift": False}


def test_one_of_several_values_comes_bare() -> None:
    attributes = {"attribute": [{"name": "ROOMS", "values": ["3"]}, {"name": "TAGS", "values": ["a", "b"]}]}
    told = rows.of({**attributes, "more": 1}, value="values")
    assert told.first("ROOMS") == "3"
    assert told.first("TAGS") == ["a", "b"]


def test_the_first_of_a_label_counts() -> None:
    assert rows.of([{"name": "a", "value": 1}, {"name": "A", "value": 2}]) == {"a": 1}


def test_what_are_no_rows_tell_nothing() -> None:
    broken: list[object] = [None, 5, [], {"name": None, "value": 1}, {"value": 1}, {"name": "a"}]
    assert rows.of(broken) == rows.of(None) == rows.of(5) == rows.of("x") == rows.of({}) == {}


def test_a_cleaned_text_is_put_where_it_says_something() -> None:
    told = rows.Rows()
    told.put("Sahə:", "85 m2")
    told.put("SAHƏ", "90 m2")
    told.put("Təmir", None)
    assert told == {fold("Sahə"): "85 m2"}

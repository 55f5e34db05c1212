import pytest

from realestate.parsing import text


@pytest.mark.parametrize(
    ("given", "cleaned"),
    [
        ("  Two\u00a0 words\n", "Two words"),
        ("-", None),
        ("Not specified", None),
        ("NA", None),
        ("", None),
        (None, None),
        ("0", "0"),
        (1440, "1440"),
        ({"no": "text"}, None),
    ],
)
def test_a_line_is_cleaned_and_a_missing_one_is_none(given: object, cleaned: str | None) -> None:
    assert text.line(given) == cleaned


def test_paragraphs_keep_their_lines() -> None:
    assert text.paragraphs(" One \u00a0 two\r\n\n  three ") == "One two\nthree"
    assert text.paragraphs(" - ") is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SAHƏ", "sahə"),
        ("İCARƏYƏ", "icarəyə"),
        ("Qızıl", "QIZIL"),
        ("Otaqların sayı :", "otaqların  sayı"),
        ("ŞƏHƏR", "şəhər"),
    ],
)
def test_folding_follows_azerbaijani_letters(one: str, other: str) -> None:
    assert text.fold(one) == text.fold(other)


def test_dotted_and_dotless_i_stay_apart() -> None:
    assert text.fold("qızıl") != text.fold("qizil")


def test_a_constant_becomes_a_word() -> None:
    assert text.word("GROUND_FLOOR") == "ground_floor"
    assert text.word("Town-House") == "town_house"
    assert text.word(None) is None


@pytest.mark.parametrize(
    "value", [None, -1, "", " - ", "—", "N/A", "NA", "Not specified", "Göstərilməyib", float("nan"), []]
)
def test_values_that_mean_missing(value: object) -> None:
    assert text.missing(value)


@pytest.mark.parametrize("value", [False, True, 0, 0.0, "0", "no", "yoxdur", {"a": None}])
def test_false_and_zero_are_not_missing(value: object) -> None:
    assert not text.missing(value)


def test_plain_text_has_one_form_of_i() -> None:
    assert text.plain("PRICE ON  REQUEST") == "price on request"
    assert text.plain("AYLIQ") == text.plain("aylıq") == text.plain("Ayliq")


def test_results_for_short_texts_are_cached() -> None:
    asked: list[tuple[str, int]] = []

    @text.cached
    def length(given: str, more: int) -> int:
        asked.append((given, more))
        return len(given) + more

    long = "x" * 100
    assert [length("ab", 1), length("ab", 1), length("ab", 2)] == [3, 3, 4]
    assert [length(long, 1), length(long, 1)] == [101, 101]
    assert asked == [("ab", 1), ("ab", 2), (long, 1), (long, 1)]

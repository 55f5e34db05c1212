import pytest

from realestate.parsing import words


@pytest.mark.parametrize(
    ("value", "truth"),
    [
        (True, True),
        (False, False),
        (None, None),
        (-1, None),
        (0, False),
        (1, True),
        (2, None),
        ("-", None),
        ("Not specified", None),
        ("NA", None),
        ("", None),
        ("var", True),
        ("VAR", True),
        ("yoxdur", False),
        ("Xeyr", False),
        ("Yes", True),
        ("NIE", False),
        ("maybe", None),
        ([], None),
        (0.5, None),
    ],
)
def test_missing_is_not_false(value: object, truth: bool | None) -> None:
    assert words.truth(value) is truth


def test_a_portal_may_have_its_own_words_for_yes_and_no() -> None:
    deeds = words.folded({"Çıxarış (Kupça)": True, "Müqavilə": False})
    assert words.truth("ÇIXARIŞ (KUPÇA)", deeds) is True
    assert words.truth("müqavilə:", deeds) is False
    assert words.truth("var", deeds) is None


def test_looks_a_word_up_in_any_spelling() -> None:
    kinds = words.folded({"Yeni tikili": "apartment", "Həyət evi": "house"})
    assert words.meaning("HƏYƏT  EVİ", kinds) == "house"
    assert words.meaning("Qala", kinds) is None
    assert words.meaning(None, kinds) is None

import pytest

from realestate.privacy.spelled_numbers import find_spelled_numbers, may_contain


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("sıfır əlli", ["0", "50"]),
        ("iki yüz otuz dörd", ["234"]),
        ("on bir", ["11"]),
        ("SƏKSƏN ALTI", ["86"]),
        ("seksen alti", ["86"]),
        ("vijfenzeventig", ["75"]),
        ("vijf en zeventig", ["75"]),
        ("tweehonderdvierendertig", ["234"]),
        ("soixante-quinze", ["75"]),
        ("septante et un", ["71"]),
        ("quatre-vingt-dix-sept", ["97"]),
        ("nonante-neuf", ["99"]),
        ("deux cent trente-quatre", ["234"]),
        ("seventy-five, oh six", ["75", "0", "6"]),
        ("dix, sept", ["10", "7"]),
        ("vierkant", []),
        ("", []),
    ],
)
def test_a_number_takes_as_many_words_as_possible(text: str, digits: list[str]) -> None:
    assert [each.digits for each in find_spelled_numbers(text)] == digits


def test_a_number_has_its_position() -> None:
    text = "  yetmiş beş otaq"
    (found,) = find_spelled_numbers(text)
    assert text[found.start : found.end] == "yetmiş beş"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sıfır beş sıfır bir iki", True),
        ("SIFIR BEŞ SIFIR BİR İKİ", True),
        ("0 50 iki üç dörd", True),
        ("sifir elli 1234567", True),
        ("0 50 123 45 67", False),
        ("iki otaq üç balkon dörd", False),
    ],
)
def test_the_precheck_sees_numbers_that_follow_each_other(text: str, expected: bool) -> None:
    assert may_contain(text.encode().lower().split()) is expected

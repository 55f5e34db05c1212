import pytest

from realestate.privacy.numerals import may_be_spelled, spelled


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
def test_numbers_in_words_are_read_as_long_as_they_can_be(text: str, digits: list[str]) -> None:
    assert [each.digits for each in spelled(text)] == digits


def test_their_places_are_told() -> None:
    text = "  yetmiş beş otaq"
    (found,) = spelled(text)
    assert text[found.start : found.end] == "yetmiş beş"


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("sıfır beş sıfır bir iki", True),
        ("SIFIR BEŞ SIFIR BİR İKİ", True),
        ("0 50 iki üç dörd", True),
        ("sifir elli 1234567", True),
        ("0 50 123 45 67", False),
        ("iki otaq üç balkon dörd", False),
    ],
)
def test_the_cheap_question_sees_numbers_that_follow_each_other(text: str, is_so: bool) -> None:
    assert may_be_spelled(text.encode().lower().split()) is is_so

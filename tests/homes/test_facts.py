"""What is read in the texts of a listing, to link it to others."""

from collections.abc import Callable
from functools import partial

import pytest

from realestate.homes.facts import code_in, floor_in, names_in, street_in, street_of
from tests.growth import grows_too_fast

PIECES = ("0", "1 ", "1,", " ", ", ", "a", "A", "İ", "Aa ", "ref", "ref. ", "kod:", "5 mərtəbə ", "1/", "Aa küç", "1-")


@pytest.mark.parametrize("read", [street_of, street_in, floor_in, code_in, names_in])
@pytest.mark.parametrize("beginning", ["", "1", "Aa "])
def test_a_text_of_twice_the_size_takes_twice_as_long(read: Callable[[str], object], beginning: str) -> None:
    for piece in PIECES:
        slow = grows_too_fast(read, partial(_text, beginning, piece), 64_000)
        assert slow is None, f"{beginning!r} {piece!r}: {slow}"


def _text(beginning: str, piece: str, size: int) -> str:
    return beginning + piece * (size // len(piece)) + "x!"


@pytest.mark.parametrize(
    ("text", "street", "number"),
    [
        ("Nizami küç. 12", "nizami küç.", "12"),
        ("Nizami küç., 12a, mənzil 5", "nizami küç.", "12a"),
        ("Rue de la Loi 16", "rue de la loi", "16"),
        ("Main Street", "main street", None),
        ("28 May küç.", "28 may küç.", None),
        ("Street 12345678", "street 12345678", None),
        (None, None, None),
    ],
)
def test_the_street_and_the_house_number(text: str | None, street: str | None, number: str | None) -> None:
    assert street_of(text) == (street, number)


@pytest.mark.parametrize(
    ("text", "street"),
    [
        ("mənzil Nizami küç. yanında", "Nizami küç."),
        ("Heydər Əliyev pr. 5", "Heydər Əliyev pr."),
        ("Nizami küç. və Azadlıq pr.", None),
    ],
)
def test_the_street_in_a_text(text: str, street: str | None) -> None:
    assert street_in(text) == street


@pytest.mark.parametrize(
    ("text", "floor"), [("5-ci mərtəbə", 5), ("5 / 16 mərtəbə", 5), ("floor 3", 3), ("16 mərtəbəli", None)]
)
def test_the_floor_in_a_text(text: str, floor: int | None) -> None:
    assert floor_in(text) == floor

"""Cleaning and comparing text; what counts as nothing said."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar, TypeVarTuple

T = TypeVar("T")
Rest = TypeVarTuple("Rest")

#: What portals write where they have nothing to say (compared in lower case).
_NOTHING = frozenset(
    {"", "-", "--", "–", "—", "n/a", "na", "n.a.", "not specified", "not available", "unknown", "null", "none"}
    | {"undefined", "nan", "göstərilməyib", "məlum deyil", "niet gespecificeerd", "non spécifié", "non communiqué"}
    | {"k.a.", "keine angabe", "brak informacji"}
)
#: No longer text can be one of these: folding case makes none shorter.
_LONGEST_NOTHING = max(map(len, _NOTHING))

#: No label is longer; a page may not fill the memory with others.
_LONGEST_LABEL = 100
_LONGEST_KEPT = 30
#: Azerbaijani capitals whose Python lower case is wrong there: "İ".lower() is two code points, "I".lower() is "i".
_LOWER = str.maketrans({"İ": "i", "I": "ı"})
_ONE_I = str.maketrans({"İ": "i", "I": "i", "ı": "i"})


def missing(value: object) -> bool:
    """Whether a portal says nothing here: null, -1, NaN, "-", "Not specified", "NA". False and 0 do say something."""
    if value is None or value is True or value is False:
        return value is None
    if isinstance(value, str):
        return _says_nothing(" ".join(value.split()))
    if isinstance(value, (int, float)):
        return value == -1 or value != value
    return isinstance(value, (dict, list, tuple)) and not value


def _says_nothing(joined: str) -> bool:
    return len(joined) <= _LONGEST_NOTHING and joined.casefold() in _NOTHING


def line(text: object) -> str | None:
    """One line: blanks of every kind become one space; None where nothing is said. A number is its digits."""
    if not isinstance(text, str):
        if text is None or isinstance(text, (bool, dict, list)):
            return None
        text = str(text)
    joined = " ".join(text.split())
    return None if _says_nothing(joined) else joined


def paragraphs(text: object) -> str | None:
    """Several lines, each cleaned, the empty ones dropped; None for what is no text."""
    if not isinstance(text, str):
        return None
    kept = [cleaned for each in text.splitlines() if (cleaned := " ".join(each.split()))]
    joined = "\n".join(kept)
    return None if _says_nothing(joined) else joined


def fold(text: str) -> str:
    """For comparing labels: Azerbaijani lower case, blanks collapsed, a colon at the end dropped."""
    return _remembered(text) if len(text) <= _LONGEST_LABEL else _folded(text)


def _folded(text: str) -> str:
    return " ".join(text.translate(_LOWER).lower().split()).removesuffix(":").rstrip()


#: The same few labels and words are on every page of a portal.
_remembered = lru_cache(maxsize=4096)(_folded)


def remembered(read: Callable[[str, *Rest], T]) -> Callable[[str, *Rest], T]:
    """For what is read on page after page in the same few words, such as a storey: it is read once.

    What it makes must not change. Only short texts are kept, so that no page may fill the memory.
    """
    kept = lru_cache(maxsize=1024)(read)

    @wraps(read)
    def reading(text: str, *rest: *Rest) -> T:
        return kept(text, *rest) if len(text) <= _LONGEST_KEPT else read(text, *rest)

    return reading


def plain(text: str) -> str:
    """For words of several languages: as `fold`, but every i is one, since "PRICE" is "price" and "AYLIQ" "aylıq"."""
    return " ".join(text.translate(_ONE_I).lower().split())


def word(text: object) -> str | None:
    """A portal's constant as our word: "GROUND_FLOOR" -> "ground_floor"."""
    cleaned = line(text)
    return cleaned.lower().replace(" ", "_").replace("-", "_") if cleaned else None

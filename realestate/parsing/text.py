"""Cleans and compares texts, and knows the words that portals write for a missing value."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar, TypeVarTuple

T = TypeVar("T")
Rest = TypeVarTuple("Rest")

#: What portals write for a missing value, in lower case.
_MISSING = frozenset(
    {"", "-", "--", "–", "—", "n/a", "na", "n.a.", "not specified", "not available", "unknown", "null", "none"}
    | {"undefined", "nan", "göstərilməyib", "məlum deyil", "niet gespecificeerd", "non spécifié", "non communiqué"}
    | {"k.a.", "keine angabe", "brak informacji"}
)
#: A longer text cannot be one of these: `casefold` makes no text shorter.
_LONGEST_MISSING = max(map(len, _MISSING))

#: Only labels up to this length are cached, so that a page cannot fill the memory.
_LONGEST_LABEL = 100
#: The same limit for values.
_LONGEST_CACHED = 30
#: For these Azerbaijani capitals `str.lower` is wrong: "İ".lower() is two code points, "I".lower() is "i".
_LOWER = str.maketrans({"İ": "i", "I": "ı"})
_ONE_I = str.maketrans({"İ": "i", "I": "i", "ı": "i"})


def missing(value: object) -> bool:
    """Return whether a value means "missing": null, -1, NaN, "-", "Not specified", "NA". False and 0 are values."""
    if value is None or value is True or value is False:
        return value is None
    if isinstance(value, str):
        return _means_missing(" ".join(value.split()))
    if isinstance(value, (int, float)):
        return value == -1 or value != value
    return isinstance(value, (dict, list, tuple)) and not value


def _means_missing(joined: str) -> bool:
    return len(joined) <= _LONGEST_MISSING and joined.casefold() in _MISSING


def line(text: object) -> str | None:
    """Return a text or a number as one line, with single spaces. None if it means "missing"."""
    if not isinstance(text, str):
        if text is None or isinstance(text, (bool, dict, list)):
            return None
        text = str(text)
    joined = " ".join(text.split())
    return None if _means_missing(joined) else joined


def paragraphs(text: object) -> str | None:
    """Return a text with each line cleaned and empty lines removed. None if it is not a text or means "missing"."""
    if not isinstance(text, str):
        return None
    kept = [cleaned for each in text.splitlines() if (cleaned := " ".join(each.split()))]
    joined = "\n".join(kept)
    return None if _means_missing(joined) else joined


def fold(text: str) -> str:
    """Return a label for comparison: Azerbaijani lower case, single spaces, no colon at the end."""
    return _cached_fold(text) if len(text) <= _LONGEST_LABEL else _folded(text)


def _folded(text: str) -> str:
    return " ".join(text.translate(_LOWER).lower().split()).removesuffix(":").rstrip()


#: Every page of a portal has the same few labels and words.
_cached_fold = lru_cache(maxsize=4096)(_folded)


def cached(read: Callable[[str, *Rest], T]) -> Callable[[str, *Rest], T]:
    """Decorator: cache the results for short texts. For values that repeat from page to page, such as a floor.

    The results must be immutable. Long texts are not cached, so that a page cannot fill the memory.
    """
    with_cache = lru_cache(maxsize=1024)(read)

    @wraps(read)
    def wrapper(text: str, *rest: *Rest) -> T:
        return with_cache(text, *rest) if len(text) <= _LONGEST_CACHED else read(text, *rest)

    return wrapper


def plain(text: str) -> str:
    """Return a text for comparison with words of any language: lower case, single spaces, and "i" for I, İ and ı.

    (`fold` follows Azerbaijani, where "PRICE" would become "prıce".)
    """
    return " ".join(text.translate(_ONE_I).lower().split())


def word(text: object) -> str | None:
    """Return a portal's constant as we write it: "ground_floor" for "GROUND_FLOOR"."""
    cleaned = line(text)
    return cleaned.lower().replace(" ", "_").replace("-", "_") if cleaned else None

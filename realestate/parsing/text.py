"""Cleaning and comparing text."""

#: What portals write where they have nothing to say (compared folded).
_NOTHING = frozenset({"", "-", "—", "n/a", "na", "not specified", "null", "none", "undefined"})

#: Azerbaijani capitals whose Python lower case is wrong there: "İ".lower() is two code points, "I".lower() is "i".
_LOWER = str.maketrans({"İ": "i", "I": "ı"})


def line(text: object) -> str | None:
    """One line: blanks of every kind become one space; None where nothing is said. A number is its digits."""
    if text is None or isinstance(text, bool | dict | list):
        return None
    joined = " ".join(str(text).split())
    return None if joined.casefold() in _NOTHING else joined


def paragraphs(text: str | None) -> str | None:
    """Several lines, each cleaned, the empty ones dropped."""
    if text is None:
        return None
    kept = [cleaned for each in text.splitlines() if (cleaned := " ".join(each.split()))]
    joined = "\n".join(kept)
    return None if joined.casefold() in _NOTHING else joined


def fold(text: str) -> str:
    """For comparing labels: Azerbaijani lower case, blanks collapsed, a colon at the end dropped."""
    return " ".join(text.translate(_LOWER).lower().split()).removesuffix(":").rstrip()


def word(text: object) -> str | None:
    """A portal's constant as our word: "GROUND_FLOOR" -> "ground_floor"."""
    cleaned = line(text)
    return cleaned.lower().replace(" ", "_").replace("-", "_") if cleaned else None

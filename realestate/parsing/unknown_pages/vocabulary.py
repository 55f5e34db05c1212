"""The words of many languages, from `vocabulary.toml`: which operation, property type or field a text names."""

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from realestate.parsing.property_types import PropertyType

Operation = Literal["sale", "rent"]
Seller = Literal["agency", "owner", "developer"]

#: A longer text is not searched for words: it is a description, which mentions many things.
LONGEST_TEXT = 400
#: Labels above an address, as `words` writes them.
_ADDRESS_LABELS = frozenset(
    {"address", "adresse", "lage", "standort", "adres", "adress", "indirizzo", "direccion", "ubicacion", "localizacion"}
    | {"morada", "localizacao", "endereco", "lokalizacja", "adresa", "osoite"}
)
_LONGEST_ADDRESS_LABEL = 20
#: Letters that do not decompose into a letter and an accent.
_LETTERS = str.maketrans(
    {"ß": "ss", "ł": "l", "ø": "o", "æ": "ae", "œ": "oe", "đ": "d", "ı": "i", "ə": "e", "ς": "σ", "þ": "th", "ð": "d"}
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff")
)
_NO_WORD = re.compile(r"[^\w.,+]|_|(?<!\d)[.,+]|[.,+](?!\d)")
#: Fields whose value can be any text. A short label may be an ordinary word of another language ("il", "via").
TEXT_FIELDS = frozenset({"city", "district", "region", "street", "seller", "agency_ref", "postal_code"})
#: After these words a title names what belongs to the home, or where it is: "house with garage", "flat in a house".
_WITH = re.compile(
    r" (?:with|mit|con|avec|com|met|med|z|ze|s|inkl|incl|including|cu|και|με|с|si|e|y|et|und|and|near|close"
    r"|in|im|en|w|i) "
)
#: Types that a home may have beside it, or that are a part of a place name. Another type in the same text wins.
_WEAK_TYPES = ("room", "garage", "land", "building", "commercial", "office")


def words(text: str) -> str:
    """Return a text for comparison: lower case, no accents, single blanks. Marks stay between digits: "1.5", "3+1"."""
    lower = text.replace("İ", "i").replace("I", "i").lower()
    decomposed = unicodedata.normalize("NFKD", lower)
    letters = "".join(each for each in decomposed if not unicodedata.combining(each)).translate(_LETTERS)
    return " ".join(_NO_WORD.sub(" ", letters).split())


class Tables(NamedTuple):
    """The words that count on a page of one language."""

    operations: "Phrases"
    types: "Phrases"
    plurals: "Phrases"
    labels: dict[str, tuple[str, ...]]
    """Label -> the fields it may name. The first field that can read the value counts."""
    counted: re.Pattern[str]
    """A number and what it counts: "4 bedrooms"."""
    sellers: dict[str, Seller]


@lru_cache(maxsize=64)
def tables(language: str) -> Tables:
    """Return the words for a page of this language ("de"; "" if it is unknown)."""
    sections = list(_sections(language))
    labels = _labels(language)
    return Tables(
        operations=Phrases((name, each.get(name, ())) for each in sections for name in ("sale", "rent")),
        types=Phrases((name, found) for each in sections for name, found in each.get("types", {}).items()),
        plurals=Phrases(("plural", each.get("plural", ())) for each in sections),
        labels=labels,
        counted=_counted(labels),
        sellers={
            words(word): name for each in sections for name, found in each.get("sellers", {}).items() for word in found
        },
    )


def operation(text: str | None, language: str = "") -> Operation | None:
    """Return the operation that a text names: a title, an address, a category. None if it names neither or both."""
    found = _names(tables(language).operations, text)
    return found[0] if len(set(found)) == 1 else None  # type: ignore[return-value]


def property_type(text: str | None, language: str = "") -> PropertyType | None:
    """Return the property type that a text names. Of several, the first; a garage or a room only if nothing else."""
    if not text or len(text) > LONGEST_TEXT:
        return None
    head = _WITH.split(f" {words(text)} ", maxsplit=1)[0]
    found = _types(head, language) or _types(words(text), language)
    strong = [each for each in found if each not in _WEAK_TYPES]
    return next(iter(strong or found), None)  # type: ignore[arg-type]


def is_plural(text: str | None, language: str = "") -> bool:
    """Return whether a title is that of a page of results: "Apartments for sale in …"."""
    return bool(_names(tables(language).plurals, text))


def fields_of_label(label: str, language: str = "") -> tuple[str, ...]:
    """Return the fields that a label may name; () if it is not a label."""
    return tables(language).labels.get(_label(label), ())


def is_unit(label: str) -> bool:
    """Return whether a label is only a unit: "sq ft"."""
    return all(each in _NO_LABEL for each in words(label).split())


def is_label_of_address(text: str) -> bool:
    """Return whether a text is the label above an address: "Adresse:"."""
    return len(text) <= _LONGEST_ADDRESS_LABEL and words(text) in _ADDRESS_LABELS


def begins_list_of_similar(heading: str) -> bool:
    """Return whether a heading is one above listings of other homes: "Similar properties"."""
    return words(heading).startswith(_similar())


@lru_cache(maxsize=1)
def _similar() -> tuple[str, ...]:
    return tuple(words(each) for section in _languages().values() for each in section.get("similar", ()))


def counts(text: str | None, language: str = "") -> dict[str, int]:
    """Return the counts that a text names: {"bedrooms": 4} for "4 bedroom house". A count that differs is left out."""
    found: dict[str, set[int]] = {}
    if text and len(text) <= LONGEST_TEXT:
        for each in tables(language).counted.finditer(words(text)):
            field = tables(language).labels[each["what"]][0]
            found.setdefault(field, set()).add(int(each["count"]))
    return {field: values.pop() for field, values in found.items() if len(values) == 1}


def seller(text: str | None, language: str = "") -> Seller | None:
    """Return the kind of seller that a word names: "agency" for "Makler"."""
    return tables(language).sellers.get(words(text)) if text and len(text) <= LONGEST_TEXT else None


def _label(text: str) -> str:
    """Return a label without its unit and "ca.": "Wohnfläche ca. (m²)" is "wohnflache"."""
    return " ".join(each for each in words(text).split() if each not in _NO_LABEL) or words(text)


_NO_LABEL = frozenset({"ca", "approx", "m2", "qm", "mq", "sqm", "sqft", "sq", "ft", "кв", "м2"})


def _types(text: str, language: str) -> list[str]:
    """The types that a text names. "3 zimmer" counts rooms: it does not name the type `room`."""
    found = tables(language).types.find(text)
    return [name for name, start in found if name != "room" or not _COUNT_BEFORE.search(text, max(0, start - 6), start)]


_COUNT_BEFORE = re.compile(r"(?:^| )[\d.+]+ $")


def _names(phrases: "Phrases", text: str | None) -> list[str]:
    if not text or len(text) > LONGEST_TEXT:
        return []
    return [meaning for meaning, _ in phrases.find(words(text))]


@lru_cache(maxsize=1)
def _languages() -> dict[str, dict[str, Any]]:
    return tomllib.loads(files(__package__).joinpath("vocabulary.toml").read_text("utf-8"))


def _sections(language: str) -> Iterator[dict[str, Any]]:
    """The page's own language first: of two meanings of a word, its own counts."""
    own = _languages().get(language)
    if own:
        yield own
        yield own.get("only", {})
    yield from (each for name, each in _languages().items() if name != language)


class Phrases:
    """Finds phrases in a text, and says what each means. Of phrases that begin at one place, the longest counts."""

    def __init__(self, groups: Iterable[tuple[str, Iterable[str]]]) -> None:
        self.meanings: dict[str, str] = {}
        for meaning, phrases in groups:
            for phrase in phrases:
                self.meanings.setdefault("*".join(words(part) for part in phrase.split("*")), meaning)
        longest_first = sorted(self.meanings, key=len, reverse=True)
        self.with_stars = [(_with_stars(each), self.meanings[each]) for each in longest_first if "*" in each]
        patterns = "|".join(_with_stars(each).pattern for each in longest_first)
        self.pattern = re.compile(rf"(?<![^ ])(?:{patterns})(?![^ ])")

    def find(self, text: str) -> Iterator[tuple[str, int]]:
        """Yield the meaning of each phrase in a text that `words` has written, and where it begins."""
        for found in self.pattern.finditer(text):
            yield self._meaning(found[0]), found.start()

    def _meaning(self, phrase: str) -> str:
        own = self.meanings.get(phrase)
        return own or next(meaning for pattern, meaning in self.with_stars if pattern.fullmatch(phrase))


def _with_stars(phrase: str) -> re.Pattern[str]:
    return re.compile(re.escape(phrase).replace(r"\*", "[^ ]*"))


def _labels(language: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    own = _languages().get(language, {})
    for section in _sections(language):
        is_own = section is own or section is own.get("only")
        for field, labels in section.get("labels", {}).items():
            if field in TEXT_FIELDS and not is_own and section is not _languages()["en"]:
                continue
            for label in labels:
                names = found.setdefault(_label(label), [])
                if field not in names:
                    names.append(field)
    return {label: tuple(fields) for label, fields in found.items()}


def _counted(labels: dict[str, tuple[str, ...]]) -> re.Pattern[str]:
    countable = ("rooms", "bedrooms", "bathrooms")
    names = sorted((label for label, fields in labels.items() if fields[0] in countable), key=len)[::-1]
    return re.compile(rf"(?<![^ ])(?<!\d )(?P<count>\d{{1,2}}) ?(?P<what>{'|'.join(map(re.escape, names))})(?![^ ])")

"""Fields from label/value rows, whatever elements they are made of: "Wohnfläche" and "85 m²" beside or above each other."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from realestate.parsing.unknown_pages import vocabulary
from realestate.parsing.unknown_pages.document import Document
from realestate.parsing.unknown_pages.values import read

_LONGEST_LABEL = 60
_LONGEST_VALUE = 160
#: How far up a row is looked for.
_MOST_LEVELS = 5
#: An element with more texts is not one row, nor a short list of rows without an element for each row.
_MOST_TEXTS = 120
#: Headings above listings of other homes.
_OTHER_HOMES = (
    "similar", "related", "you may also", "you might also", "recommended", "more properties", "other properties", "nearby",
    "recently viewed", "ahnliche", "weitere", "das konnte", "similares", "parecidos", "otros anuncios", "tambien te",
    "simili", "altri annunci", "podobne", "inne oferty", "benzer", "похожие", "другие", "vergelijkbare", "similaires",
    "autres annonces", "semelhantes", "outros imoveis", "liknande", "lignende", "imoveis similares", "featured properties",
    "properties you", "homes you", "comparable", "recommandes", "zobacz takze", "zobacz podobne",
)  # fmt: skip


class Row(NamedTuple):
    """What one row says: the field, its value, and the block of its label."""

    field: str
    value: Any
    block: int


def rows(document: Document) -> list[Row]:
    """Return what all rows of the page say, in their order, up to the heading above other homes."""
    return [row for block in range(_end(document)) for row in _rows_of(document, block)]


def fields(found: list[Row]) -> dict[str, Any]:
    """Return each field's first value. A field with three or more different values is left out: they are of many homes."""
    values: dict[str, list[Any]] = {}
    for row in found:
        seen = values.setdefault(row.field, [])
        if row.value not in seen:
            seen.append(row.value)
    return {field: seen[0] for field, seen in values.items() if len(seen) < 3}


def _end(document: Document) -> int:
    """The block where the listings of other homes begin."""
    start = next((at for at, block in enumerate(document.blocks) if _is_heading(document, at)), 0)
    for at in range(start, len(document.blocks)):
        text = document.blocks[at].text
        if len(text) <= _LONGEST_LABEL and vocabulary.words(text).startswith(_OTHER_HOMES):
            return at
    return len(document.blocks)


def _is_heading(document: Document, at: int) -> bool:
    return document.elements[document.blocks[at].element].tag == "h1"


def _rows_of(document: Document, at: int) -> Iterator[Row]:
    text = document.blocks[at].text
    if len(text) > _LONGEST_VALUE:
        return
    language = document.language
    label, colon, value = text.partition(":")
    if colon and value.strip():
        yield from _read(vocabulary.fields_of_label(label, language), value, label, at, document)
        return
    if len(text) > _LONGEST_LABEL:
        return
    named = vocabulary.fields_of_label(text, language)
    if named:
        beside = _value_of(document, at)
        if beside is not None:
            yield from _read(named, beside, text, at, document)
        return
    yield from _in_one_text(text, at, document)


def _in_one_text(text: str, at: int, document: Document) -> Iterator[Row]:
    """ "4 bedrooms", "Land Size 173 m²", "96 m² floor size"."""
    for field, count in vocabulary.counts(text, document.language).items():
        if len(text.split()) <= 3:
            yield Row(field, count, at)
    split = text.split()
    for cut in range(1, min(len(split), 5)):
        for label, value in ((split[:cut], split[cut:]), (split[-cut:], split[:-cut])):
            named = vocabulary.fields_of_label(" ".join(label), document.language)
            areas = tuple(each for each in named if each in ("area_m2", "area_any", "plot_m2"))
            if areas:
                yield from _read(areas, " ".join(value), " ".join(label), at, document)
                return


def _read(named: tuple[str, ...], value: str, label: str, at: int, document: Document) -> Iterator[Row]:
    """The row's value, read by the first of the fields that can read it."""
    for field in named:
        found = read(field, value, label, document)
        if found:
            yield from (Row(name, each, at) for name, each in found.items())
            return


def _value_of(document: Document, at: int) -> str | None:
    """The text beside a label: in the smallest element that contains more than the label."""
    for level, element in enumerate(_around(document, at)):
        start, end = document.span(element)
        if level > _MOST_LEVELS or end - start > _MOST_TEXTS:
            return None
        if end - start > 1:
            return _beside(document, at, start, end, document.elements[element].tag)
    return None


def _around(document: Document, at: int) -> Iterator[int]:
    element = document.blocks[at].element
    while element >= 0:
        yield element
        element = document.elements[element].parent


def _beside(document: Document, at: int, start: int, end: int, tag: str) -> str | None:
    texts = [document.blocks[each].text for each in range(start, end)]
    is_label = [bool(vocabulary.fields_of_label(each, document.language)) for each in texts]
    own = at - start
    if sum(is_label) == 1 and (end - start <= 4 or tag == "tr"):
        others = [each for index, each in enumerate(texts) if index != own and each.strip(" :")]
        return " ".join(others) if sum(map(len, others)) <= _LONGEST_VALUE else None
    if is_label[0] and (not is_label[-1] or tag == "dl"):
        return texts[own + 1] if own + 1 < len(texts) and not is_label[own + 1] else None
    if is_label[-1] and not is_label[0]:
        return texts[own - 1] if own > 0 and not is_label[own - 1] else None
    return None

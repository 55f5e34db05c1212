"""Fields from label/value rows, whatever elements they are made of: "Wohnfläche" beside or above "85 m²"."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from realestate.parsing.unknown_pages import vocabulary
from realestate.parsing.unknown_pages.document import Document
from realestate.parsing.unknown_pages.values import read

_LONGEST_LABEL = 60
_DATES = ("posted_at", "updated_at")
_NEAR_HEADING = 60
_NEAR_ROW = 5
_ADDRESS_LINES = 2
#: A shorter text is not a heading, even if a title begins with it.
_SHORTEST_HEADING = 10
_LONGEST_VALUE = 160
#: A field with so many different values is that of many homes.
_MANY = 3
#: How far up a row is looked for.
_MOST_LEVELS = 5
#: An element with more texts is not one row, nor a short list of rows without an element for each row.
_MOST_TEXTS = 120
#: How far up a menu is looked for.
_MOST_ANCESTORS = 50
#: "T6" has six bedrooms in Portugal.
_PORTUGUESE_TYPE = re.compile(r"T([1-9])(?:\+\d)?")
#: "173 m²", "ca. 1,800 sq. ft": a size and nothing else. "House with 3 acres" is a title.
_ONLY_SIZE = re.compile(r"(?:[^\W\d]{1,8}\.? |[~≈±:–-] ?){0,2}\d[\d.,'\s]*[^\d\s]\S{0,12}(?: [^\d\s]\S{0,12}){0,2}")


class Row(NamedTuple):
    """What one row says: the field, its value, and the block of its label."""

    field: str
    value: Any
    block: int


def rows(document: Document) -> list[Row]:
    """Return what all rows of the page say, in their order, up to the heading above other homes."""
    start = heading(document)
    found = [row for block in range(end(document)) for row in _rows_of(document, block)]
    others = {row.block for row in found if row.field not in _DATES}
    return [row for row in found if row.field not in _DATES or _is_date_of_home(row, others, start)]


def _is_date_of_home(row: Row, others: set[int], start: int) -> bool:
    """Whether a date is near the heading or in a table with other rows. Elsewhere it is that of an article."""
    near = range(row.block - _NEAR_ROW, row.block + _NEAR_ROW + 1)
    return row.block <= start + _NEAR_HEADING or not others.isdisjoint(near)


def fields(found: list[Row]) -> dict[str, Any]:
    """Return each field's first value. A field with three different values is left out: many homes have them."""
    values: dict[str, list[Any]] = {}
    for row in found:
        seen = values.setdefault(row.field, [])
        if len(seen) < _MANY and row.value not in seen:
            seen.append(row.value)
    return {field: seen[0] for field, seen in values.items() if len(seen) < _MANY}


def end(document: Document) -> int:
    """The block where the listings of other homes begin."""
    for at in range(heading(document), len(document.blocks)):
        text = document.blocks[at].text
        if len(text) <= _LONGEST_LABEL and vocabulary.begins_list_of_similar(text):
            return at
    return len(document.blocks)


def near_heading(document: Document) -> list[str]:
    """Return the texts around the page's heading, and the smaller headings below it."""
    start = heading(document)
    texts = [block.text for block in document.blocks[max(0, start - 5) : start + 20]]
    below = document.blocks[start : start + 60]
    return texts + [block.text for block in below if document.elements[block.element].tag in ("h2", "h3", "h4")]


def addresses(document: Document) -> list[str]:
    """Return the texts below a label such as "Address": "Example Street 1", "40477 Berlin Mitte"."""
    blocks = document.blocks[: end(document)]
    found = [at for at, each in enumerate(blocks) if vocabulary.is_label_of_address(each.text)]
    return [each.text for at in found[:3] for each in blocks[at + 1 : at + 1 + _ADDRESS_LINES]]


def heading(document: Document) -> int:
    """Return the block of the page's heading: the first `h1`, or the text with which a title begins; 0 without one."""
    blocks = document.blocks
    first = next((at for at, each in enumerate(blocks) if document.elements[each.element].tag == "h1"), None)
    if first is not None:
        return first
    titles = [vocabulary.words(each) for each in document.titles]
    return next((at for at, each in enumerate(blocks) if _begins_a_title(each.text, titles)), 0)


def _begins_a_title(text: str, titles: list[str]) -> bool:
    if not _SHORTEST_HEADING <= len(text) <= _LONGEST_VALUE:
        return False
    short = vocabulary.words(text)
    return any(title.startswith(short) for title in titles)


def _rows_of(document: Document, at: int) -> Iterator[Row]:
    for row in _found_at(document, at):
        if _is_in_menu(document, at):
            return
        yield row


def _is_in_menu(document: Document, at: int) -> bool:
    """Whether a text is in a menu, a footer or a search form."""
    for element in islice(_around(document, at), _MOST_ANCESTORS):
        tag = document.elements[element].tag
        start, stop = document.span(element)
        is_small = 2 * (stop - start) < len(document.blocks)  # some sites put the whole page into a form
        if tag in ("nav", "footer") or (tag == "form" and is_small):
            return True
    return False


def _found_at(document: Document, at: int) -> Iterator[Row]:
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
        beside = _value_of(document, at, is_text=not vocabulary.TEXT_FIELDS.isdisjoint(named))
        if beside is not None:
            yield from _read(named, beside, text, at, document)
        return
    yield from _in_one_text(text, at, document)


def _in_one_text(text: str, at: int, document: Document) -> Iterator[Row]:
    """ "4 bedrooms", "Land Size 173 m²", "96 m² floor size"."""
    portuguese = _PORTUGUESE_TYPE.fullmatch(text) if document.language == "pt" else None
    if portuguese:
        yield Row("bedrooms", int(portuguese[1]), at)
    for field, count in vocabulary.counts(text, document.language).items():
        if len(text.split()) <= 3:
            yield Row(field, count, at)
    split = text.split()
    for cut in range(1, min(len(split), 5)):
        for label, value in ((split[:cut], split[cut:]), (split[-cut:], split[:-cut])):
            if vocabulary.is_unit(" ".join(label)):
                continue
            named = vocabulary.fields_of_label(" ".join(label), document.language)
            areas = tuple(each for each in named if each in ("area_m2", "area_any", "plot_m2"))
            if areas and _ONLY_SIZE.fullmatch(" ".join(value)):
                yield from _read(areas, " ".join(value), " ".join(label), at, document)
                return


def _read(named: tuple[str, ...], value: str, label: str, at: int, document: Document) -> Iterator[Row]:
    """The row's value, read by the first of the fields that can read it."""
    for field in named:
        found = read(field, value, label, document)
        if found:
            yield from (Row(name, each, at) for name, each in found.items())
            return


def _value_of(document: Document, at: int, *, is_text: bool) -> str | None:
    """The text beside a label: in the smallest element that contains more than the label."""
    for level, element in enumerate(_around(document, at)):
        start, stop = document.span(element)
        if level > _MOST_LEVELS or stop - start > _MOST_TEXTS:
            return None
        if stop - start > 1:
            return _beside(document, at, start, stop, document.elements[element].tag, is_text=is_text)
    return None


def _around(document: Document, at: int) -> Iterator[int]:
    element = document.blocks[at].element
    while element >= 0:
        yield element
        element = document.elements[element].parent


def _beside(document: Document, at: int, start: int, stop: int, tag: str, *, is_text: bool) -> str | None:
    texts = [document.blocks[each].text for each in range(start, stop)]
    is_label = [bool(vocabulary.fields_of_label(each, document.language)) for each in texts]
    own = at - start
    if sum(is_label) == 1 and (stop - start <= 4 or tag == "tr"):
        if is_text:  # the other texts may be rows whose labels we do not know, and any text could be a city
            return next((each for each in texts[own + 1 :] or texts[own - 1 :: -1] if each.strip(" :")), None)
        others = [each for index, each in enumerate(texts) if index != own and each.strip(" :")]
        return " ".join(others) if sum(map(len, others)) <= _LONGEST_VALUE else None
    if is_label[0] and (not is_label[-1] or tag == "dl"):
        is_one = own + 1 < len(texts) and not any(is_label[own + 1 : own + 2]) and _ends_soon(is_label, own + 2)
        return texts[own + 1] if is_one else None
    if is_label[-1] and not is_label[0]:
        return texts[own - 1] if own > 0 and not is_label[own - 1] else None
    return None


def _ends_soon(is_label: list[bool], at: int) -> bool:
    """Whether the next label follows, with at most one text between. After many texts it was a list of choices."""
    return at >= len(is_label) - 1 or any(is_label[at : at + 2])

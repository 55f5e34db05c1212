"""The price as the page shows it, for pages that have it nowhere else: the price near the heading."""

import re

from realestate.parsing import prices
from realestate.parsing.unknown_pages import labels, values, vocabulary
from realestate.parsing.unknown_pages.document import Document

#: How far from the heading the price may be, in texts.
_BEFORE = 25
_AFTER = 60
_LONGEST = 60
_TIMES_HIGHER = 100
#: What is left of "$ 120.000 gastos comunes" when the amount is taken away.
_AMOUNT = re.compile(r"[\d.,'\s]*\d[\d.,'\s]*|[$€£]")
_MARKS = (
    "price",
    "preis",
    "precio",
    "prix",
    "prezzo",
    "prijs",
    "cena",
    "fiyat",
    "preco",
    "valor",
    "pris",
    "tarif",
    "amount",
)


def find(document: Document, country: str | None) -> prices.Price | None:
    """Return the first price near the heading whose element is named after it; or the only price there is near it.

    Prices per square metre may stand beside the price of a sale: it is by far the highest."""
    blocks = document.blocks
    heading = labels.heading(document)
    marked: list[prices.Price] = []
    others: list[prices.Price] = []
    for at in range(max(0, heading - _BEFORE), min(len(blocks), heading + _AFTER)):
        found = _price_at(document, at, country)
        if found:
            (marked if _is_marked(document, at) else others).append(found)
    if marked:
        return marked[0]
    ranked = sorted({each.amount for each in others if each.amount is not None}, reverse=True)
    is_clear = len(ranked) == 1 or (len(ranked) > 1 and ranked[0] >= _TIMES_HIGHER * ranked[1])
    return next(each for each in others if each.amount == ranked[0]) if is_clear else None


def _price_at(document: Document, at: int, country: str | None) -> prices.Price | None:
    """The price of a text, which may have its currency in the next element: "3,600,000" "€"."""
    blocks = document.blocks
    text = blocks[at].text
    if len(text) > _LONGEST or _is_of_charges(text, document.language):
        return None
    found = values.price(text, country)
    if found.amount is None and text[:1].isdigit() and at + 1 < len(blocks) and len(blocks[at + 1].text) <= 4:
        found = values.price(f"{text} {blocks[at + 1].text}", country)
    return found if found.amount is not None and found.basis == "total" and found.amount >= 100 else None


def _is_of_charges(text: str, language: str) -> bool:
    """Whether an amount is that of the charges: "$ 120.000 gastos comunes"."""
    return "charges" in vocabulary.fields_of_label(_AMOUNT.sub(" ", text), language)


def _is_marked(document: Document, at: int) -> bool:
    """Whether the element of a text, or the one around it, is named after a price."""
    element = document.blocks[at].element
    for _ in range(3):
        if element < 0:
            return False
        attributes = document.elements[element].node.attributes
        names = " ".join(
            str(attributes.get(name) or "") for name in ("class", "id", "data-testid", "data-qa", "itemprop")
        ).lower()
        if any(mark in names for mark in _MARKS):
            return True
        element = document.elements[element].parent
    return False

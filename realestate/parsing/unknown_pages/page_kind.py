"""Whether a page is about one home, a list of homes, or something else."""

import re
from collections.abc import Sequence
from typing import Any, Literal

from realestate.parsing import schemaorg
from realestate.parsing.unknown_pages import labels, nodes, reference, values, vocabulary
from realestate.parsing.unknown_pages.document import Document
from realestate.parsing.unknown_pages.labels import Row

Kind = Literal["listing", "results", "other"]

_COUNT_FIRST = re.compile(r"^\d[\d.,\s]*\s(?P<what>[^\W\d_]+)")
_PAGE_NUMBER = re.compile(
    r"(?<![^ ])(?:page|seite|strona|страница|сторінка|pagina|sayfa|sida|side|stranka|oldal|σελιδα) \d{1,4}(?![^ ])"
)
#: "1 - 25 of 1.261"
_FROM_TO = re.compile(r"\b\d+ ?[-–] ?\d+ (?:von|of|de|di|van|z|из|av|af|til|sur|din|από|ze) (?:\w+ )?\d")
_SEARCH_PATH = re.compile(
    r"(?:^|/)(?:search|results?|suche|suchen|buscar|busca|recherche|ricerca|zoeken|szukaj|ara|poisk|s)(?:/|$|\?)",
    re.IGNORECASE,
)
_SEARCH_QUERY = re.compile(
    r"(?:^|&)(?:page|pagina|seite|sort|order|query|q|price_?(?:min|max|from|to)|min_?price|max_?price)=", re.IGNORECASE
)
#: Values of one field that differ so often are of many homes.
_MANY_VALUES = 4
#: This many different prices are those of many homes.
_MANY_PRICES = 12
_LONGEST_PRICE = 30
#: Fields of which a page about one home has only one value.
_SINGLE_FIELDS = ("price", "area_m2", "area_any", "rooms", "bedrooms")


def of(document: Document, subject: nodes.Subject, rows: Sequence[Row], *, has_object: bool, has_list: bool) -> Kind:
    """Return the kind of a page. `has_object`: its data has an object with its id; `has_list`: a list of homes.

    Each sign of a list adds points, each sign that the page is about one home takes some.
    """
    every = [node for found in document.nodes.values() for node in found]
    types = {name for each in every for name in schemaorg.types_of(each)}
    points = 5 * bool(types & nodes.RESULTS)
    points += 3 * _is_list_of_page(document, every)
    points += 3 * nodes.is_range_of_offers(every)
    points += 3 * (subject.others >= nodes.LIST_OF_HOMES and not subject.is_matched)
    points += 2 * has_list
    points += _points_of_titles(document)
    points += 2 * (_fields_of_many_homes(rows) >= 2)
    points += 2 * (_prices(document) >= _MANY_PRICES)
    points += _is_search_address(document)
    points -= 2 * (subject.is_matched or has_object)
    points -= 2 * reference.has_id(document.addresses[0])
    return "results" if points >= 2 else "listing"


def _is_list_of_page(document: Document, every: Sequence[dict[str, Any]]) -> bool:
    """Whether an ItemList is the page itself, not a list of similar homes on it."""
    for node in every:
        if "ItemList" in schemaorg.types_of(node) and len(schemaorg.types_of(node)) > 1:
            return True
        name = node.get("name")
        is_list = "ItemList" in schemaorg.types_of(node) and isinstance(name, str)
        if is_list and vocabulary.words(str(name)) in {vocabulary.words(each) for each in document.titles}:
            return True
    return False


def _points_of_titles(document: Document) -> int:
    """A page number, or "1 - 25 of 1.261", is a sure sign; "Apartments in …" is one that listings have too."""
    texts = [each for each in (*document.headings[:1], document.title, document.graph.get("og:title")) if each]
    if any(_PAGE_NUMBER.search(vocabulary.words(each)) or _FROM_TO.search(each) for each in texts):
        return 4
    heading = " ".join(document.headings[:1])
    counted = _COUNT_FIRST.match(heading)
    if counted and vocabulary.is_plural(counted["what"], document.language):
        return 4
    is_heading = vocabulary.is_plural(document.without_site(heading), document.language)
    is_title = vocabulary.is_plural(document.without_site(document.title or ""), document.language)
    return 2 if is_heading else int(is_title)


def _prices(document: Document) -> int:
    """How many different prices the page shows before the listings of other homes."""
    texts = [block.text for block in document.blocks[: labels.end(document)] if len(block.text) <= _LONGEST_PRICE]
    return len({mention for text in texts if any(map(str.isdecimal, text)) for mention in values.price_mentions(text)})


def _is_search_address(document: Document) -> bool:
    path, _, query = document.addresses[0].partition("?")
    return bool(_SEARCH_PATH.search(re.sub(r"^\w+://[^/]+", "", path)) or _SEARCH_QUERY.search(query))


def _fields_of_many_homes(rows: Sequence[Row]) -> int:
    values: dict[str, set[str]] = {}
    for row in rows:
        values.setdefault(row.field, set()).add(str(row.value))
    return sum(len(values.get(field, ())) >= _MANY_VALUES for field in _SINGLE_FIELDS)

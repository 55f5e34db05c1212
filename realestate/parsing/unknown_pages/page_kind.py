"""Whether a page is about one home, a list of homes, or something else."""

import re
from collections.abc import Sequence
from typing import Any, Literal

from realestate.parsing import schemaorg
from realestate.parsing.unknown_pages import nodes, reference, vocabulary
from realestate.parsing.unknown_pages.document import Document
from realestate.parsing.unknown_pages.labels import Row

Kind = Literal["listing", "results", "other"]

_COUNT_FIRST = re.compile(r"^[\d.,\s]*\d[\d.,\s]* \D")
_PAGE_NUMBER = re.compile(
    r"(?<![^ ])(?:page|seite|strona|страница|сторінка|pagina|sayfa|sida|side|stranka|oldal|σελιδα) \d{1,4}(?![^ ])"
)
_SEARCH_PATH = re.compile(
    r"(?:^|/)(?:search|results?|suche|suchen|buscar|busca|recherche|ricerca|zoeken|szukaj|ara|poisk|s)(?:/|$|\?)", re.IGNORECASE
)
_SEARCH_QUERY = re.compile(r"(?:^|&)(?:page|pagina|seite|sort|order|query|q|price_?(?:min|max|from|to)|min_?price|max_?price)=", re.IGNORECASE)
#: Values of one field that differ so often are of many homes.
_MANY_VALUES = 4
#: Fields of which a page about one home has only one value.
_SINGLE_FIELDS = ("price", "area_m2", "area_any", "rooms", "bedrooms")


def of(document: Document, subject: nodes.Subject, rows: Sequence[Row], *, has_object: bool, has_list: bool) -> Kind:
    """Return the kind of a page. `has_object`: its data has an object with its id; `has_list`: a list of homes."""
    every = [node for found in document.nodes.values() for node in found]
    types = {name for each in every for name in schemaorg.types_of(each)}
    has_own = subject.is_matched or has_object
    is_named_so = bool(types & nodes.RESULTS) or _is_list_of_page(document, every)
    is_titled_so = _is_title_of_results(document)
    has_id = reference.has_id(document.addresses[0])
    points = 3 * is_named_so + 2 * is_titled_so + 2 * (subject.others >= nodes.CROWD) + 2 * has_list
    points += 2 * (_fields_of_many_homes(rows) >= 2) + _is_search_address(document) - 2 * has_own - 2 * has_id
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


def _is_title_of_results(document: Document) -> bool:
    texts = [each for each in (*document.headings[:1], document.title, document.graph.get("og:title")) if each]
    if any(_PAGE_NUMBER.search(vocabulary.words(each)) for each in texts):
        return True
    if any(_COUNT_FIRST.match(each) and vocabulary.is_plural(each, document.language) for each in document.headings[:1]):
        return True
    named = [vocabulary.is_plural(document.without_site(each), document.language) for each in texts]
    return bool(named) and all(named)


def _is_search_address(document: Document) -> bool:
    path, _, query = document.addresses[0].partition("?")
    return bool(_SEARCH_PATH.search(re.sub(r"^\w+://[^/]+", "", path)) or _SEARCH_QUERY.search(query))


def _fields_of_many_homes(rows: Sequence[Row]) -> int:
    values: dict[str, set[str]] = {}
    for row in rows:
        values.setdefault(row.field, set()).add(str(row.value))
    return sum(len(values.get(field, ())) >= _MANY_VALUES for field in _SINGLE_FIELDS)

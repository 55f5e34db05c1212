"""What a page's titles, address, breadcrumbs and description say: operation, type, sizes, counts and price."""

import re
from typing import Any
from urllib.parse import unquote, urlsplit

from realestate.parsing import areas, prices
from realestate.parsing.property_types import PropertyType
from realestate.parsing.text import line
from realestate.parsing.unknown_pages import labels, nodes, values, vocabulary
from realestate.parsing.unknown_pages.document import Document

#: Rooms by the name of a flat.
_NAMED_ROOMS = {"monolocale": 1, "bilocale": 2, "trilocale": 3, "quadrilocale": 4, "kawalerka": 1, "garsoniera": 1}
_BHK = re.compile(r"(?<![^ ])(\d) ?bhk(?![^ ])")
_PORTUGUESE_TYPE = re.compile(r"(?<![^ ])t([0-9])(?![^ ])")
_FRENCH_TYPE = re.compile(r"(?<![^ ])[tf]([1-9])(?![^ ])")
_TURKISH_ROOMS = re.compile(r"(?<![^ ])(\d)\+([01])(?![^ ])")
_LONGEST_DESCRIPTION = 400
_LONGEST_SUBTITLE = 40
#: This many texts below the heading may be the address.
_BELOW = 6
#: Types that a description or an address names only if the home is one. A home may have a room, or a garage.
_SURE_TYPES = ("apartment", "house", "land", "commercial", "office")
#: A shorter title is not taken instead of a longer one that ends with it: "Reserved • House with a garden".
_SHORTEST_TITLE = 20


def title(document: Document, named: list[str]) -> str | None:
    """Return the headline without the site's name: of the data, of the heading, or of the page."""
    found = [short for each in (*named, *document.titles) if (short := document.without_site(each))]
    about_home = [each for each in found if not _is_invitation(each)] or found
    first = next(iter(about_home), None)
    inner = [each for each in about_home[1:] if first and len(each) >= _SHORTEST_TITLE and first.endswith(each)]
    return min(inner, key=len, default=first)


def _is_invitation(text: str) -> bool:
    """ "Check out this property for sale on …!", "Property details" are not about one home."""
    start = vocabulary.words(text)
    return (
        start.startswith(("check out", "property details", "detail", "home page", "expose", "annonce n"))
        or len(start) < 4
    )


def operation_of_address(document: Document) -> vocabulary.Operation | None:
    """The operation that the path names. Its last part is a title, which is read if the others say nothing."""
    for address in document.addresses:
        segments = [unquote(each) for each in urlsplit(address).path.split("/") if each]
        folders = vocabulary.operation(" / ".join(segments[:-1])[-300:], document.language)
        found = folders or vocabulary.operation(" / ".join(segments)[-300:], document.language)
        if found:
            return found
    return None


def operation_of_titles(document: Document) -> vocabulary.Operation | None:
    """The operation that the titles name. If two titles differ, none."""
    found = {each for text in document.raw_titles if (each := vocabulary.operation(text, document.language))}
    return found.pop() if len(found) == 1 else None


def operation_below_heading(document: Document) -> vocabulary.Operation | None:
    """The operation of a short text directly below the heading that names the type too: "Departamento en venta"."""
    found = {
        named
        for text in below_heading(document)
        if len(text) <= _LONGEST_SUBTITLE
        and (named := vocabulary.operation(text, document.language))
        and vocabulary.property_type(text, document.language)
        and not vocabulary.is_plural(text, document.language)
    }
    return found.pop() if len(found) == 1 else None


def operation_of_breadcrumbs(document: Document) -> vocabulary.Operation | None:
    found = [vocabulary.operation(each, document.language) for each in _breadcrumbs(document)]
    named = {each for each in found if each}
    return named.pop() if len(named) == 1 else None


def property_type(document: Document) -> tuple[PropertyType, str] | None:
    """The property type that the titles name; otherwise the description, the address, the breadcrumbs; and which."""
    language = document.language
    titles = [document.without_site(each) for each in document.raw_titles]
    found = [kind for each in titles if (kind := vocabulary.property_type(each, language))]
    if found:
        return max(found, key=found.count), "title"
    last = [unquote(urlsplit(each).path) for each in document.addresses]
    for source, texts in (
        ("description", [_first_sentence(document.description)]),
        ("address", last),
        ("breadcrumbs", _breadcrumbs(document)),
    ):
        kinds = [kind for each in texts if (kind := vocabulary.property_type(each, language))]
        if len(set(kinds)) == 1 and kinds[0] in _SURE_TYPES:
            return kinds[0], source
    return None


def counts_and_sizes(document: Document) -> dict[str, Any]:
    """Counts and the size that the titles and the description name. What they name differently is left out."""
    texts = [*document.titles, _first_sentence(document.description)]
    found: dict[str, set[Any]] = {}
    for text in texts:
        for name, value in _in_text(text, document).items():
            found.setdefault(name, set()).add(value)
    known = {name: values.pop() for name, values in found.items() if len(values) == 1}
    sizes = found.get("area_any", set())
    if len(sizes) > 1 and max(sizes) - min(sizes) <= 1:
        known["area_any"] = (
            next(each for each in sizes if each != int(each))
            if any(each != int(each) for each in sizes)
            else min(sizes)
        )
    return known


def price(document: Document, country: str | None) -> prices.Price | None:
    """The price that the titles or the description name, if they name exactly one."""
    for text in (*document.titles, document.title, _first_sentence(document.description)):
        found = _price_in(text, country)
        if found:
            return found
    return None


def _in_text(text: str | None, document: Document) -> dict[str, Any]:
    if not text or len(text) > vocabulary.LONGEST_TEXT:
        return {}
    short = vocabulary.words(text)
    found: dict[str, Any] = dict(vocabulary.counts(text, document.language))
    sizes = {each.m2 for each in areas.every(text) if not each.is_land}
    if len(sizes) == 1:
        found["area_any"] = sizes.pop()
    if bhk := _BHK.search(short):
        found["bedrooms"] = int(bhk[1])
    if document.language == "tr" and (plus := _TURKISH_ROOMS.search(short)):
        found["rooms"] = int(plus[1]) + int(plus[2])
    if document.language == "fr" and len(set(_FRENCH_TYPE.findall(short))) == 1:
        found.setdefault("rooms", int(_FRENCH_TYPE.findall(short)[0]))
    if document.language == "pt" and (own := _PORTUGUESE_TYPE.search(short)) and int(own[1]):
        found.setdefault("bedrooms", int(own[1]))
    rooms = [count for name, count in _NAMED_ROOMS.items() if f" {name} " in f" {short} "]
    if len(rooms) == 1:
        found.setdefault("rooms", rooms[0])
    return {name: each for name, each in found.items() if each}


def _price_in(text: str | None, country: str | None) -> prices.Price | None:
    """The only price of a text, which may say much else."""
    if not text or len(text) > vocabulary.LONGEST_TEXT:
        return None
    found: list[prices.Price] = []
    for mention in values.price_mentions(text):
        each = values.price(mention, country)
        if each.amount is not None and each.basis == "total":
            found.append(each)
    return found[0] if len({each.amount for each in found}) == 1 else None


def _breadcrumbs(document: Document) -> list[str]:
    every = [node for found in document.nodes.values() for node in found]
    texts = nodes.breadcrumbs(every)
    if not texts:
        selector = '[class*="breadcrumb" i] a, nav[aria-label*="breadcrumb" i] a'
        texts = [text for each in document.page.css(selector)[:12] if (text := line(each.text()))]
    return texts


def breadcrumb_names(document: Document) -> list[str]:
    """The texts of the breadcrumbs, without addresses."""
    return [each for each in _breadcrumbs(document) if "/" not in each]


def below_heading(document: Document) -> list[str]:
    """The texts directly below the heading, where many pages have the address."""
    start = labels.heading(document)
    return [each.text for each in document.blocks[start + 1 : start + _BELOW]] if start or document.headings else []


def _first_sentence(text: str | None) -> str | None:
    """The beginning of a description, up to its limit. Descriptions for search engines say the most there."""
    return text[:_LONGEST_DESCRIPTION] if text else None

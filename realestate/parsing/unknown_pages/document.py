"""A page of an unknown site, parsed once: its head, its texts in their order, its scripts and its schema.org nodes."""

import re
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from realestate.parsing import html, jsonld, microdata
from realestate.parsing.text import line
from realestate.parsing.unknown_pages import vocabulary

#: Elements whose text nobody reads as a part of the page.
_NO_TEXT = frozenset(
    {"script", "style", "noscript", "template", "svg", "iframe", "select", "textarea", "head", "button"}
)
#: Elements that are a part of the text around them: "m<sup>2</sup>".
_INLINE = frozenset({"sup", "sub", "wbr", "-text"})
#: Titles and descriptions are cut here, and longer addresses are ignored: they are compared with every node.
_LONGEST_TEXT = 2_000
_LONGEST_ADDRESS = 2_000
#: A longer part of a title is not the name of the site, even if it begins with it.
_LONGEST_SITE_NAME = 40
#: A text is not made longer than this by its superscripts.
_LONGEST_GLUED = 500
#: A page with more elements is read up to here.
_MOST_ELEMENTS = 60_000
#: "https://…", "//…", "/homes/1". Some sites write the type into `og:url`: "article".
_IS_ADDRESS = re.compile(r"https?://|/", re.IGNORECASE)
#: Ends of host names that are used outside their country too.
_NO_COUNTRY = frozenset({"io", "co", "me", "tv", "ai", "cc", "ly", "fm", "gg", "to", "eu", "im", "ws", "la", "su"})
_COUNTRIES = {"uk": "GB"}


class Block(NamedTuple):
    """A text of the page, and the element that directly contains it."""

    text: str
    element: int


class Element(NamedTuple):
    """An element, and which blocks it contains."""

    tag: str
    parent: int
    start: int
    node: html.Element


class Document:
    """What all readers of a page share. Each part is computed when it is first needed."""

    def __init__(self, text: str, url: str) -> None:
        self.text = text
        self.url = url
        self.page = html.Page(text)
        self.graph = {name: content[:_LONGEST_TEXT] for name, content in html.opengraph(self.page).items()}
        self.titles_in_data: list[str] = []
        """Titles that the page's data has. They are known when the data has been read."""
        self.address_country: str | None = None
        """The country of an address in the page's titles or near its heading."""

    @cached_property
    def addresses(self) -> list[str]:
        """The addresses of this page: the canonical one first."""
        canonical = html.attributes(self.page, 'link[rel="canonical"]', "href")[:1]
        shared = self.graph.get("og:url", "")
        named = [*canonical, shared if _IS_ADDRESS.match(shared) else "", self.url]
        fit = (each for each in named if each and len(each) <= _LONGEST_ADDRESS)
        return list(dict.fromkeys(_joined(self.url, each) for each in fit)) or [self.url]

    @cached_property
    def language(self) -> str:
        """The language ("de"), as the page says; "" if it says none."""
        own = html.attribute(self.page, "html", "lang") or self.graph.get("og:locale") or ""
        return re.split("[-_]", own.lower())[0]

    @cached_property
    def locale_country(self) -> str | None:
        """The country of the page's locale ("ZA" of "en-ZA"). "en_US" is what programs write by default."""
        for locale in (html.attribute(self.page, "html", "lang"), self.graph.get("og:locale")):
            found = re.fullmatch(r"[a-zA-Z]{2,3}[-_]([a-zA-Z]{2})", locale or "")
            if found and (locale or "").replace("_", "-").lower() != "en-us":
                return found[1].upper()
        return None

    @cached_property
    def host_country(self) -> str | None:
        """The country of the host name's end: "DE" for homes.de; None for homes.com."""
        for address in self.addresses:
            end = (urlsplit(address).hostname or "").rpartition(".")[2]
            if re.fullmatch("[a-z]{2}", end) and end not in _NO_COUNTRY:
                return _COUNTRIES.get(end, end.upper())
        return None

    @property
    def home_country(self) -> str | None:
        """The country of the host name, of an address in the texts, or of the page's locale."""
        return self.host_country or self.address_country or self.locale_country

    @cached_property
    def title(self) -> str | None:
        return _cut(html.text(self.page, "title"))

    @cached_property
    def headings(self) -> list[str]:
        """The texts of the first `h1` elements."""
        return [text for each in self.page.css("h1")[:5] if (text := _cut(line(each.text(separator=" "))))]

    @cached_property
    def description(self) -> str | None:
        own = html.attribute(self.page, 'meta[name="description"], meta[name="Description"]', "content")
        return _cut(own or self.graph.get("og:description"))

    @cached_property
    def titles(self) -> list[str]:
        """The page's titles without the site's name, the most exact first."""
        found = (*self.headings[:1], self.graph.get("og:title"), self.title)
        return list(dict.fromkeys(short for each in found if each and (short := self.without_site(each))))

    @property
    def raw_titles(self) -> list[str]:
        """All titles as they are: the heading, those for sharing and for the window, those of the data."""
        found = (*self.headings[:1], self.graph.get("og:title"), self.title, *self.titles_in_data)
        return [each for each in found if each]

    def without_site(self, title: str) -> str | None:
        """Return a title without the name of the site at its end or its beginning. None if nothing is left."""
        parts = re.split(r"( [|•·»–—-] | :: |\s\|\s)", title)
        while len(parts) > 1 and self._is_site(parts[-1]):
            parts = parts[:-2]
        while len(parts) > 1 and self._is_site(parts[0]):
            parts = parts[2:]
        left = line("".join(parts))
        return None if left is None or self._is_site(left) else left

    def _is_site(self, text: str) -> bool:
        """Whether a part of a title is the site's name, or begins with it: "Homes International Realty"."""
        compact = _compact(text)
        if self.is_site_name(text):
            return True
        names = [name for name in self.site_names if len(name) > 3 and not vocabulary.property_type(name)]
        return len(text) <= _LONGEST_SITE_NAME and any(compact.startswith(name) for name in names)

    def is_site_name(self, text: str) -> bool:
        return _compact(text) in self.site_names

    @cached_property
    def site_names(self) -> set[str]:
        """Names of the site: its host with and without the ending, and `og:site_name`."""
        hosts = [(urlsplit(each).hostname or "").removeprefix("www.") for each in self.addresses]
        parts = [part for host in hosts for part in host.split(".")[:-1] if len(part) > 3]
        names = [*hosts, *parts, *(host.rpartition(".")[0] for host in hosts), self.graph.get("og:site_name", "")]
        return {compact for each in names if (compact := _compact(each))}

    @cached_property
    def nodes(self) -> dict[str, list[dict[str, Any]]]:
        """The schema.org nodes, by their source."""
        return {"json-ld": jsonld.nodes(self.text), "microdata": microdata.nodes(self.text)}

    @cached_property
    def scripts(self) -> list[tuple[str, str]]:
        """The type and the content of each script in the page, except JSON-LD."""
        found = ((each.attributes.get("type") or "", each.text() or "") for each in self.page.css("script"))
        return [(kind, content) for kind, content in found if content and "ld+json" not in kind]

    @cached_property
    def _texts(self) -> tuple[list[Block], list[Element], list[int]]:
        return _walked(self.page)

    @property
    def blocks(self) -> list[Block]:
        return self._texts[0]

    @property
    def elements(self) -> list[Element]:
        return self._texts[1]

    def span(self, element: int) -> tuple[int, int]:
        """The first block of an element, and the one after its last."""
        return self._texts[1][element].start, self._texts[2][element]


def _walked(page: html.Page) -> tuple[list[Block], list[Element], list[int]]:
    """Return the texts in their order, the elements, and for each element the block after its last. Linear."""
    blocks: list[Block] = []
    elements: list[Element] = []
    ends: list[int] = []
    root = page.body
    open_elements: list[tuple[int, html.Element | None]] = []
    if root is not None:
        _enter(root, -1, blocks, elements, ends, open_elements)
    while open_elements:
        own, child = open_elements.pop()
        if child is None:
            ends[own] = len(blocks)
            continue
        open_elements.append((own, child.next))
        if child.tag == "-text":
            _add_text(child, own, blocks)
        elif child.tag in ("sup", "sub"):
            _join_to_last(line(child.text()), own, blocks)
        elif (
            not (child.tag or "-").startswith(("-", "!"))
            and child.tag not in _NO_TEXT
            and len(elements) < _MOST_ELEMENTS
        ):
            _enter(child, own, blocks, elements, ends, open_elements)
    return blocks, elements, ends


def _enter(
    node: html.Element,
    parent: int,
    blocks: list[Block],
    elements: list[Element],
    ends: list[int],
    open_elements: list[tuple[int, html.Element | None]],
) -> None:
    elements.append(Element(node.tag or "", parent, len(blocks), node))
    ends.append(len(blocks))
    open_elements.append((len(elements) - 1, node.first_child))


def _add_text(node: html.Element, element: int, blocks: list[Block]) -> None:
    text = " ".join((node.text_content or "").split())
    if not text:
        return
    before = node.prev
    if before is not None and before.tag in ("sup", "sub") and blocks and blocks[-1].element == element:
        _join_to_last(text, element, blocks)
    else:
        blocks.append(Block(text, element))


def _join_to_last(text: str | None, element: int, blocks: list[Block]) -> None:
    """Add a text to the block before it, if both are in the same element."""
    if not text:
        return
    if blocks and blocks[-1].element == element and len(blocks[-1].text) <= _LONGEST_GLUED:
        blocks[-1] = Block(blocks[-1].text + text, element)
    else:
        blocks.append(Block(text, element))


def _cut(text: str | None) -> str | None:
    return text[:_LONGEST_TEXT] if text else None


def _joined(url: str, address: str) -> str:
    try:
        return urljoin(url, address)
    except ValueError:
        return url


def _compact(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())

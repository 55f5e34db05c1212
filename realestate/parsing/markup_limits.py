"""Refuses pages that an HTML parser could not parse in a time that grows with their size.

lexbor, as any parser of HTML5, walks along all open elements at many tags, copies open `<b>` and `<font>` into each
paragraph, and compares each attribute of a tag with all others. Ordinary pages have few of each.
"""

import re

#: No page that people look at is nested more deeply. Browsers stop at 512.
MOST_NESTED = 1_000
#: Attributes of one tag.
MOST_ATTRIBUTES = 1_000
#: The parser copies all open formatting elements at each start tag: the number of copies.
MOST_COPIES = 60_000

#: A smaller page is not scanned, unless it has many unclosed tags: its parsing takes milliseconds whatever it contains.
_SMALL = 4_000
_FEW_UNCLOSED = 300
#: Only the attributes of a longer tag are counted.
_LONG_TAG = 2_000

_ATTRIBUTES = rb"""(?:[^>=]++|=\s*+(?:"[^"]*+"?+|'[^']*+'?+)?+)*+"""
#: A tag with its attributes, or a comment. The text of scripts and styles contains no tags.
_TAG = re.compile(
    rb"<(?:(script|style|textarea|title)(?=[\s/>])" + _ATTRIBUTES + rb">?+(?:[^<]++|<(?!/\1))*+"
    rb"|(/?[a-z][^\s/<>]*+)(" + _ATTRIBUTES + rb")"
    rb"|!--(?:-?>|(?:[^-]++|-(?!-!?>))*+))"
)
_QUOTED = re.compile(rb""""[^"]*+"?+|'[^']*+'?+""")
_NAME = re.compile(rb"[^\s/=]++")
#: Elements without content, and those that end when the next of their kind begins: they are not nested by themselves.
_NOT_NESTED = frozenset(
    b"area base br col embed hr img input link meta param source track wbr html head body a p li dt dd td th tr tbody"
    b" thead tfoot caption colgroup option optgroup rp rt rb rtc".split()
)
_FORMATTING = frozenset(b"b big code em font i s small strike strong tt u".split())
#: Inside these, a tag that ends with "/>" has no content.
_FOREIGN = (b"svg", b"math")


def check(body: bytes) -> None:
    """Raise ValueError if the page is nested too deeply, or has too many open formatting elements or attributes."""
    if len(body) > _SMALL or _unclosed_tags(body) > _FEW_UNCLOSED:
        _Scan().read(body.lower())


def _unclosed_tags(body: bytes) -> int:
    return body.count(b"<") - 2 * body.count(b"</") - body.count(b"/>") - body.count(b"<!")


class _Scan:
    """Counts the open elements of a page, tag by tag."""

    def __init__(self) -> None:
        self._open: dict[bytes, int] = {}
        self._depth = 0
        self._formatting = 0
        self._copies = 0
        self._root_attributes = 0

    def read(self, body: bytes) -> None:
        for _, tag, attributes in _TAG.findall(body):
            if len(attributes) > _LONG_TAG or tag in (b"body", b"html"):
                self._count_attributes(tag, attributes)
            if tag in _NOT_NESTED:
                self._copies += self._formatting
            elif tag[:1] == b"/":
                self._closed(tag[1:])
            elif tag and not (attributes[-1:] == b"/" and any(map(self._open.get, _FOREIGN))):
                self._opened(tag)

    def _opened(self, name: bytes) -> None:
        self._open[name] = self._open.get(name, 0) + 1
        self._depth += 1
        self._formatting += name in _FORMATTING
        self._copies += self._formatting
        if self._depth > MOST_NESTED:
            raise ValueError(f"the page has more than {MOST_NESTED} unclosed tags inside each other")
        if self._copies > MOST_COPIES:
            raise ValueError("the page has too many unclosed tags such as <b> and <font>")

    def _closed(self, name: bytes) -> None:
        if self._open.get(name):
            self._open[name] -= 1
            self._depth -= 1
            self._formatting -= name in _FORMATTING

    def _count_attributes(self, tag: bytes, attributes: bytes) -> None:
        count = len(_NAME.findall(_QUOTED.sub(b"", attributes)))
        if tag in (b"body", b"html"):  # a second one adds its attributes to the first
            self._root_attributes += count
            count = self._root_attributes
        if count > MOST_ATTRIBUTES:
            raise ValueError(f"a tag of the page has more than {MOST_ATTRIBUTES} attributes")

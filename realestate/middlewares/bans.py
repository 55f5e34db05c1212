"""Ban pages: a page that is not the portal's, often with status 200. Also pages that are truncated or far too small.

Ban pages are recognised by the rules of ban_pages.toml, the others by comparing them with the portal's usual pages.
"""

import re
import tomllib
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from importlib.resources import files
from itertools import starmap
from pathlib import Path
from statistics import median
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response, TextResponse

from realestate.accelerate.headers import last

#: A ban page is recognised by its beginning.
_SEARCHED_BYTES = 200_000
#: A ban page may be JSON, but a short one.
_MAX_JSON_BAN_PAGE = 2_000
_TITLE = re.compile(rb"<title[^<>]{0,200}>([^<]{0,500})")
_HEADING = re.compile(rb"<h[123][^<>]{0,500}>(.{0,300}?)</h[123]>", re.DOTALL)
_MOST_HEADINGS = 5
_HIDDEN = re.compile(rb"<(script|style|template|head)\b")
_TAG = re.compile(rb"<[^<>]*>")
#: The length of a part that several texts may have in common.
_PART = 6
#: Letters that a case-insensitive pattern takes for an ASCII letter. Turkic titles in capitals contain them.
_TO_ASCII_LOWER = str.maketrans("İıſ\u212a", "iisk")


class Banned(IgnoreRequest):
    """The site sent a ban page at each try."""

    reason = "ban"
    outcome = "banned"


# ----- rules


class BadBanRules(ValueError):
    """A file of rules that cannot be used; the text says why."""


class BanRule(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """See ban_pages.toml."""

    kind: Annotated[str, Meta(pattern="^[a-z][a-z0-9_]*$")]
    body: tuple[str, ...] = ()
    any: tuple[str, ...] = ()
    title: str | None = None
    status: tuple[int, ...] = ()
    path: str | None = None
    heading: str | None = None
    smaller: int | None = None
    shorter: int | None = None


class BanRules:
    """All rules, compiled. Each page is checked, so texts are searched only if the cheap conditions hold."""

    def __init__(self, rules: Iterable[BanRule]) -> None:
        rules = tuple(rules)
        parts = shared_parts({_lower(text) for rule in rules for text in (*rule.body, *rule.any)})
        self._rules = [_CompiledRule(rule, parts) for rule in rules]

    def kind_of(self, status: int, url: str, body: bytes, *, was_redirected: bool = False) -> str | None:
        """The kind of ban page; None for any other page."""
        if len(body) > _MAX_JSON_BAN_PAGE and body.lstrip()[:1] in (b"{", b"["):
            return None
        page = _Page(body)
        path = urlsplit(url).path if was_redirected else None
        for rule in self._rules:
            if rule.matches(status, len(body), path, page):
                return rule.kind
        return None


class _Page:
    """The beginning of a page in lower case."""

    def __init__(self, body: bytes) -> None:
        self._lower = body[:_SEARCHED_BYTES].lower()
        self._missing: set[bytes] = set()
        self.title = _title(self._lower)
        self.ascii_title = self.title.translate(_TO_ASCII_LOWER)

    @cached_property
    def headings(self) -> list[str]:
        """The title and the first headings, in lower case."""
        found = [_plain(each) for each in _HEADING.findall(self._lower)[:_MOST_HEADINGS]]
        return [self.title.lower(), *(each.decode("utf-8", "replace").strip().lower() for each in found)]

    @cached_property
    def text_length(self) -> int:
        """How many bytes of the page a visitor sees. A ban page says little, however long its scripts are."""
        return len(b" ".join(_plain(_without_scripts(self._lower)).split()))

    def contains(self, text: bytes, part: bytes) -> bool:
        """Whether the page contains the text. A part that many texts have in common is searched once."""
        if part in self._missing:
            return False
        if part in self._lower:
            return text == part or text in self._lower
        self._missing.add(part)
        return False


class _CompiledRule:
    """A rule with compiled patterns, and each of its texts with the part that is searched first."""

    def __init__(self, rule: BanRule, parts: Mapping[bytes, bytes]) -> None:
        self.kind = rule.kind
        self._rule = rule
        self._title = _pattern(rule, rule.title)
        self._path = _pattern(rule, rule.path)
        self._heading = _pattern(rule, rule.heading)
        self._ascii_title = _ascii_pattern(rule.title)
        # The longest first: it is the rarest.
        self._all = [(text, parts[text]) for text in sorted(map(_lower, rule.body), key=len, reverse=True)]
        self._any = [(text, parts[text]) for text in map(_lower, rule.any)]

    def matches(self, status: int, size: int, path: str | None, page: _Page) -> bool:
        rule = self._rule
        return bool(
            (rule.smaller is None or size < rule.smaller)
            and (not rule.status or status in rule.status)
            and (self._path is None or (path is not None and self._path.search(path)))
            and (self._title is None or self._title_matches(page))
            and (not self._all or all(starmap(page.contains, self._all)))
            and (not self._any or any(starmap(page.contains, self._any)))
            and (self._heading is None or any(map(self._heading.search, page.headings)))
            and (rule.shorter is None or page.text_length < rule.shorter)
        )

    def _title_matches(self, page: _Page) -> bool:
        if self._ascii_title is not None:
            return self._ascii_title.search(page.ascii_title) is not None
        return self._title is not None and self._title.search(page.title) is not None


def shared_parts(texts: Set[bytes]) -> dict[bytes, bytes]:
    """For each text a part of it that is searched first, the same part for as many texts as possible.

    The part that most texts have in common is chosen first. A text that shares no part is its own part.
    """
    parts: dict[bytes, bytes] = {}
    while left := texts - parts.keys():
        common = Counter(part for text in left for part in _parts(text))
        part = max(common, key=lambda each: (common[each], each))
        if common[part] < 2:
            return parts | {text: text for text in left}
        parts |= {text: part for text in left if part in text}
    return parts


def _parts(text: bytes) -> set[bytes]:
    return {text[at : at + _PART] for at in range(max(1, len(text) - _PART + 1))}


def read_ban_rules(own: Path | None = None) -> BanRules:
    """The rules of the user's own file, then those of ban_pages.toml."""
    shipped = files("realestate.middlewares").joinpath("ban_pages.toml").read_text("utf-8")
    own_rules = _parse_rules(own.read_text("utf-8"), str(own)) if own is not None else ()
    return BanRules((*own_rules, *_parse_rules(shipped, "ban_pages.toml")))


def _parse_rules(text: str, source: str) -> Sequence[BanRule]:
    try:
        rules = msgspec.convert(tomllib.loads(text).get("rule", []), tuple[BanRule, ...])
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise BadBanRules(f"{source}: {error}") from error
    for rule in rules:
        if not (rule.body or rule.any or rule.title or rule.heading or rule.status or rule.path):
            raise BadBanRules(f"{source}: the rule for {rule.kind!r} would match every page")
    return rules


def _pattern(rule: BanRule, text: str | None) -> re.Pattern[str] | None:
    try:
        return None if text is None else re.compile(text, re.IGNORECASE)
    except re.error as error:
        raise BadBanRules(f"the rule for {rule.kind!r} has an invalid pattern {text!r}: {error}") from error


def _ascii_pattern(text: str | None) -> re.Pattern[str] | None:
    """A case-sensitive pattern for titles in lower case: it finds the same, ten times faster.

    None for a pattern with other letters, and for one with classes such as \\S, which lower case would change.
    """
    return re.compile(text) if text is not None and text.isascii() and text == text.lower() else None


def _lower(text: str) -> bytes:
    return text.lower().encode()


def _without_scripts(page: bytes) -> bytes:
    """The page without what is between the tags of its scripts and styles. An unclosed one lasts until the end."""
    kept = []
    at = 0
    while begin := _HIDDEN.search(page, at):
        kept.append(page[at : begin.start()])
        end = page.find(b"</" + begin[1], begin.end())
        if end < 0:
            return b" ".join(kept)
        at = end
    return b" ".join([*kept, page[at:]])


def _plain(page: bytes) -> bytes:
    """The text between the tags."""
    return _TAG.sub(b" ", page)


def _title(page: bytes) -> str:
    found = _TITLE.search(page)
    return found[1].decode("utf-8", "replace").strip() if found else ""


def is_html_instead_of_json(request: Request, response: Response) -> bool:
    """Whether an HTML page came where JSON was requested."""
    wanted = (last(request.headers, "Accept") or b"").split(b",")[0].strip()
    if wanted != b"application/json" or not isinstance(response, TextResponse):
        return False
    return response.body.lstrip()[:1] == b"<"


# ----- unusual pages


class UsualPages:
    """What the portal's pages are usually like, by group of pages: their size, and whether they have a proper end."""

    #: A page is thin if it is smaller than this share of the usual size ...
    THIN_SHARE = 0.1
    #: ... once this many pages are known.
    PAGES_FOR_SIZE = 50
    #: A page without a proper end is truncated if all of at least this many pages before had one.
    PAGES_FOR_END = 5
    #: This many of the last pages are remembered.
    WINDOW = 200

    def __init__(self) -> None:
        self._sizes: dict[str, deque[int]] = {}
        self._largest: dict[str, int] = {}
        self._had_end: dict[str, deque[bool]] = {}

    def is_thin(self, group: str, size: int) -> bool:
        """Whether a page is much smaller than usual. The median is slow, so the largest size is compared first."""
        sizes = self._sizes.get(group, ())
        return (
            len(sizes) >= self.PAGES_FOR_SIZE
            and size < self.THIN_SHARE * self._largest[group]
            and size < self.THIN_SHARE * median(sizes)
        )

    def is_truncated(self, group: str, body: bytes) -> bool:
        """Whether a page has no proper end and all others have one. Its missing fields would look like empty ones."""
        if _has_end(body):
            return False
        known = self._had_end.get(group, ())
        return len(known) >= self.PAGES_FOR_END and all(known)

    def record(self, group: str, body: bytes) -> None:
        """Add a good page."""
        self._sizes.setdefault(group, deque(maxlen=self.WINDOW)).append(len(body))
        self._largest[group] = max(len(body), self._largest.get(group, 0))
        self._had_end.setdefault(group, deque(maxlen=self.WINDOW)).append(_has_end(body))


def _has_end(body: bytes) -> bool:
    return body.rstrip()[-1:] in (b"}", b"]") or b"</html>" in body[-500:].lower()


# ----- escalation

Level = Literal["continue", "slower", "stop"]


class BanEscalation:
    """What a portal's ban pages lead to: first only another identity, then a lower rate, then a pause."""

    #: This many of the last pages are counted.
    WINDOW = 20
    #: With this many ban pages among them the fleet slows down ...
    SLOWER = 3
    #: ... and with this many the portal is paused.
    STOP = 16

    def __init__(self) -> None:
        self._were_ban_pages: deque[bool] = deque(maxlen=self.WINDOW)

    def record_page(self) -> None:
        """A good page came."""
        self._were_ban_pages.append(False)

    def record_ban_page(self) -> Level:
        """One more ban page came. After "stop" the count starts again."""
        self._were_ban_pages.append(True)
        count = sum(self._were_ban_pages)
        if count >= self.STOP:
            self._were_ban_pages.clear()
            return "stop"
        return "slower" if count >= self.SLOWER else "continue"

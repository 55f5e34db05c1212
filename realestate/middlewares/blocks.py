"""Walls: a page at 200 that is not the page, recognised by rules that are data, or by being unlike the portal's."""

import re
import tomllib
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence, Set
from importlib.resources import files
from itertools import starmap
from pathlib import Path
from statistics import median
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta
from scrapy import Request
from scrapy.http import Response, TextResponse

from realestate.accelerate.headers import last

#: A page so much smaller than the portal's usual ones is none of them, once so many are known.
THIN, KNOWN = 0.1, 50
#: So many pages in a row that end properly, and one that does not was cut off.
ENDED = 5
#: Remembered of the last pages.
WINDOW = 200
#: A wall says what it is at its beginning or not at all.
_LOOKED_AT = 200_000
#: A wall may answer in JSON, but shortly.
_LONGEST_WORD_IN_JSON = 2_000
_TITLE = re.compile(rb"<title[^<>]{0,200}>([^<]{0,500})")
#: The length of a part of a text that other texts may have too.
_PART = 6
#: All that a pattern takes for an ASCII letter in lower case when it looks at no case, as Turkic titles in capitals do.
_AS_SMALL = str.maketrans("İıſ\u212a", "iisk")


class BadRules(ValueError):
    """A file of rules that cannot be used; its text says why."""


class Rule(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """See blocks.toml."""

    kind: Annotated[str, Meta(pattern="^[a-z][a-z0-9_]*$")]
    body: tuple[str, ...] = ()
    any: tuple[str, ...] = ()
    title: str | None = None
    status: tuple[int, ...] = ()
    path: str | None = None
    smaller: int | None = None


class Rules:
    """All rules, ready to be used. Every page goes through here: a text is looked for only if all else fits."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        rules = tuple(rules)
        parts = shared_parts({_lower(text) for rule in rules for text in (*rule.body, *rule.any)})
        self._rules = [_Ready(rule, parts) for rule in rules]

    def kind_of(self, status: int, url: str, body: bytes, *, was_redirected: bool = False) -> str | None:
        """The kind of wall it is; None for any other page."""
        if len(body) > _LONGEST_WORD_IN_JSON and body.lstrip()[:1] in (b"{", b"["):
            return None
        page, path = _Page(body), urlsplit(url).path if was_redirected else None
        for rule in self._rules:
            if rule.fits(status, len(body), path, page):
                return rule.kind
        return None


class _Page:
    """The beginning of a page in lower case."""

    def __init__(self, body: bytes) -> None:
        self._lower = body[:_LOOKED_AT].lower()
        self._missing: set[bytes] = set()
        self.title = _title(self._lower)
        self.small_title = self.title.translate(_AS_SMALL)

    def holds(self, text: bytes, part: bytes) -> bool:
        """What many texts have in common is looked for once."""
        if part in self._missing:
            return False
        if part in self._lower:
            return text == part or text in self._lower
        self._missing.add(part)
        return False


class _Ready:
    """A rule with its patterns compiled, and its texts with a part of each."""

    def __init__(self, rule: Rule, parts: Mapping[bytes, bytes]) -> None:
        self.kind = rule.kind
        self._rule = rule
        self._title, self._path = _pattern(rule, rule.title), _pattern(rule, rule.path)
        self._small_title = _small_pattern(rule.title)
        # The longest first: it is found, or not, the soonest.
        self._all = [(text, parts[text]) for text in sorted(map(_lower, rule.body), key=len, reverse=True)]
        self._any = [(text, parts[text]) for text in map(_lower, rule.any)]

    def fits(self, status: int, size: int, path: str | None, page: _Page) -> bool:
        rule = self._rule
        return bool(
            (rule.smaller is None or size < rule.smaller)
            and (not rule.status or status in rule.status)
            and (self._path is None or (path is not None and self._path.search(path)))
            and (self._title is None or self._is_called(page))
            and (not self._all or all(starmap(page.holds, self._all)))
            and (not self._any or any(starmap(page.holds, self._any)))
        )

    def _is_called(self, page: _Page) -> bool:
        if self._small_title is not None:
            return self._small_title.search(page.small_title) is not None
        return self._title is not None and self._title.search(page.title) is not None


def shared_parts(texts: Set[bytes]) -> dict[bytes, bytes]:
    """A part of each text: what most have in common is taken first, and what has nothing in common is its own part."""
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


def read_rules(extra: Path | None = None) -> Rules:
    """Ours, after those of a file of the user's own."""
    ours = files("realestate.middlewares").joinpath("blocks.toml").read_text("utf-8")
    theirs = _parsed(extra.read_text("utf-8"), str(extra)) if extra is not None else ()
    return Rules((*theirs, *_parsed(ours, "blocks.toml")))


def is_html_for_json(request: Request, response: Response) -> bool:
    """A page where data was asked for."""
    wanted = (last(request.headers, "Accept") or b"").split(b",")[0].strip()
    if wanted != b"application/json" or not isinstance(response, TextResponse):
        return False
    return response.body.lstrip()[:1] == b"<"


class Usual:
    """What a portal's pages are usually like, by stage: how large, and whether they end as a page ends."""

    def __init__(self) -> None:
        self._sizes: dict[str, deque[int]] = {}
        self._largest: dict[str, int] = {}
        self._ended: dict[str, deque[bool]] = {}

    def is_thin(self, stage: str, size: int) -> bool:
        """The median, which takes its time, is asked only of a page that is small beside the largest ever seen."""
        seen = self._sizes.get(stage, ())
        return len(seen) >= KNOWN and size < THIN * self._largest[stage] and size < THIN * median(seen)

    def is_cut_short(self, stage: str, body: bytes) -> bool:
        """Where the others end, this one does not: what is missing would be taken for not told."""
        if _ends(body):
            return False
        seen = self._ended.get(stage, ())
        return len(seen) >= ENDED and all(seen)

    def saw(self, stage: str, body: bytes) -> None:
        self._sizes.setdefault(stage, deque(maxlen=WINDOW)).append(len(body))
        self._largest[stage] = max(len(body), self._largest.get(stage, 0))
        self._ended.setdefault(stage, deque(maxlen=WINDOW)).append(_ends(body))


def _ends(body: bytes) -> bool:
    return body.rstrip()[-1:] in (b"}", b"]") or b"</html>" in body[-500:].lower()


def _parsed(text: str, where: str) -> Sequence[Rule]:
    try:
        told = tomllib.loads(text)
        rules = msgspec.convert(told.get("rule", []), tuple[Rule, ...])
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise BadRules(f"{where}: {error}") from error
    for rule in rules:
        if not (rule.body or rule.any or rule.title or rule.status or rule.path):
            raise BadRules(f"{where}: a rule for {rule.kind!r} would fit every page")
    return rules


def _lower(text: str) -> bytes:
    return text.lower().encode()


def _small_pattern(text: str | None) -> re.Pattern[str] | None:
    """For titles in small letters: ten times faster than one that looks at no case, and it finds the same. None for
    what has other letters, and for classes such as \\S, which would become others."""
    return re.compile(text) if text is not None and text.isascii() and text == text.lower() else None


def _title(page: bytes) -> str:
    found = _TITLE.search(page)
    return found[1].decode("utf-8", "replace").strip() if found else ""


def _pattern(rule: Rule, text: str | None) -> re.Pattern[str] | None:
    try:
        return None if text is None else re.compile(text, re.IGNORECASE)
    except re.error as error:
        raise BadRules(f"the rule for {rule.kind!r} has no pattern: {text!r}: {error}") from error

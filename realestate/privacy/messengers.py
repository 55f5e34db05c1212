"""Messenger accounts in free text: links to a chat or a profile, and names with or without "@"."""

import re
from collections.abc import Iterator, Set
from typing import NamedTuple

_NAMES = "telegram tg insta instagram skype viber snapchat facebook fb tiktok wechat"
_HOSTS = (
    "wa.me t.me telegram.me telegram.dog m.me signal.me line.me vk.me fb.me whatsapp.com viber.com viber.click"
    " instagram.com facebook.com fb.com messenger.com vk.com ok.ru skype.com snapchat.com tiktok.com"
)
_SCHEMES = "viber skype whatsapp tg sgnl facetime"


def _any(words: str) -> str:
    return f"(?:{'|'.join(map(re.escape, words.split()))})"


_INSIDE = r"[^\s<>\"'()\[\]]"
_LINK = re.compile(
    rf"(?<![\w-])(?:{_any(_HOSTS)}/|{_any(_SCHEMES)}:[/?]{{1,2}}){_INSIDE}{{0,300}}(?![.,;:!?]){_INSIDE}", re.IGNORECASE
)
_LINK_BEGINNING = re.compile(r"(?:https?://)?(?:[\w-]{1,30}\.){0,3}$", re.IGNORECASE)
_LINKED_NUMBER = re.compile(r"(?<!\d)\+?(\d{8,15})(?!\d)")
_LINKED_NAME = re.compile(r"/@?([A-Za-z][\w.]{2,31})/?$")
#: A name without "@" must contain a digit or an underscore, which no word has.
_HANDLE = re.compile(
    r"(?<![\w@.])@(?P<handle>[A-Za-z][\w.]{1,30}\w)"
    rf"|\b{_any(_NAMES)}\b[ ]?[:=–-]?[ ]?(?P<named>(?=[A-Za-z.]*[\d_])[A-Za-z][\w.]{{3,30}}\w)",
    re.IGNORECASE,
)
#: Byte sequences and words that may be part of an account or a link, for the pre-check: in lower case.
MARKS = (b"@", b".me/", b"ok.ru/")
WORDS = frozenset(f"{_NAMES} {_SCHEMES} messenger vk".encode().split())


class Messenger(NamedTuple):
    """Position in the text; "+" and the number, or "@" and the name; "" for a link that contains neither."""

    start: int
    end: int
    name: str


def may_contain(lower: bytes, words: Set[bytes]) -> bool:
    """Return whether a text may contain an account, by its lower case bytes and its words."""
    return has_mark(lower) or has_word(words)


def has_mark(lower: bytes) -> bool:
    return any(map(lower.__contains__, MARKS))


def has_word(words: Set[bytes]) -> bool:
    return not WORDS.isdisjoint(words)


def find(text: str) -> Iterator[Messenger]:
    """Yield the links and the names of a text."""
    for link in _LINK.finditer(text):
        beginning = _LINK_BEGINNING.search(text[max(0, link.start() - 100) : link.start()])
        yield Messenger(link.start() - len(beginning[0] if beginning else ""), link.end(), _link_target(link[0]))
    for found in _HANDLE.finditer(text):
        start, end = found.span("named") if found["named"] else found.span()
        yield Messenger(start, end, f"@{found['named'] or found['handle']}".lower())


def _link_target(link: str) -> str:
    if number := _LINKED_NUMBER.search(link):
        return f"+{number[1]}"
    name = _LINKED_NAME.search(link)
    return f"@{name[1].lower()}" if name else ""

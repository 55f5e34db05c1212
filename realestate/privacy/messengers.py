"""Messengers in free text: links to a chat or a profile, and names with or without their "@"."""

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
_LINK_BEGINS = re.compile(r"(?:https?://)?(?:[\w-]{1,30}\.){0,3}$", re.IGNORECASE)
_LINKED_NUMBER = re.compile(r"(?<!\d)\+?(\d{8,15})(?!\d)")
_LINKED_NAME = re.compile(r"/@?([A-Za-z][\w.]{2,31})/?$")
#: Without an "@" a name is known by what no word has: a digit or an underscore.
_HANDLE = re.compile(
    r"(?<![\w@.])@(?P<handle>[A-Za-z][\w.]{1,30}\w)"
    rf"|\b{_any(_NAMES)}\b[ ]?[:=–-]?[ ]?(?P<named>(?=[A-Za-z.]*[\d_])[A-Za-z][\w.]{{3,30}}\w)",
    re.IGNORECASE,
)
#: Marks and words that may be part of one: the cheap question, for lower case bytes.
MARKS = (b"@", b".me/", b"ok.ru/")
SIGNS = frozenset(f"{_NAMES} {_SCHEMES} messenger vk".encode().split())


class Messenger(NamedTuple):
    """Where it stands; "+" and the number or "@" and the name it leads to, "" if it does not say."""

    start: int
    end: int
    name: str


def may_hold(lower: bytes, words: Set[bytes]) -> bool:
    """Whether a text can hold one, by its bytes in lower case and its words."""
    return has_mark(lower) or has_sign(words)


def has_mark(lower: bytes) -> bool:
    return any(map(lower.__contains__, MARKS))


def has_sign(words: Set[bytes]) -> bool:
    return not SIGNS.isdisjoint(words)


def find(text: str) -> Iterator[Messenger]:
    for link in _LINK.finditer(text):
        begins = _LINK_BEGINS.search(text[max(0, link.start() - 100) : link.start()])
        yield Messenger(link.start() - len(begins[0] if begins else ""), link.end(), _linked(link[0]))
    for found in _HANDLE.finditer(text):
        start, end = found.span("named") if found["named"] else found.span()
        yield Messenger(start, end, f"@{found['named'] or found['handle']}".lower())


def _linked(link: str) -> str:
    if number := _LINKED_NUMBER.search(link):
        return f"+{number[1]}"
    name = _LINKED_NAME.search(link)
    return f"@{name[1].lower()}" if name else ""

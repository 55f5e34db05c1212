"""E-mail addresses in free text, also in disguise: "name [at] example (dot) be"."""

import re
from collections.abc import Iterator, Set
from typing import NamedTuple

#: Providers that give addresses to anybody: their name alone shows an address.
_PROVIDERS = (
    "gmail googlemail hotmail outlook live msn yahoo ymail icloud mail bk inbox list yandex rambler box day"
    " skynet telenet proximus scarlet voo pandora proton protonmail gmx aol web onet interia"
)
_DOMAIN_ENDINGS = (
    "com net org info eu az be ru nl fr de lu uk co.uk pl at ie za co.za tr ge io me biz brussels vlaanderen"
)
_AT_WORDS = "at arobase arobas apenstaartje ət"
_DOT_WORDS = "dot point punt nöqtə noqte"

_OPEN = r"[\[({<|*_~-]"
_CLOSE = r"[\])}>|*_~-]"


def _any(words: str) -> str:
    return f"(?:{'|'.join(words.replace('.', '[.]').split())})"


_AT_WORD = _any(_AT_WORDS)
_DOT_WORD = _any(_DOT_WORDS)
_PROVIDER = _any(_PROVIDERS)
_DOMAIN_ENDING = _any(_DOMAIN_ENDINGS)
_AT = re.compile(
    rf"[@＠﹫]|{_OPEN}{{1,2}}[ ]?(?:{_AT_WORD}|a|@)[ ]?{_CLOSE}{{1,2}}|(?<=[ ])(?P<bare>{_AT_WORD})(?=[ ])",
    re.IGNORECASE,
)
_LOCAL = re.compile(r"[\w+%-][\w.+%'-]{0,63}[ ]?$")
_LABEL = r"[\w-]{1,63}"
_TIGHT_DOT = rf"(?:[ ]?{_OPEN}[ ]?(?:{_DOT_WORD}|[.])[ ]?{_CLOSE}[ ]?|[ ]{_DOT_WORD}[ ]|[.,])"
_LOOSE_DOT = r"(?:[ ][.][ ]?|[.][ ])"
_DOMAIN = re.compile(
    rf"[ ]?(?P<name>(?P<spelled>{_LABEL}(?:(?:{_TIGHT_DOT}{_LABEL}){{0,2}}?{_TIGHT_DOT}|{_LOOSE_DOT})"
    rf"{_DOMAIN_ENDING}\b(?![.]\w))"
    rf"|(?:{_LABEL}[.]){{1,5}}[^\W\d_]{{2,24}}|(?:{_PROVIDER}\b(?:[ ]{_DOMAIN_ENDING}\b)?))",
    re.IGNORECASE,
)
_SPELLED_DOT = re.compile(rf"{_LOOSE_DOT}|{_TIGHT_DOT}|[ ]", re.IGNORECASE)
_AT_PROVIDER = re.compile(rf"{_PROVIDER}\b", re.IGNORECASE)

AT_WORDS = frozenset(_AT_WORDS.encode().split())
#: Byte sequences that begin an at sign: "@", also full-width, "(at)", "[a]".
MARKS = (b"@", b"\xef", b"(a", b"[a", b"{a", b"<a")
#: Words that may be part of a domain in disguise, for the pre-check: as lower case bytes.
DOMAIN_WORDS = frozenset(f"{_DOT_WORDS} {_PROVIDERS}".encode().split())
WORDS = AT_WORDS | DOMAIN_WORDS


class Email(NamedTuple):
    """Position in the text, and the address in lower case."""

    start: int
    end: int
    address: str


def may_contain(lower: bytes, words: Set[bytes]) -> bool:
    """Return whether a text may contain an address, by its lower case bytes and its words."""
    return has_mark(lower) or has_words(words)


def has_mark(lower: bytes) -> bool:
    return any(map(lower.__contains__, MARKS))


def has_words(words: Set[bytes]) -> bool:
    return not AT_WORDS.isdisjoint(words) and not DOMAIN_WORDS.isdisjoint(words)


def find(text: str) -> Iterator[Email]:
    """Yield the addresses of a text."""
    after = 0
    for at in _AT.finditer(text):
        near = max(after, at.start() - 65)
        local = _LOCAL.search(text[near : at.start()])
        domain = _DOMAIN.match(text, at.end())
        if local and domain and (not at["bare"] or _is_address(local[0], domain)):
            after = domain.end()
            name = _SPELLED_DOT.sub(".", domain["name"])
            yield Email(near + local.start(), after, f"{local[0].strip()}@{name}".lower())


def _is_address(local: str, domain: re.Match[str]) -> bool:
    """After the word "at": "look at example.be" is no address; "name at gmail.com" and "name at x dot be" are."""
    if domain["spelled"] and "." not in domain["spelled"]:
        return True
    return bool(_AT_PROVIDER.match(domain["name"]) or re.search(r"[\d._]", local))

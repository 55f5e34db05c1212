"""E-mail addresses in free text, also those disguised from machines: "name [at] example (dot) be"."""

import re
from collections.abc import Iterator, Set
from typing import NamedTuple

#: Houses that give addresses to anybody: their name alone shows an address.
_HOUSES = (
    "gmail googlemail hotmail outlook live msn yahoo ymail icloud mail bk inbox list yandex rambler box day"
    " skynet telenet proximus scarlet voo pandora proton protonmail gmx aol web onet interia"
)
_ENDINGS = "com net org info eu az be ru nl fr de lu uk co.uk pl at ie za co.za tr ge io me biz brussels vlaanderen"
_AT_WORDS = "at arobase arobas apenstaartje ət"
_DOT_WORDS = "dot point punt nöqtə noqte"

_OPEN, _SHUT = r"[\[({<|*_~-]", r"[\])}>|*_~-]"
_AT_WORD, _DOT_WORD, _HOUSE, _ENDING = (
    f"(?:{'|'.join(words.replace('.', '[.]').split())})" for words in (_AT_WORDS, _DOT_WORDS, _HOUSES, _ENDINGS)
)
_AT = re.compile(
    rf"[@＠﹫]|{_OPEN}{{1,2}}[ ]?(?:{_AT_WORD}|a|@)[ ]?{_SHUT}{{1,2}}|(?<=[ ])(?P<bare>{_AT_WORD})(?=[ ])",
    re.IGNORECASE,
)
_LOCAL = re.compile(r"[\w+%-][\w.+%'-]{0,63}[ ]?$")
_LABEL = r"[\w-]{1,63}"
_TIGHT_DOT = rf"(?:[ ]?{_OPEN}[ ]?(?:{_DOT_WORD}|[.])[ ]?{_SHUT}[ ]?|[ ]{_DOT_WORD}[ ]|[.,])"
_LOOSE_DOT = r"(?:[ ][.][ ]?|[.][ ])"
_DOMAIN = re.compile(
    rf"[ ]?(?P<name>(?P<told>{_LABEL}(?:(?:{_TIGHT_DOT}{_LABEL}){{0,2}}?{_TIGHT_DOT}|{_LOOSE_DOT}){_ENDING}\b(?![.]\w))"
    rf"|(?:{_LABEL}[.]){{1,5}}[^\W\d_]{{2,24}}|(?P<house>{_HOUSE}\b(?:[ ]{_ENDING}\b)?))",
    re.IGNORECASE,
)
_SPELLED_DOT = re.compile(rf"{_LOOSE_DOT}|{_TIGHT_DOT}|[ ]", re.IGNORECASE)
_AT_HOUSE = re.compile(rf"{_HOUSE}\b", re.IGNORECASE)

AT_SIGNS = frozenset(_AT_WORDS.encode().split())
#: "@", also full-width, and the beginnings of "(at)", "[a]".
MARKS = (b"@", b"\xef", b"(a", b"[a", b"{a", b"<a")
#: Words that may be part of an address in disguise: the cheap question, for lower case bytes.
OTHER_SIGNS = frozenset(f"{_DOT_WORDS} {_HOUSES}".encode().split())
SIGNS = AT_SIGNS | OTHER_SIGNS


class Mail(NamedTuple):
    """Where it stands; the address in lower case."""

    start: int
    end: int
    address: str


def may_hold(lower: bytes, words: Set[bytes]) -> bool:
    """Whether a text can hold an address, by its bytes in lower case and its words."""
    return has_mark(lower) or has_sign(words)


def has_mark(lower: bytes) -> bool:
    return any(map(lower.__contains__, MARKS))


def has_sign(words: Set[bytes]) -> bool:
    return not AT_SIGNS.isdisjoint(words) and not OTHER_SIGNS.isdisjoint(words)


def find(text: str) -> Iterator[Mail]:
    after = 0
    for at in _AT.finditer(text):
        near = max(after, at.start() - 65)
        local, domain = _LOCAL.search(text[near : at.start()]), _DOMAIN.match(text, at.end())
        if local and domain and (not at["bare"] or _is_meant(local[0], domain)):
            after = domain.end()
            name = _SPELLED_DOT.sub(".", domain["name"])
            yield Mail(near + local.start(), after, f"{local[0].strip()}@{name}".lower())


def _is_meant(local: str, domain: re.Match[str]) -> bool:
    """ "look at example.be" is no address; "name at gmail.com" is, and so is whatever spells its dot."""
    if domain["told"] and "." not in domain["told"]:
        return True
    return bool(_AT_HOUSE.match(domain["name"]) or re.search(r"[\d._]", local))

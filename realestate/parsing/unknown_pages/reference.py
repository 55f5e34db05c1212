"""The ref of a listing on an unknown site, from its address alone: links and pages must give the same.

It is the site's own id, where the address has one that cannot be anything else. Otherwise it is a hash of the address,
with the number before it if there is one: a short number may be a postal code, which many homes share.
"""

import re
from hashlib import blake2b
from urllib.parse import parse_qsl, unquote, urlsplit

_END = re.compile(r"\.(?:html?|php|aspx?|jsp|cfm|xhtml)$", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_GROUP = re.compile(r"[^\W_]+")
#: A number with so many digits is an id: no postal code, year, size or price has them. A price may: see `_MONEY`.
_SURE_DIGITS = 7
_ID_DIGITS = 6
#: Parameters that are not a part of the listing's identity.
_NO_IDENTITY = re.compile(
    r"utm_|fbclid|gclid|from$|source$|src$|ref$|referrer|search|page|lang|session|sid$|position|pos$|campaign"
)
_ID_PARAMETER = re.compile(
    r"(?:^|_|-)(?:id|ref|nr|no|code|kod|expose|listing|object|objekt|property|anuncio|oferta)(?:$|_|-)|id$",
    re.IGNORECASE,
)
#: Countries whose postal codes have six digits.
_SIX_DIGIT_CODES = ("in", "ro", "ru", "cn", "sg", "kz", "kg", "vn", "by", "mn", "tm", "uz", "tj", "co", "ec")


def of(url: str) -> str:
    """Return "host:id" for the address of a listing."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    own = _in_path(parts.path, host) or _in_query(parts.query)
    if own:
        return f"{host}:{own}"
    number = short_number(url)
    hashed = blake2b(_identity(parts.path, parts.query).encode(), digest_size=8).hexdigest()
    return f"{host}:{number}-{hashed}" if number else f"{host}:{hashed}"


def has_id(url: str) -> bool:
    """Return whether an address contains the site's own id for sure."""
    parts = urlsplit(url)
    return bool(_in_path(parts.path, (parts.hostname or "").removeprefix("www.")) or _in_query(parts.query))


def _in_path(path: str, host: str) -> str | None:
    """The id in the last part of a path that has one. Before the last part only a sure id counts."""
    found = _UUID.findall(path)
    if found:
        return str(found[-1]).lower()
    segments = [each for each in path.split("/") if each]
    for back, segment in enumerate(reversed(segments)):
        own = _in_segment(_END.sub("", unquote(segment)), host, is_last=back == 0)
        if own:
            return own
    return None


def _in_segment(segment: str, host: str, *, is_last: bool) -> str | None:
    """The id at the end of a segment: from its longest group with digits to the end."""
    run = _last_groups(segment)
    if not run:
        return None
    strengths = [_strength(each, host) for each in run]
    best = max(strengths)
    if best >= _SURE_DIGITS or (best >= _ID_DIGITS and is_last):
        return segment[_start(segment, run, strengths.index(best)) :].rstrip("-_. ")
    total = sum(map(_digits, run))
    is_code = len(run) > 1 and total >= _SURE_DIGITS and all(len(each) <= 6 for each in run)
    return segment[_start(segment, run, 0) :] if is_last and is_code and any(_is_mixed(each) for each in run) else None


def _last_groups(segment: str) -> list[str]:
    """The groups of letters and digits at the end of a segment that contain a digit. A word behind them is skipped."""
    groups = _GROUP.findall(segment)
    if groups and not _digits(groups[-1]) and len(groups) > 1 and _strength(groups[-2], "") >= _SURE_DIGITS:
        groups = groups[:-1]
    run: list[str] = []
    for group in reversed(groups):
        if not _digits(group):
            break
        run.insert(0, group)
    return run


def _start(segment: str, run: list[str], index: int) -> int:
    """Where the group of a run begins in its segment."""
    end = len(segment)
    for group in reversed(run[index:]):
        end = segment.rindex(group, 0, end)
    return end


def _strength(group: str, host: str) -> int:
    """How sure it is that a group is an id: the number of its digits; more for letters and digits in one group."""
    digits = _digits(group)
    if _is_measure(group):
        return 0
    if not group.isdecimal():
        return _SURE_DIGITS if (digits >= 4 and len(group) >= 6) or _is_random(group) else digits
    if digits == _ID_DIGITS and host.rpartition(".")[2] in _SIX_DIGIT_CODES:
        return _ID_DIGITS - 1
    return digits


def _is_measure(group: str) -> bool:
    return (
        re.fullmatch(
            r"\d{1,6}(?:m|m2|mq|qm|sqm|sqft|ft|k|eur|euro|usd|bhk|bkh|bed|br|rooms?|st|nd|rd|th|a|b|zi)",
            group,
            re.IGNORECASE,
        )
        is not None
    )


def _is_random(group: str) -> bool:
    """Letters of both cases and digits, as programs make ids: "3RgBV7x", "ID3RgBV"."""
    return (
        len(group) >= 7
        and any(map(str.isdecimal, group))
        and any(map(str.isupper, group))
        and any(map(str.islower, group))
    )


def _is_mixed(group: str) -> bool:
    return not group.isdecimal()


def _digits(group: str) -> int:
    return sum(map(str.isdecimal, group))


def short_number(url: str) -> str | None:
    """Return the number at the end of a path: an id, or a postal code."""
    found = re.search(r"(?<!\d)(\d{3,6})(?:/?$|\.\w+$)", urlsplit(url).path)
    return found[1] if found else None


def _in_query(query: str) -> str | None:
    named = [value for name, value in parse_qsl(query) if _ID_PARAMETER.search(name) and re.search(r"\d{3}", value)]
    return named[0] if len(named) == 1 and len(named[0]) <= 60 else None


def _identity(path: str, query: str) -> str:
    """The address without what differs between links to the same page."""
    kept = sorted((name, value) for name, value in parse_qsl(query) if not _NO_IDENTITY.search(name.lower()))
    return f"{unquote(path).rstrip('/')}?{kept}"

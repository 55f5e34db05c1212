"""How much of a robots.txt is read.

Protego keeps each rule once for each user agent of its group. A file of 100 kB with 3,000 user agents and 3,000 rules
takes it seven seconds, so the rules are counted before it sees them.
"""

import re
from typing import NamedTuple

#: The rest of a longer file is ignored. RFC 9309 asks for at least 500 KiB.
MAX_BYTES = 512 * 1024
#: Lines that name a user agent. Long lists of robots have a few hundred.
MAX_AGENTS = 2_000
#: Rules, each counted once for each user agent it is for. The largest real files have some ten thousand.
MAX_RULES = 50_000
#: The longest line. No path is longer.
MAX_LINE = 8_000

_AGENT = re.compile(r"user[- ]?agent", re.IGNORECASE)
#: After one of these, a user agent begins a new group.
_RULE = re.compile(r"(?:(?:dis)?allow|crawl-delay)\s*:", re.IGNORECASE)


class RobotsText(NamedTuple):
    text: str
    is_cut: bool
    """Whether a limit was reached, and the rest of the file is ignored."""


def limited(body: bytes) -> RobotsText:
    """Return the text of a robots.txt up to the limits, in whole lines."""
    whole = whole_lines(body)
    lines = whole.decode("utf-8-sig", "ignore").splitlines()
    count = _readable(lines)
    readable = [line for line in lines[:count] if len(line) <= MAX_LINE]
    is_cut = len(whole) < len(body) or len(readable) < len(lines)
    return RobotsText("\n".join(readable), is_cut)


def whole_lines(body: bytes) -> bytes:
    """Return at most MAX_BYTES of the body. A part of a line could forbid more than the site means, or less."""
    if len(body) <= MAX_BYTES:
        return body
    text = body[:MAX_BYTES]
    return text[: max(text.rfind(b"\n"), text.rfind(b"\r")) + 1]


def _readable(lines: list[str]) -> int:
    """Return how many lines can be read before there are too many user agents or rules."""
    agents = 0
    agents_of_group = 0
    rules = 0
    group_has_rules = False
    for number, line in enumerate(lines):
        line = line.strip()
        if _AGENT.match(line):
            agents += 1
            agents_of_group = 1 if group_has_rules else agents_of_group + 1
            group_has_rules = False
        elif line and not line.startswith("#"):
            rules += max(agents_of_group, 1)
            group_has_rules = group_has_rules or _RULE.match(line) is not None
        if agents > MAX_AGENTS or rules > MAX_RULES:
            return number
    return len(lines)
